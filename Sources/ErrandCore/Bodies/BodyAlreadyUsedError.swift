/// A one-shot body was read a second time: it had been read, abandoned, or moved into another body. Keep the bytes that you read, or use
/// ``ResponseBody/bufferedData``.
public struct BodyAlreadyUsedError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    /// Creates the error. For body sources of your own.
    public init() {}
    public var description: String { "the body can be read once only, and was read or abandoned before" }
    /// A sentence for people.
    public var errorDescription: String? { "The content cannot be read a second time." }
    public var failureReason: String? { description.asSentence }
    public var recoverySuggestion: String? { "Keep the content when it is read first, or send the request again." }
}
