public import ErrandCore

/// Throws ``StatusError`` for a response whose status is not wanted: by default, any but 2xx.
///
/// **Place:** outside `retry`, `redirect`, `authenticate` and `cache`, which look for statuses and must see them first. Log, spans, metrics and
/// the profile show the same on either side: they judge a status by this rule.
///
/// **Per request:** `request.options.validateStatus = .off`, or `.use(.statuses([200, 404]))`.
public struct ValidateStatusMiddleware: HTTPMiddleware {
    private let rule: StatusRule
    /// Whether a status that another one inside has accepted is accepted here as well.
    private let acceptsJudged: Bool

    public init(_ rule: StatusRule = .successful) { self.init(rule, acceptsJudged: false) }

    private init(_ rule: StatusRule, acceptsJudged: Bool) { (self.rule, self.acceptsJudged) = (rule, acceptsJudged) }

    /// Any but 2xx is refused, unless a `validateStatus` inside has accepted it: for stacks in which that is for some requests alone.
    package static let unlessJudged = ValidateStatusMiddleware(.successful, acceptsJudged: true)

    public var place: MiddlewarePlace? { .validateStatus }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .outside(.authenticate, because: "authenticate would never see a 401"),
            .outside(.cache, because: "the cache would never see a 304"),
        ]
    }

    public var label: String { "validateStatus(\(rule))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let rule = request.options.validateStatus.resolved(rule) else { return try await next.send(request) }
        // Observers inside judge a status by it as well.
        var judged = request
        judged.options.call.passedStatusRule = rule
        var response: Response
        do {
            response = try await next.send(judged)
        } catch {
            throw error.restoringCall(of: request)
        }
        response.restoreCall(of: request)
        guard !rule.accepts(response.head.status), !(acceptsJudged && response.metadata.isStatusAccepted) else {
            response.metadata.isStatusAccepted = true
            return response
        }
        throw try await StatusError(reading: response)
    }
}

extension HTTPSender {
    /// Throws ``StatusError`` for a status that is not wanted. See ``ValidateStatusMiddleware``.
    public func validateStatus(_ rule: StatusRule = .successful) -> HTTPStack { wrapped(by: ValidateStatusMiddleware(rule)) }
}
