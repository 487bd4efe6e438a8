#if Auth
public import ErrandCore
internal import ErrandFormats

/// Gives requests the credentials of an ``AuthenticationScheme``, and responds to the challenges of servers.
///
/// ```swift
/// let stack = HTTPStack.default
///     .authenticate(.bearer(tokens))
///     .retry()
///     .server("https://api.example/v1")
/// ```
///
/// **Challenges:** if a response asks for a proof (status 401), and the scheme has another proof, the request is sent again with the new
/// proof. This second request requires a body that can be sent again. After this second request, `metadata.attempts` lists the attempt that
/// got the challenge.
///
/// If the scheme has no other proof, the response is returned, and `metadata.authenticationStop` has the reason. A refused proof is never
/// sent twice in a call. A call responds to at most 20 challenges. With an outer `retry`, these two rules apply to each attempt separately.
///
/// **Origins that get the credentials:** if `origins` is set, only these origins get the credentials. If `origins` is `nil`, each origin
/// that a request itself names gets the credentials. If `origins` is `nil`, the following origins get no credentials:
/// - the target of a redirect to another origin
/// - the origin of an absolute URL, if the outer ``/ErrandMiddleware/ServerMiddleware`` has another origin
///
/// A request that already has the scheme's field (`Authorization`) is sent unchanged. Its response is returned, even if the response is a
/// challenge.
///
/// **Place:** inside `server`, `retry` and `redirect`, so that each attempt and each hop gets new credentials. The place is also
/// outside `cache` and `coalesce`, which distinguish accounts by `request.options.credentialIdentity`.
///
/// **Per request:** with `request.options.authenticate = .off`, a request carries no credentials. With `.use(.basic(…))`, a request carries
/// these credentials in place of the stack's credentials. If all requests have `.use`, the stack needs no scheme:
/// ``HTTPSender/authenticate()``. The handler `request.options.onChallenge` decides about each challenge before the scheme does.
public struct AuthenticateMiddleware: HTTPMiddleware {
    /// The maximum number of challenges in one call.
    static let roundLimit = 20

    private let scheme: (any AuthenticationScheme)?
    private let scope: CredentialScope
    private let clock: any Clock<Duration>

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - scheme: the scheme that authenticates all requests. With `nil`, only requests with an authentication option are authenticated.
    ///   - origins: the only origins that get credentials. `nil`, the default, allows the origin that each request itself
    ///     names.
    ///   - clock: the clock that measures the wait for the body of a challenge, at most 100 ms.
    public init(_ scheme: (any AuthenticationScheme)?, origins: Set<Origin>? = nil, clock: any Clock<Duration> = ContinuousClock()) {
        (self.scheme, scope, self.clock) = (scheme, CredentialScope(origins: origins), clock)
    }

