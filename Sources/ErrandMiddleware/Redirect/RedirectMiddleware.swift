public import ErrandCore

/// Follows redirects, according to a ``RedirectPolicy``.
///
/// ```swift
/// let stack = transport.redirect().retry()
/// let response = try await stack.send(request)
/// response.metadata.redirects.map(\.from)  // ["http://a.example/old"]
/// ```
///
/// By default, at most 20 redirects are followed. Redirects from https to http, and redirect loops, are refused. To decide about each
/// redirect yourself, use ``RedirectPolicy/deciding(_:)``.
///
/// **Place:** inside `validateStatus` and `retry`, and outside `authenticate`, `cookies` and `cache`, because these layers must
/// decide again for each hop. The request's deadline applies to all hops together.
///
/// The response's `request` is the last request, and `metadata.redirects` lists the hops. The body of a redirect is not used. If the body
/// declares at most 16 KiB and arrives within 100 ms, the connection can be reused. Any other body is abandoned.
///
/// **Per request:** with `request.options.redirect = .off`, the redirect itself is returned. With `.use(policy)`, `policy` replaces the
/// policy of the stack.
public struct RedirectMiddleware: HTTPMiddleware {
    private let policy: RedirectPolicy
    private let clock: any Clock<Duration>

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - policy: the redirects to follow. Default: ``RedirectPolicy/standard``.
    ///   - clock: the clock that measures how long the middleware waits for the body of a redirect, at most 100 ms.
    public init(_ policy: RedirectPolicy = .standard, clock: any Clock<Duration> = ContinuousClock()) {
        (self.policy, self.clock) = (policy, clock)
    }

    public var place: MiddlewarePlace { .redirect }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.server, because: "a relative Location could not be resolved"),
            .inside(.validateStatus, because: "a redirect would be refused before it is followed"),
            .outside(.cache, because: "a redirected response would be stored under the first URL"),
            .outside(.cookies, because: "cookies that a redirect sets would be lost"),
            .outside(.authenticate, because: "credentials would not be chosen again for the next origin"),
            .once(because: "the inner layer would follow every redirect, and the outer layer would see none"),
        ]
    }

    public var label: String { "redirect(\(policy))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.forbidsRedirects, let policy = request.options.redirect.resolved(policy) else {
            return try await next.send(request)
        }
        var request = request
        var trail = RedirectTrail()
        // If a redirect changed a POST into a GET, a server has already processed the POST. Sending the call again would repeat
        // the work.
        var processed = CallAttempts()
        while true {
            request.options.redirectsAreFollowed = true
            var response = try await processed.send(request, to: next)
            // If inner layers have declared values secret, such as a key in the query, these values are also secret in the next URL.
            request.options.sensitivity.formUnion(response.request.options.sensitivity)
            // If `hsts` has changed the URL of this hop, the server got the changed URL.
            request.adoptHTTPS(of: response.request)
            trail.add(response.metadata.redirects)
            let step: RedirectTrail.Step
            do {
                step = try trail.step(after: response.head, to: request, by: policy)
            } catch {
                request.report(.redirectDecision, decision: .init(continues: false, "\(response.status.code), refused"))
                response.discard()
                throw processed.adding(to: trail.adding(to: error))
            }
            guard case .follow(let hop) = step else {
                if response.head.isRedirect {
                    request.report(.redirectDecision, decision: .init(continues: false, "\(response.status.code), returned"))
                }
                if trail.records.isEmpty { return response }
                response.metadata.redirects = trail.records
                // The final response has the warnings of the hops. A hop is not an attempt.
                let attempts = response.metadata.attempts
                response = processed.adding(to: response)
                response.metadata.attempts = attempts
                return response
            }
            request.report(.redirectDecision, decision: .init(continues: true, hop.event))
            if let change = hop.change { request.report(.hstsDecision, decision: .init(continues: true, "to \(change.to)")) }
            request = try await processed.followUp(with: hop.request, after: .success(response), counting: hop.mayBeProcessed, on: clock)
        }
    }
}

private enum RedirectOptionKey: OptionKey {
    static var defaultValue: OptionOverride<RedirectPolicy> { .inherited }
    static var requiredMiddleware: MiddlewarePlace { .redirect }
    static var crossesOrigins: Bool { true }
}

extension RequestOptions {
    /// Replaces the stack's redirect policy for this request. `.off`: redirects are returned, not followed. Default:
    /// `.inherited`, the stack's policy.
    public var redirect: OptionOverride<RedirectPolicy> {
        get { self[RedirectOptionKey.self] }
        set { self[RedirectOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Follows redirects. See ``RedirectMiddleware``.
    ///
    /// ```swift
    /// stack.redirect(RedirectPolicy(maxHops: 5, allowsDowngrade: true))
    /// ```
    public func redirect(_ policy: RedirectPolicy = .standard, clock: any Clock<Duration> = ContinuousClock()) -> HTTPStack {
        wrapped(by: RedirectMiddleware(policy, clock: clock))
    }
}
