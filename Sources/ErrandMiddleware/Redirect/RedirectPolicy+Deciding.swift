public import ErrandCore

extension RedirectPolicy {
    /// A redirect that the policy follows, which is the input of your own decision.
    public struct Hop: Sendable {
        /// The head of the redirect, without its body.
        public let response: HTTPResponse
        /// The URL that was redirected.
        public let from: HTTPURL
        /// The URL to which the redirect leads.
        public let to: HTTPURL
        /// The request that the policy sends next. If the origin changes, the credentials are already removed.
        public let next: Request
        /// The earlier redirects of the call, in order, without secrets.
        public let history: [RedirectRecord]

        /// The status of the redirect: 301, 302, 303, 307 or 308.
        public var status: HTTPResponse.Status { response.status }
        /// Whether the redirect leads to another origin (scheme, host or port).
        public var crossesOrigin: Bool { from.origin != to.origin }

        /// Creates a redirect. Use this initializer in tests of your own decision.
        ///
        /// - Parameters:
        ///   - response: the head of the redirect.
        ///   - from: the URL that was redirected.
        ///   - to: the URL to which the redirect leads.
        ///   - next: the request that the policy sends next.
        ///   - history: the earlier redirects of the call. Default: none.
        public init(response: HTTPResponse, from: HTTPURL, to: HTTPURL, next: Request, history: [RedirectRecord] = []) {
            (self.response, self.from, self.to, self.next, self.history) = (response, from, to, next, history)
        }
    }

    /// The result of your own decision.
    public struct Choice: Sendable {
        enum Kind: Sendable {
            case standard
            case follow(Request, keepingCredentialsBecause: StaticString?)
            case stop
            case fail(any Error)
        }

        let kind: Kind

        /// Send the request that the policy has prepared: ``Hop/next``.
        public static let standard = Choice(kind: .standard)
        /// Return the redirect as the response of the call. By default, an outer `validateStatus` refuses the status of the redirect.
        public static let stop = Choice(kind: .stop)

        /// Send this request in place of the policy's request. This request should be a changed copy of ``Hop/next``. The request belongs
        /// to the same call: see ``/ErrandCore/Request/continuingCall(of:)``.
        ///
        /// If this or an earlier redirect has led to another origin, the library removes values that must not reach another origin. These
        /// values are sensitive fields and options that are bound to their origin, as in ``/ErrandCore/Request/removeOriginBoundValues()``.
        /// Sensitive query items that were not in the `Location` are removed too. Each change by your closure also restarts the search for
        /// loops.
        public static func follow(_ request: Request) -> Choice {
            Choice(kind: .follow(request, keepingCredentialsBecause: nil))
        }

        /// Send this request in place of the policy's request, **with its credentials, also to another origin**.
        ///
        /// The server that sent the redirect chooses who gets the credentials. Therefore, compare the origin of the target with the origins
        /// that you trust. If the target does not use https, the call fails with ``RedirectError/Code/credentialsNeedHTTPS``. If the origin
        /// differs, the event and ``/ErrandCore/RedirectRecord/keptCredentials`` name the origin and the reason. `authenticate` and `sign`
        /// add credentials at that origin only if their `origins:` list it. The next redirect to another origin removes the credentials.
        ///
        /// ```swift
        /// let stack = transport.redirect(.standard.deciding { hop in
        ///     guard hop.to.origin == origin else { return .standard }
        ///     var next = hop.next
        ///     next.headers[.authorization] = "Bearer \(key)"
        ///     return .followKeepingCredentials(next, because: "the files are on a server of the same company")
        /// })
        /// ```
        ///
        /// - Parameters:
        ///   - request: the request to send, with all its credentials.
        ///   - reason: the reason, for reviews and logs.
        public static func followKeepingCredentials(_ request: Request, because reason: StaticString) -> Choice {
            Choice(kind: .follow(request, keepingCredentialsBecause: reason))
        }

        /// Throw this error. If the error is a ``/ErrandCore/RequestFailure``, the earlier attempts of the call are added to the error.
        public static func fail(_ error: any Error) -> Choice { Choice(kind: .fail(error)) }
    }

    /// Returns this policy with a closure that decides about each redirect that the policy follows.
    ///
    /// ```swift
    /// let stack = transport.redirect(.standard.deciding { hop in
    ///     if hop.to.path == "/login" { return .fail(Failing()) }
    ///     if hop.history.count == 1 { return .stop }
    ///     var next = hop.next
    ///     next.headers[.custom("X-Hop")] = "\(hop.history.count + 1)"
    ///     return .follow(next)
    /// })
    /// ```
    ///
    /// The limits of the policy apply first. If the policy refuses or returns a redirect, the closure is not called. A request that the
    /// closure chooses must obey ``allowsDowngrade`` too.
    ///
    /// The closure must be quick, because the body and the connection of the redirect are held while the closure runs. Two requests with
    /// policies that this function returned can share an exchange (`coalesce`) only if both policies are copies of one policy.
    ///
    /// - Parameter decide: the closure that decides. The closure replaces an earlier closure of this policy.
    public func deciding(_ decide: @escaping @Sendable (Hop) -> Choice) -> RedirectPolicy {
        var policy = self
        policy.decider = Decider(decide)
        return policy
    }

    /// The app's own decision. Closures can't be compared, so the identity of the object is the identity of the decision.
    final class Decider: Sendable, Hashable {
        let decide: @Sendable (Hop) -> Choice

        init(_ decide: @escaping @Sendable (Hop) -> Choice) { self.decide = decide }

        static func == (first: Decider, second: Decider) -> Bool { first === second }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }
}

extension RedirectPolicy.Hop: CustomStringConvertible, CustomReflectable {
    /// The status and both URLs, without secrets: `302 from https://a.example/x to https://b.example/y`.
    public var description: String {
        let sensitivity = next.options.sensitivity
        return "\(status.code) from \(sensitivity.redactedURL(from.description)) to \(sensitivity.redactedURL(to.description))"
    }

    /// The description.
    public var customMirror: Mirror { Mirror(self, children: ["hop": description]) }
}

extension RedirectPolicy.Choice: CustomStringConvertible, CustomReflectable {
    /// The decision, without secrets: `standard`, `follow GET https://b.example/y`, `stop` or `fail`.
    public var description: String {
        switch kind {
        case .standard: "standard"
        case .follow(let request, nil): "follow \(request)"
        case .follow(let request, let reason?): "follow \(request), keeping credentials: \(reason)"
        case .stop: "stop"
        case .fail: "fail"
        }
    }

    /// The description.
    public var customMirror: Mirror { Mirror(self, children: ["choice": description]) }
}
