public import ErrandCore

/// The error for a response body that `decompress` can't decode.
///
/// Over `URLSession`, which decodes most content itself, a damaged body is a ``/ErrandCore/TransportError`` with the code
/// `invalidResponse`.
///
/// ```
/// GET https://a.example/: status 200, the body can't be decoded: gzip: the body ends early
/// ```
public struct ContentDecodingError: RequestFailure, NumberedFailure {
    /// The problem of the body. Codes may be added: match only the codes that you handle.
    public struct Code: Error, Sendable, Hashable, CustomStringConvertible {
        /// The code in words, such as `gzip: the body ends early`.
        public let description: String
        /// Whether the body exceeds one of the ``DecompressionLimits``.
        public let isLimit: Bool

        private init(_ description: String, isLimit: Bool = false) { (self.description, self.isLimit) = (description, isLimit) }

        static func truncated(_ coding: ContentCoding) -> Code { Code("\(coding.rawValue): the body ends early") }
        static func corrupt(_ coding: ContentCoding, _ detail: String) -> Code { Code("\(coding.rawValue): \(detail)") }
        static func trailing(_ coding: ContentCoding) -> Code { Code("\(coding.rawValue): there are bytes after the end") }
        static func tooLarge(limitBytes: Int) -> Code { Code("it has more than \(limitBytes.counted("byte")) (limitBytes)", isLimit: true) }
        static func expandsTooMuch(maxRatio: Int) -> Code {
            Code("it has more than \(maxRatio) times the bytes that were received (maxRatio)", isLimit: true)
        }
        static func tooManyEmptyMembers(_ coding: ContentCoding, limit: Int) -> Code {
            Code("\(coding.rawValue): it has more than \(limit.counted("member")) in a row without content", isLimit: true)
        }
        static func tooManyCodings(limit: Int) -> Code {
            Code("it has more than \(limit.counted("content coding")) (maxCodings)", isLimit: true)
        }
    }

    /// The problem of the body.
    public let code: Code
    public var request: Request?
    /// The head of the response, as the server sent it.
    public let response: HTTPResponse?
    public var attempts: [AttemptRecord] = []
    public var retryStop: RetryStop?

    public var phase: ExchangePhase { .body }
    public var delivery: Delivery { .sent }

    init(_ code: Code, request: Request, response: HTTPResponse) {
        (self.code, self.request, self.response) = (code, request, response)
    }

    public var description: String { "\(shownRequest)\(happened)\(shownAttempts)" }

    private var happened: String { "\(response.map { "status \($0.status.code), " } ?? "")the body can't be decoded: \(code)" }

    public var failureNumber: FailureNumber { code.isLimit ? .decodedBodyTooLarge : .contentDecoding }
    public var failureReason: String? { happened.asSentence }
    public var recoverySuggestion: String? { nil }
}