    public var place: MiddlewarePlace { .authenticate }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.server, because: "authenticate would not know the origin"),
            .once(because: "the inner authenticate would never add credentials"),
            .inside(.validateStatus, because: "a challenge would be refused, and no credentials would be sent"),
            .inside(.retry, because: "a retried request would carry an expired token"),
            .inside(.redirect, because: "credentials would not be chosen again for the next origin"),
            .outside(.cache, because: "a response would be served to another account"),
            .outside(.coalesce, because: "the credentials would not be compared"),
        ]
    }

    public var label: String { "authenticate(\(scheme?.label ?? "by option"))" }

    /// Sends the request with credentials. After a challenge, sends the request again with a new proof.
    ///
    /// If a refresh fails because a server can't be reached, an inner cache may still have a fresh response of the account. In this case,
    /// the function returns that response.
    ///
    /// - Throws: ``AuthenticationError``, the errors of the scheme, and the errors of `next`.
    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let hook = request.options.onChallenge
        guard let scheme = effectiveScheme(for: request) else { return try await next.send(request) }
        guard scope.includes(request) else {
            var response = try await next.send(request)
            if scheme.isChallenge(response.head) { response.record(.otherOrigin) }
            return response
        }
        var proof: AuthenticationProof?
        do {
            proof = try await attributeErrors(to: request) { try await scheme.proof(for: request) }
        } catch {
            if let stored = await storedResponse(to: request, by: scheme, after: error, next) { return stored }
            throw error
        }
        // The app's own credentials are sent unchanged.
        if proof?.isOverridden(by: request) == true {
            var response = try await next.send(request)
            if scheme.isChallenge(response.head) { response.record(.ownCredentials) }
            return response
        }
        var refused: Set<AuthenticationFingerprint> = []
        var attempts = CallAttempts()
        // The inner layers compare the proof, not the option.
        var current = request
        if request.options.hasAuthenticationOption {
            current.options.authenticate = .inherited
            current.options.onChallenge = nil
        }
        var round = 0
        // The scheme that made the proof. The request's handler may have chosen another scheme.
        var author = scheme
        while true {
            var response = try await attempts.send(proof.map { current.carrying($0) } ?? current, to: next)
            guard author.isChallenge(response.head) else {
                if let proof { author.recordAcceptance(of: proof, for: request, by: response.head) }
                response = attempts.adding(to: response)
                if response.head.status == .forbidden { response.recordMissingScope() }
                return response
            }
            round += 1
            if let proof { refused.insert(proof.fingerprint) }
            let challenge = ServerChallenge(response.head, refused: proof, round: round)

            // A refresh through the same client may need the connection or the slot that the challenge holds.
            let sendsNothing = hook == nil && !scheme.sendsRequests
            if !sendsNothing { try await response.bufferBody(on: clock) }
            let step: Step
            do {
                step = try await self.step(after: challenge, for: request, scheme, hook, refused)
            } catch {
                response.discard()
                attempts.append(.success(response))
                throw attempts.adding(to: error)
            }
            guard case .send(let next, by: let nextAuthor) = step else {
                if case .stop(let reason) = step { response.record(reason, by: scheme, challenge) }
                request.report(.authenticationDecision, decision: .init(continues: false, "\(response.status.code), returned"))
                return attempts.adding(to: response)
            }
            request.report(.authenticationDecision, decision: .init(continues: true, "\(response.status.code), \(scheme.label)"))
            current = try await attempts.followUp(with: current, after: .success(response), on: clock)
            (proof, author) = (next, nextAuthor)
        }
    }

    /// After a refresh that failed because a server can't be reached, returns the fresh response of an inner cache. Returns `nil` if no
    /// cache has such a response, if the refresh failed for another reason, or if the method is neither GET nor HEAD. Also returns `nil` if
    /// the request has its own credentials, or the account is not known.
    ///
    /// The request has no credentials, and must not leave the stack. Therefore, the request gets a deadline that has already passed. The
    /// stack refuses such a request before the transport, but a cache can still respond.
    private func storedResponse(
        to request: Request, by scheme: any AuthenticationScheme, after error: any Error, _ next: some HTTPSender
    ) async -> Response? {
        guard request.method == .get || request.method == .head, !Task.isCancelled,
            let failure = error as? AuthenticationError, failure.code == .refreshFailed, failure.underlying is TransportError,
            !request.head.headerFields.contains(.authorization), let identity = await scheme.identity(for: request)
        else { return nil }
        var asking = request
        asking.head.headerFields[.cacheControl] = (request.headers[.cacheControl].map { $0 + ", " } ?? "") + "only-if-cached"
        asking.options.credentialIdentity = identity
        asking.deadline = Deadline(after: .zero)
        guard var response = try? await next.send(asking) else { return nil }
        guard response.metadata.cacheStatus?.isHit == true else {
            response.discard()
            return nil
        }
        response.request.head.headerFields[fields: .cacheControl] = request.head.headerFields[fields: .cacheControl]
        response.request.deadline = request.deadline
        request.report(.authenticationDecision, decision: .init(continues: false, "no new token; a stored response is returned"))
        return response
    }

    private enum Step {
        case send(AuthenticationProof, by: any AuthenticationScheme)
        case stop(AuthenticationStop)
    }

    private func step(
        after challenge: ServerChallenge, for request: Request, _ scheme: any AuthenticationScheme, _ hook: ChallengeHandler?,
        _ refused: Set<AuthenticationFingerprint>
    ) async throws -> Step {
        guard challenge.round <= Self.roundLimit else { return .stop(.tooManyRounds) }
        guard request.body.canBeSent else {
            // The body can't be sent again. The refresh still runs, so that the next request has the new token.
            if hook == nil {
                _ = try await attributeErrors(to: request, challenge.response) {
                    try await scheme.proof(for: request, inResponseTo: challenge)
                }
            }
            return .stop(.bodyCannotBeReplayed)
        }
        let disposition = try await hook?(challenge) ?? .useScheme
        var author = scheme
        let proof: AuthenticationProof? = try await attributeErrors(to: request, challenge.response) {
            switch disposition {
            case .useScheme: return try await scheme.proof(for: request, inResponseTo: challenge)
            case .use(let other):
                author = other
                if let proof = try await other.proof(for: request, inResponseTo: challenge) { return proof }
                return try await other.proof(for: request)
            case .returnResponse: return nil
            }
        }
        if case .returnResponse = disposition { return .stop(.declined) }
        guard let proof else { return .stop(challenge.refused == nil ? .noCredentials : .refused) }
        if proof.isOverridden(by: request) { return .stop(.ownCredentials) }
        return refused.contains(proof.fingerprint) ? .stop(.refused) : .send(proof, by: author)
    }

    private func effectiveScheme(for request: Request) -> (any AuthenticationScheme)? {
        switch request.options.authenticate {
        case .inherited: scheme ?? (request.options.onChallenge == nil ? nil : NoScheme())
        case .off: nil
        case .use(let scheme): scheme
        }
    }

    /// Runs `work`. If an ``AuthenticationError`` lacks the request or the head of the challenge, adds the missing parts.
    private func attributeErrors<Result>(
        to request: Request, _ head: HTTPResponse? = nil, _ work: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await work()
        } catch var error as AuthenticationError {
            if error.request == nil { error.request = request }
            if error.response == nil { error.response = head }
            throw error
        }
    }
}

