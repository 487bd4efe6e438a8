public import ErrandCore

/// The error for a value that can't be encoded as the body of a request. Nothing was sent.
///
/// The description has the request, the name of the type, the coding path and the problem. The description has no part of the value:
///
/// ```
/// POST /orders: cannot encode Order at lines[0].price: a number that is not finite (not sent)
/// ```
///
/// No middleware got the request. Therefore the request has no base URL, and the log of the stack has no record of this
/// failure.
public struct RequestEncodingError: RequestFailure, NumberedFailure {
    /// The request, without its body.
    public var request: Request?
    /// The name of the value's type, such as `[Order]`.
    public let typeName: String
    /// The coding path of the problem, such as `lines[0].price`, at most 200 characters; empty for the value itself. The path has the names
    /// of properties. Keys of a dictionary are data, and are shown as `[…]`.
    public let codingPath: String
    /// The error of the encoder, which may contain values.
    public let underlying: any Error
    public var attempts: [AttemptRecord] = []
    /// The problem in words.
    private let problem: String

    public var phase: ExchangePhase { .request }
    public var delivery: Delivery { .notSent }

    /// The error for a `Content-Type` whose boundary is not the boundary of the form.
    static let foreignBoundary = EncodingError.invalidValue(
        "…",
        .init(
            codingPath: [],
            debugDescription:
                "the Content-Type of the request does not have the boundary of the form; leave the field out, because the form sets it"))

    init(_ typeName: String, underlying: EncodingError, request: Request) {
        (self.typeName, self.underlying, self.request) = (typeName, underlying, request)
        guard case .invalidValue(let value, let context) = underlying else {
            (codingPath, problem) = ("", "invalid value")
            return
        }
        codingPath = shownPath(context.codingPath, named: context.codingPath.map(\.stringValue))
        problem = Self.problem(context.debugDescription, isOwn: (value as? String)?.isExactly("…") == true)
    }

    /// Returns the problem in words. Texts of the encoder are included only if the texts contain no values.
    ///
    /// - Parameter isOwn: whether the text comes from an encoder of this library, whose texts contain no values.
    private static func problem(_ text: String, isOwn: Bool) -> String {
        if isOwn { return text.shownSafely() }
        if text.hasOctetSuffix("did not encode any values.") { return "the value encodes nothing" }
        if text.containsOctets("top-level") || text.hasOctetPrefix("Top-level") { return "an array or a dictionary is needed" }
        if text.hasOctetPrefix("Unable to encode ") { return "a number that is not finite" }
        return "invalid value"
    }

    private var happened: String { "cannot encode \(typeName)\(codingPath.isEmpty ? "" : " at \(codingPath)"): \(problem)" }

    /// The request, type, coding path and problem, without any part of the value.
    public var description: String { "\(shownRequest)\(happened) (\(delivery.phrase))\(shownAttempts)" }

    public var failureNumber: FailureNumber { .requestEncoding }
    /// The type, the coding path and the problem.
    public var failureReason: String? { happened.asSentence }
    /// `nil`, because only a developer can fix the problem.
    public var recoverySuggestion: String? { nil }
}
