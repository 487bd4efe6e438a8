public import ErrandCore

/// Changes each request before it is sent, or each response before it is returned. Your own closure makes the change, and may be
/// asynchronous.
///
/// ```swift
/// stack.transformRequest { $0.head.headerFields[.acceptLanguage] = "de" }
///     .transformResponse { response in await audit.note(response.status) }
/// ```
///
/// **Place:** in a stack that sorts its layers, inside `validateStatus` and outside `retry`, unless `wrapped(by:inside:)` names
/// another position. The closure runs once for each call. In any other stack, the layer is at the place where you write it. The
/// closure gets the request with the changes of the outer layers. If the closure throws, the caller gets the error. In a cancelled
/// call, the error becomes `CancellationError`. If the closure for a response throws, the body is released.
///
/// **Per request:** with `request.options.transform = .off`, the request bypasses all transforms.
public struct TransformMiddleware: HTTPMiddleware {
    private enum Kind: Sendable {
        case request(@Sendable (inout Request) async throws -> Void)
        case response(@Sendable (inout Response) async throws -> Void)
    }

    private let kind: Kind
    private let name: String

    /// Returns a middleware that changes requests.
    ///
    /// - Parameters:
    ///   - name: the name of the layer in the stack's description.
    ///   - change: a closure that changes the request in place. If the closure throws, the call fails with the closure's error.
    public static func request(
        _ name: String = "request", _ change: @escaping @Sendable (inout Request) async throws -> Void
    ) -> TransformMiddleware { TransformMiddleware(kind: .request(change), name: name) }

    /// Returns a middleware that changes responses.
    ///
    /// - Parameters:
    ///   - name: the name of the layer in the stack's description.
    ///   - change: a closure that changes the response in place. If the closure throws, the call fails with the closure's error.
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
                // The record of this failure must not show values that the closure has declared as sensitive.
                request.reportSensitiveNames()
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

private enum TransformOptionKey: SwitchOptionKey {}

extension RequestOptions {
    /// Whether transforms apply to this request. `.off`: the request bypasses every ``TransformMiddleware``.
    public var transform: OptionOverride<Never> {
        get { self[TransformOptionKey.self] }
        set { self[TransformOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Changes each request before it is sent. See ``TransformMiddleware``.
    ///
    /// ```swift
    /// stack.transformRequest { $0.headers[.acceptLanguage] = "de" }
    /// ```
    public func transformRequest(
        _ name: String = "request", _ change: @escaping @Sendable (inout Request) async throws -> Void
    ) -> HTTPStack { wrapped(by: TransformMiddleware.request(name, change)) }

    /// Changes each response before it is returned. See ``TransformMiddleware``.
    ///
    /// ```swift
    /// stack.transformResponse { response in await audit.note(response.status) }
    /// ```
    public func transformResponse(
        _ name: String = "response", _ change: @escaping @Sendable (inout Response) async throws -> Void
    ) -> HTTPStack { wrapped(by: TransformMiddleware.response(name, change)) }
}