/// A scheme without credentials, for a request whose handler responds to challenges.
private struct NoScheme: AuthenticationScheme {
    var label: String { "by option" }
    func proof(for request: Request) -> AuthenticationProof? { nil }
}

extension AuthenticationProof {
    /// Whether the app has set one of the proof's fields for this request.
    fileprivate func isOverridden(by request: Request) -> Bool { headers.contains { request.head.headerFields.contains($0.name) } }
}

extension Request {
    /// Returns the request with the proof. The header fields and query items of the proof are declared sensitive.
    fileprivate func carrying(_ proof: AuthenticationProof) -> Request {
        var request = self
        for name in Set(proof.headers.map(\.name)) { request.head.headerFields[name] = nil }
        request.head.headerFields.append(contentsOf: proof.headers)
        if !proof.query.isEmpty {
            var query = request.query
            for item in proof.query.items { query.append(item.name, item.value) }
            request.query = query
        }
        request.options.sensitivity.formUnion(Sensitivity(fields: proof.headers.map(\.name), queryNames: proof.query.items.map(\.name)))
        request.options.credentialIdentity = proof.identity
        return request
    }
}

extension Response {
    /// Records why the challenge is returned to the caller.
    fileprivate mutating func record(
        _ stop: AuthenticationStop, by scheme: (any AuthenticationScheme)? = nil, _ challenge: ServerChallenge? = nil
    ) {
        metadata.authenticationStop = stop
        let offered = Set(challenge?.challenges.map(\.scheme) ?? []).sorted().map { SafeText.line($0, limit: 40) }.joined(separator: ", ")
        metadata.statusNote =
            switch stop {
            case .noCredentials:
                "no credentials were sent"
                    + (offered.isEmpty ? "" : ": the server asks for \(offered), and the scheme is \(scheme?.label ?? "none")")
            case .refused: "the server refused the credentials"
            case .ownCredentials: "the server refused the credentials that the request already had"
            case .otherOrigin: "no credentials were sent: they are for another origin"
            case .declined: nil
            case .bodyCannotBeReplayed: "the body can't be sent again with credentials"
            case .tooManyRounds: "the server asked for credentials too often"
            }
    }

    /// Records the scope that a token lacks ([RFC 6750, section 3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1)).
    fileprivate mutating func recordMissingScope() {
        let challenges = AuthenticationChallenge.parse(head.headerFields[values: .wwwAuthenticate])
        let code = Array("insufficient_scope".utf8)
        guard let challenge = challenges.first(where: { $0["error"].map { Array($0.utf8) } == code }) else { return }
        metadata.statusNote = "the token lacks the scope" + (challenge["scope"].map { " '\(SafeText.line($0, limit: 80))'" } ?? "")
    }
}

extension HTTPSender {
    /// Gives requests the credentials of a scheme, and responds to challenges. See ``AuthenticateMiddleware``.
    ///
    /// ```swift
    /// stack.authenticate(.basic(user: "joe", password: password))
    /// ```
    ///
    /// - Parameters:
    ///   - scheme: the scheme that authenticates all requests.
    ///   - origins: the only origins that get credentials. `nil`, the default, allows the origin that each request itself
    ///     names.
    ///   - clock: the clock that measures the wait for the body of a challenge, at most 100 ms.
    public func authenticate(
        _ scheme: some AuthenticationScheme, origins: Set<Origin>? = nil, clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack { wrapped(by: AuthenticateMiddleware(scheme, origins: origins, clock: clock)) }

    /// Gives credentials to requests that have `options.authenticate`. See ``AuthenticateMiddleware``.
    public func authenticate() -> HTTPStack { wrapped(by: AuthenticateMiddleware(nil)) }
}
#endif
