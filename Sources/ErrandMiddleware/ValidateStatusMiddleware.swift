public import ErrandCore
public import ErrandFormats

/// Throws ``StatusError`` for a response whose status is not wanted: by default, any but 2xx.
///
/// **Place:** outside `retry`, `redirect`, `authenticate` and `cache`, which look for statuses and must see them first.
///
/// **Per request:** `request.options.validateStatus = .off`, or `.use(.statuses([200, 404]))`.
public struct ValidateStatusMiddleware: HTTPMiddleware {
    /// How much of an unwanted response's body an error keeps: 64 KiB. The rest is abandoned.
    public static let bodyLimitBytes = 64 * 1024

    private let rule: StatusRule

    public init(_ rule: StatusRule = .successful) { self.rule = rule }

    public var place: MiddlewarePlace? { .validateStatus }
    public var label: String { "validateStatus(\(rule))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let response = try await next.send(request)
        guard let rule = request.options.validateStatus.resolved(rule), !rule.accepts(response.head.status) else { return response }
        throw try await StatusError(reading: response)
    }
}

/// Which statuses are wanted.
public struct StatusRule: Sendable, CustomStringConvertible {
    private let accepted: @Sendable (HTTPResponse.Status) -> Bool
    public let description: String

    /// - Parameter description: for the stack's description.
    public init(_ description: String, accepts: @escaping @Sendable (HTTPResponse.Status) -> Bool) {
        (self.description, accepted) = (description, accepts)
    }

    public func accepts(_ status: HTTPResponse.Status) -> Bool { accepted(status) }

    /// 200 to 299.
    public static let successful = StatusRule("2xx") { $0.kind == .successful }
    /// 200 to 399, for callers that handle redirects and 304 themselves.
    public static let successfulOrRedirection = StatusRule("2xx, 3xx") { $0.kind == .successful || $0.kind == .redirection }
    /// These and no others.
    public static func statuses(_ codes: Set<Int>) -> StatusRule {
        StatusRule(codes.sorted().map(String.init).joined(separator: ", ")) { codes.contains($0.code) }
    }
}

/// A response whose status was not wanted, with its head and the front of its body.
public struct StatusError: RequestFailure {
    public let request: Request?
    /// The head: status and fields.
    public let head: HTTPResponse
    /// At most ``ValidateStatusMiddleware/bodyLimitBytes`` bytes of the body; fewer where it broke off.
    public let bodyPrefix: Data
    /// False where the body was longer, or broke off.
    public let bodyIsWhole: Bool
    /// What the server says of the problem, where it sent `application/problem+json` (RFC 9457); nil otherwise.
    public let problem: ProblemDetails?
    public var attempts: [AttemptRecord]

    public var status: HTTPResponse.Status { head.status }
    public var response: HTTPResponse? { head }
    public var phase: ExchangePhase { .response }
    public var wasSent: WasSent { .yes }

    /// How long the server asks to be left alone (`Retry-After`); nil where it does not say.
    public var retryAfter: Duration? { head.headerFields.retryAfter }

    /// Reads the front of the body and abandons the rest.
    ///
    /// - Throws: `CancellationError`, and ``TransportError`` where the deadline passes meanwhile. A body that breaks off
    ///   otherwise is kept as far as it came: the status says more than that.
    init(reading response: Response) async throws {
        request = response.request
        head = response.head
        attempts = response.metadata.attempts
        let limitBytes = ValidateStatusMiddleware.bodyLimitBytes
        var (front, isWhole) = (Data(), false)
        do {
            var iterator = response.body.makeAsyncIterator()
            while front.count <= limitBytes, !isWhole {
                if let chunk = try await iterator.next() { front.append(chunk) } else { isWhole = true }
            }
        } catch {
            try Task.checkCancellation()
            if error is CancellationError { throw error }
            if let failure = error as? TransportError, failure.code == .timedOut { throw failure }
        }
        response.body.abandon()
        (bodyPrefix, bodyIsWhole) = (front.count > limitBytes ? Data(front.prefix(limitBytes)) : front, isWhole)
        let type = head.headerFields[.contentType].flatMap { MediaType($0) }
        problem = type?.essence == ProblemDetails.mediaType ? try? ProblemDetails(parsing: bodyPrefix) : nil
    }

    /// A value of the error's body, such as the API's own error type.
    ///
    /// - Throws: `DecodingError`, also where the body was longer than what was kept, or is what a typed call refuses as well: deeper than 128,
    ///   for instance.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self, with decoder: JSONDecoder = JSONDecoder()) throws -> Value {
        if let problem = bodyPrefix.withUnsafeBytes({ JSONDepth.problem(in: $0) }) {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: problem))
        }
        return try decoder.decode(type, from: bodyPrefix)
    }

    /// Request, status and the problem's title: no field and no body.
    public var description: String {
        var text = request.map { "\($0): " } ?? ""
        text += "status \(head.status.code)"
        if !head.status.reasonPhrase.isEmpty { text += " \(head.status.reasonPhrase)" }
        if let problem, !problem.description.isEmpty { text += " (\(problem.description.shownSafely()))" }
        return attempts.isEmpty ? text : text + "; " + attempts.map(\.description).joined(separator: "; ")
    }
}

extension StatusError: CustomReflectable {
    public var customMirror: Mirror {
        Mirror(self, children: ["failure": description, "body": "\(bodyPrefix.count) bytes"] as KeyValuePairs<String, Any>)
    }
}

private enum ValidateStatusOptionKey: TypedKey { static var defaultValue: Override<StatusRule> { .inherited } }

extension RequestOptions {
    /// Another rule for this request, or `.off`.
    public var validateStatus: Override<StatusRule> {
        get { self[ValidateStatusOptionKey.self] }
        set { self[ValidateStatusOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Throws ``StatusError`` for a status that is not wanted. See ``ValidateStatusMiddleware``.
    public func validateStatus(_ rule: StatusRule = .successful) -> HTTPStack { wrapped(by: ValidateStatusMiddleware(rule)) }
}
