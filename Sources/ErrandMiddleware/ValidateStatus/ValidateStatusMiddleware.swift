public import ErrandCore

/// Throws ``/ErrandCore/StatusError`` for a response with an unwanted status. By default, every status except 2xx is unwanted.
///
/// ```swift
/// let stack = transport.retry().validateStatus()
/// ```
///
/// **Place:** outside `retry`, `redirect`, `authenticate` and `cache`, because these layers must get the response first. Logs, spans,
/// metrics and profiles have the same content inside and outside this layer. In both places, these observers apply the rule of this layer
/// to the status.
///
/// **Per request:** set `request.options.validateStatus` to `.off`, or to a value such as `.use(.statuses([200, 404]))`.
public struct ValidateStatusMiddleware: HTTPMiddleware {
    private let rule: StatusRule
    /// Whether this layer also accepts a status that an inner `validateStatus` has accepted.
    private let acceptsJudged: Bool

    /// Creates the middleware.
    ///
    /// - Parameter rule: the accepted statuses. Default: 2xx.
    public init(_ rule: StatusRule = .successful) { self.init(rule, acceptsJudged: false) }

    private init(_ rule: StatusRule, acceptsJudged: Bool) { (self.rule, self.acceptsJudged) = (rule, acceptsJudged) }

    /// Accepts only 2xx, and each status that an inner `validateStatus` has accepted. This value is for stacks in which the inner
    /// layer applies to some requests only.
    package static let unlessJudged = ValidateStatusMiddleware(.successful, acceptsJudged: true)

    public var place: MiddlewarePlace { .validateStatus }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .outside(.authenticate, because: "authenticate would never see a 401"),
            .outside(.cache, because: "the cache would never see a 304"),
        ]
    }

    public var label: String { "validateStatus(\(rule))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let rule = request.options.validateStatus.resolved(rule) else { return try await next.send(request) }
        // Inner observers also apply the rule to the status.
        var judged = request
        judged.options.call.passedStatusRule = rule
        var response = try await next.send(judged)
        guard !rule.contains(response.head.status), !(acceptsJudged && response.metadata.isStatusAccepted) else {
            response.metadata.isStatusAccepted = true
            return response
        }
        throw try await StatusError(reading: response)
    }
}

extension HTTPSender {
    /// Throws ``/ErrandCore/StatusError`` for a response with an unwanted status. See ``ValidateStatusMiddleware``.
    ///
    /// ```swift
    /// stack.validateStatus(.statuses([200, 404]))
    /// ```
    ///
    /// - Parameter rule: the accepted statuses. Default: 2xx.
    public func validateStatus(_ rule: StatusRule = .successful) -> HTTPStack { wrapped(by: ValidateStatusMiddleware(rule)) }
}
