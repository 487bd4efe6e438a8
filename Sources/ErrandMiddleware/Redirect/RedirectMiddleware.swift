public import ErrandCore

/// Follows redirects, by a ``RedirectPolicy``.
///
/// **Place:** inside `validateStatus` and `retry`, outside `authenticate`, `cookies` and `cache`, which decide anew for each hop. The
/// request's deadline holds for all hops together.
///
/// The response's `request` is the last one, and `metadata.redirects` tells the way. A redirect's own body is not read.
///
/// **Per request:** `request.options.redirect = .off` gives the redirect itself back; `.use(policy)`.
public struct RedirectMiddleware: HTTPMiddleware {
    private let policy: RedirectPolicy

    public init(_ policy: RedirectPolicy = .standard) { self.policy = policy }

    public var place: MiddlewarePlace? { .redirect }
    public var label: String { "redirect(\(policy))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let policy = request.options.redirect.resolved(policy) else { return try await next.send(request) }
        var request = request
        var way: [RedirectRecord] = []
        while true {
            var response = try await next.send(request)
            let decision: RedirectPolicy.Decision
            do {
                decision = try policy.decision(for: response.head, to: request, hops: way.count)
            } catch {
                request.tell(.redirectDecision, decision: .init(goesOn: false, "\(response.status.code), refused"))
                response.body.abandon()
                throw error
            }
            guard case .follow(let following) = decision else {
                if RedirectPolicy.isRedirect(response.head) {
                    request.tell(.redirectDecision, decision: .init(goesOn: false, "\(response.status.code), given back"))
                }
                if !way.isEmpty { response.metadata.redirects = way }
                return response
            }
            request.tell(
                .redirectDecision, decision: .init(goesOn: true, "\(response.status.code) to \(following.redactedURL)"))
            way.append(RedirectRecord(status: response.head.status, from: request.redactedURL))
            try await response.body.discardCourteously()
            let count = request.resendCount(after: .success(response))
            request = following
            request.options.resendCount = count
        }
    }
}

/// One redirect that was followed.
public struct RedirectRecord: Sendable, Hashable {
    /// 301, 302, 303, 307 or 308.
    public let status: HTTPResponse.Status
    /// The URL that was redirected, without secrets.
    public let from: String
}

extension ResponseBody {
    /// Reads a short body to its end, so that the connection can be kept, and abandons any other.
    func discardCourteously() async throws {
        guard let expectedLength, expectedLength <= 16 * 1024 else { return abandon() }
        do {
            _ = try await prefix(16 * 1024)
        } catch {
            abandon()
            try Task.checkCancellation()
        }
    }
}

private enum RedirectOptionKey: TypedKey { static var defaultValue: Override<RedirectPolicy> { .inherited } }
private enum RedirectsKey: TypedKey { static var defaultValue: [RedirectRecord] { [] } }

extension RequestOptions {
    /// Another policy for this request, or `.off`.
    public var redirect: Override<RedirectPolicy> {
        get { self[RedirectOptionKey.self] }
        set { self[RedirectOptionKey.self] = newValue }
    }
}

extension ResponseMetadata {
    /// The redirects that led here, in order.
    public internal(set) var redirects: [RedirectRecord] {
        get { self[RedirectsKey.self] }
        set { self[RedirectsKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Follows redirects. See ``RedirectMiddleware``.
    public func redirect(_ policy: RedirectPolicy = .standard) -> HTTPStack { wrapped(by: RedirectMiddleware(policy)) }
}
