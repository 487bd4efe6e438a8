public import ErrandCore

/// The value of a call can't become the body of its request. Nothing was sent.
///
/// The description has the request, the type as it is written, the place in the value and what is wrong there, and nothing of the value:
///
/// ```
/// POST /orders: cannot encode Order at lines[0].price: a number that is not finite (not sent)
/// ```
///
/// The request has no base URL yet, as no middleware has seen it. For the same reason, the log of the stack has no record of this failure.
public struct RequestEncodingError: RequestFailure {
    /// The request, without its body.
    public var request: Request?
    /// The type of the value as it is written, such as `[Order]`.
    public let typeName: String
    /// The place in the value where it went wrong, such as `lines[0].price`, at most 200 characters; empty for the value itself. The names are
    /// those of the properties. Keys of a dictionary are data, and show as `[…]`.
    public let codingPath: String
    /// The error of the encoder. It may hold values.
    public let underlying: any Error
    public var attempts: [AttemptRecord] = []
    /// What is wrong, in words.
    private let problem: String

    public var phase: ExchangePhase { .request }
    public var delivery: Delivery { .notSent }

    /// A form with parts cannot be read by another boundary than its own.
    static let foreignBoundary = EncodingError.invalidValue(
        "…",
        .init(
            codingPath: [],
            debugDescription:
                "the Content-Type of the request does not have the boundary of the form; leave the field out, as the form brings it"))

    init(_ typeName: String, underlying: EncodingError, request: Request) {
        (self.typeName, self.underlying, self.request) = (typeName, underlying, request)
        guard case .invalidValue(let value, let context) = underlying else {
            (codingPath, problem) = ("", "invalid value")
            return
        }
        codingPath = shownPath(context.codingPath, named: context.codingPath.map(\.stringValue))
        problem = Self.problem(context.debugDescription, isOwn: (value as? String)?.isExactly("…") == true)
    }

    /// Of an encoder's text, only what is known to be without values.
    ///
    /// - Parameter isOwn: whether the text is that of this library's encoder, which puts nothing of a value in it.
    private static func problem(_ text: String, isOwn: Bool) -> String {
        if isOwn { return text.shownSafely() }
        if text.hasOctetSuffix("did not encode any values.") { return "the value encodes nothing" }
        if text.containsOctets("top-level") || text.hasOctetPrefix("Top-level") { return "an array or a dictionary is needed" }
        if text.hasOctetPrefix("Unable to encode ") { return "a number that is not finite" }
        return "invalid value"
    }

    private var happened: String { "cannot encode \(typeName)\(codingPath.isEmpty ? "" : " at \(codingPath)"): \(problem)" }

    /// Request, type, path, and what is wrong there: nothing of the value.
    public var description: String { "\(request.map { "\($0): " } ?? "")\(happened) (\(delivery.phrase))\(shownAttempts)" }

    /// A sentence for people.
    public var errorDescription: String? { "The content of the request could not be created." }
    /// Type, path, and what is wrong there.
    public var failureReason: String? { happened.asSentence }
    /// `nil`: only a developer can help.
    public var recoverySuggestion: String? { nil }
}
