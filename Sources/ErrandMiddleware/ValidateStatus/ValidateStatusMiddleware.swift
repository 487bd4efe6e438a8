public import ErrandCore

/// Throws ``StatusError`` for a response whose status is not wanted: by default, any but 2xx.
///
/// **Place:** outside `retry`, `redirect`, `authenticate` and `cache`, which look for statuses and must see them first.
///
/// **Per request:** `request.options.validateStatus = .off`, or `.use(.statuses([200, 404]))`.
public struct ValidateStatusMiddleware: HTTPMiddleware {
    /// How much of an unwanted response's body an error keeps: 64 KiB. The rest is abandoned.
    public static let bodyLimitBytes = StatusError.bodyLimitBytes

    private let rule: StatusRule

    public init(_ rule: StatusRule = .successful) { self.rule = rule }

    public var place: MiddlewarePlace? { .validateStatus }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .outside(.authenticate, because: "authenticate would never see a 401"),
            .outside(.cache, because: "the cache would never see a 304"),
        ]
    }

    public var label: String { "validateStatus(\(rule))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let response = try await next.send(request)
        guard let rule = request.options.validateStatus.resolved(rule), !rule.accepts(response.head.status) else { return response }
        throw try await StatusError(reading: response)
    }
}

extension HTTPSender {
    /// Throws ``StatusError`` for a status that is not wanted. See ``ValidateStatusMiddleware``.
    public func validateStatus(_ rule: StatusRule = .successful) -> HTTPStack { wrapped(by: ValidateStatusMiddleware(rule)) }
}
