public import ErrandCore

/// Changes each request on its way in, or each response on its way out, by a closure of your own, which may wait.
///
/// ```swift
/// stack.transformRequest { $0.head.headerFields[.acceptLanguage] = "de" }
///     .transformResponse { response in await audit.note(response.status) }
/// ```
///
/// **Place:** where you put it: it sees what the layers outside it made of the request. What the closure throws is thrown to the caller (in
/// a call that was cancelled, `CancellationError` is); for a response, its body is released then.
///
/// **Per request:** `request.options.transform = .off` goes past every one of them.
public struct TransformMiddleware: HTTPMiddleware {
    private enum Kind: Sendable {
        case request(@Sendable (inout Request) async throws -> Void)
        case response(@Sendable (inout Response) async throws -> Void)
    }

    private let kind: Kind
    private let name: String

    /// - Parameter name: for the stack's description.
    public static func request(
        _ name: String = "request", _ change: @escaping @Sendable (inout Request) async throws -> Void
    ) -> TransformMiddleware { TransformMiddleware(kind: .request(change), name: name) }

    /// - Parameter name: for the stack's description.
    public static func response(
        _ name: String = "response", _ change: @escaping @Sendable (inout Response) async throws -> Void
    ) -> TransformMiddleware { TransformMiddleware(kind: .response(change), name: name) }

    private init(kind: Kind, name: String) { (self.kind, self.name) = (kind, name) }

    public var label: String { "transform(\(name))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.transform.isOff else { return try await next.send(request) }
        switch kind {
        case .request(let change):
            var request = request
            do {
                try await change(&request)
            } catch {
                try Task.checkCancellation()
                throw error
            }
            return try await next.send(request)
        case .response(let change):
            var response = try await next.send(request)
            let body = response.body
            do {
                try await change(&response)
            } catch {
                body.abandon()
                try Task.checkCancellation()
                throw error
            }
            return response
        }
    }
}

private enum TransformOptionKey: OptionKey {
    static var defaultValue: OptionOverride<Never> { .inherited }
    static var crossesOrigins: Bool { true }
}

extension RequestOptions {
    /// `.off` goes past every ``TransformMiddleware``.
    public var transform: OptionOverride<Never> {
        get { self[TransformOptionKey.self] }
        set { self[TransformOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Changes each request on its way in. See ``TransformMiddleware``.
    public func transformRequest(
        _ name: String = "request", _ change: @escaping @Sendable (inout Request) async throws -> Void
    ) -> HTTPStack { wrapped(by: TransformMiddleware.request(name, change)) }

    /// Changes each response on its way out. See ``TransformMiddleware``.
    public func transformResponse(
        _ name: String = "response", _ change: @escaping @Sendable (inout Response) async throws -> Void
    ) -> HTTPStack { wrapped(by: TransformMiddleware.response(name, change)) }
}
