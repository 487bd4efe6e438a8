internal import ErrandFormats

// The descriptions of JSON errors for people are declared here, because ErrandFormats does not import Foundation.

extension JSONParsingError: LocalizedError, SafelyDescribedError {
    /// A sentence for people.
    public var errorDescription: String? { "The text is not valid JSON." }
    /// The problem and its position.
    public var failureReason: String? { description.asSentence }
}

extension JSONPointerError: LocalizedError {
    /// A sentence for people.
    public var errorDescription: String? { "The JSON value could not be changed." }
    /// The place and the reason.
    public var failureReason: String? { description.asSentence }
}
