/// The reason why the app must not request a URL from a response.
public enum URLReferenceError: NumberedFailure, SafelyDescribedError, Hashable {
    /// The text is not the URL of an HTTP resource.
    case invalid(InvalidURLError.Code)
    /// The origin of the URL is not allowed.
    case foreign(Origin)

    /// The reason in words, without the URL.
    public var description: String {
        switch self {
        case .invalid(let code): "the URL that the response names is not valid: \(code)"
        case .foreign(let origin): "the response names a URL at \(origin), which is not allowed"
        }
    }

    public var failureNumber: FailureNumber {
        switch self {
        case .invalid: .urlReferenceInvalid
        case .foreign: .urlReferenceForeign
        }
    }

    /// The reason, as a sentence.
    public var failureReason: String? { description.asSentence }
}
