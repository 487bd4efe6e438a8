public import ErrandCore
internal import Synchronization

/// Numbers the requests of a stack from 1, for logs and metadata.
///
/// ```swift
/// let stack = transport.retry().number()
/// let response = try await stack.send(request)
/// response.metadata.requestNumber  // 1
/// ```
///
/// **Place:** outside `log` and `retry`, so that all attempts of a call have the same number. All copies of a stack share one count.
///
/// **Per request:** with `request.options.number = .off`, the request has no number. A request without a number does not advance the count,
/// so the numbers have no gap.
public final class NumberMiddleware: HTTPMiddleware {
    private let count = Atomic<Int>(0)

    /// Creates a middleware that gives the first request the number 1.
    public init() {}

    public var place: MiddlewarePlace { .number }
    public var appliesToPreparedRequests: Bool { false }
    public var label: String { "number" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.number.isOff else { return try await next.send(request) }
        let number = count.wrappingAdd(1, ordering: .relaxed).newValue
        var request = request
        request.options.requestNumber = number
        var response = try await next.send(request)
        response.metadata.requestNumber = number
        return response
    }
}

private enum NumberOptionKey: SwitchOptionKey {
    static func identity(of value: OptionOverride<Never>) -> OptionIdentity { .ignored }
}

extension RequestOptions {
    /// Whether this request gets a number. `.off`: the request has no number.
    public var number: OptionOverride<Never> {
        get { self[NumberOptionKey.self] }
        set { self[NumberOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Numbers the requests of this stack from 1. See ``NumberMiddleware``.
    public func number() -> HTTPStack { wrapped(by: NumberMiddleware()) }
}
