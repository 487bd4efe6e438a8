public import ErrandCore
internal import Synchronization

/// Gives each request of the stack a number, from 1 up, for logs and metadata.
///
/// **Place:** outside `log` and `retry`, so that all attempts of a call share its number. The stack and its copies count together.
///
/// **Per request:** `request.options.number = .off` leaves it without a number, and uses none up.
public final class NumberMiddleware: HTTPMiddleware {
    private let count = Atomic<Int>(0)

    public init() {}

    public var place: MiddlewarePlace? { .number }
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

private enum NumberOptionKey: OptionKey {
    static var defaultValue: OptionOverride<Never> { .inherited }
    static func identity(of value: OptionOverride<Never>) -> OptionIdentity { .none }
    static var crossesOrigins: Bool { true }
}

extension RequestOptions {
    /// `.off` leaves this request without a number.
    public var number: OptionOverride<Never> {
        get { self[NumberOptionKey.self] }
        set { self[NumberOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Numbers the requests of this stack, from 1 up. See ``NumberMiddleware``.
    public func number() -> HTTPStack { wrapped(by: NumberMiddleware()) }
}
