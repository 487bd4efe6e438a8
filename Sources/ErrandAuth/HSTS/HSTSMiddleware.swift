#if Auth
public import ErrandCore

/// Sends requests by `https` to the hosts that demand `https`, and records these hosts
/// ([RFC 6797](https://www.rfc-editor.org/rfc/rfc6797)).
///
/// ```swift
/// let hosts = HSTSList(store: FileHSTSStore(atPath: path))
/// let stack = HTTPStack.default.hsts(hosts)
/// let response = try await stack.send(Request(.get, url: "http://a.example/"))
/// response.metadata.redirects.first?.to      // https://a.example/, if a.example is known
/// ```
///
/// If the host of an `http` URL is known, the scheme becomes `https` before anything is sent, and before a proxy is chosen. Port 80
/// becomes port 443, and any other port is kept ([RFC 6797, section 8.3](https://www.rfc-editor.org/rfc/rfc6797#section-8.3)). If the
/// server does not support `https` at that port, the request fails: it is never sent by `http`.
///
/// The host stays the same. Therefore the request keeps its credentials, cookies and options. `metadata.redirects` begins with a record of
/// the change, with the status 307 and the reason `hsts`. The event ``/ErrandCore/ExchangeEvent/Kind/hstsDecision`` reports the change.
///
/// **Place:** inside `server` and `redirect`, so that the layer checks the URL of each hop. The place is also outside
/// `authenticate`, `cookies` and `cache`, which must see the URL that is sent.
///
/// **Per request:** with `request.options.hsts = .off`, the URL stays unchanged, and no host is recorded. With `.use(hosts)`, another list
/// applies.
public struct HSTSMiddleware: HTTPMiddleware {
    private let hosts: HSTSList

    /// Creates the middleware.
    ///
    /// - Parameter hosts: the hosts that demand `https`. Several stacks may share the list.
    public init(_ hosts: HSTSList) { self.hosts = hosts }

    public var place: MiddlewarePlace { .hsts }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.server, because: "hsts would not know the host"),
            .inside(.redirect, because: "the next hop would be sent by http"),
            .outside(.authenticate, because: "credentials would be chosen for the URL with http"),
            .outside(.cookies, because: "cookies would be chosen for the URL with http"),
            .outside(.cache, because: "responses would be stored under the URL with http"),
        ]
    }

    public var label: String { "hsts" }

    /// Sends the request, by `https` if its host demands `https`.
    ///
    /// - Throws: ``/ErrandCore/InvalidURLError`` if the URL becomes longer than 65,535 octets; ``/ErrandCore/TransportError`` if the
    ///   deadline passes while the hosts are loaded; the errors of `next`.
    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let hosts = request.options.hsts.resolved(hosts) else { return try await next.send(request) }
        let secured = try await secured(request, by: hosts)
        var response = try await next.send(secured ?? request)
        hosts.note(response)
        if let failure = hosts.takeFailure() { request.reportFailure(of: failure) }
        if let record = secured?.httpsRecord { response.metadata.redirects.insert(record, at: 0) }
        if response.head.isRedirect {
            // A layer that follows the redirect must know whether the next URL will be changed.
            var change = response.request.options.httpsChange ?? HTTPSChange()
            change.hosts = hosts
            response.request.options.httpsChange = change
        }
        return response
    }

    /// Returns the request with `https`; `nil` if the request stays unchanged.
    private func secured(_ request: Request, by hosts: HSTSList) async throws -> Request? {
        guard let origin = request.origin, origin.scheme.isExactly("http"), !origin.isAddress else { return nil }
        if hosts.mustLoad { try await load(hosts, for: request) }
        guard hosts.demandsHTTPS(origin) else { return nil }
        var secured = request
        try secured.changeToHTTPS()
        request.report(.hstsDecision, decision: .init(continues: true, "to \(secured.redactedURL)"))
        return secured
    }

    /// Reads the store. A failure of the store is reported, and does not fail the call.
    private func load(_ hosts: HSTSList, for request: Request) async throws {
        let loading = try await request.withinDeadline(
            .request, delivery: .notSent, "while the hosts of HSTS were loaded", discard: { _ in },
            operation: { await Result(of: { try await hosts.load() }) })
        if case .failure = loading { try Task.checkCancellation() }
        if let failure = hosts.takeFailure() { request.reportFailure(of: failure) }
    }
}

extension Request {
    fileprivate func reportFailure(of store: any Error) {
        report(.hstsDecision, decision: .init(continues: false, "the store of HSTS failed: \(safeDescription(of: store))"))
    }
}

private enum HSTSOptionKey: OptionKey {
    static var defaultValue: OptionOverride<HSTSList> { .inherited }
    /// Requests with different lists may share an exchange: `coalesce` is inside this middleware, and compares the changed URLs.
    static func identity(of value: OptionOverride<HSTSList>) -> OptionIdentity { .ofSwitch(value) }
    static var requiredMiddleware: MiddlewarePlace { .hsts }
    static var crossesOrigins: Bool { true }
}

extension RequestOptions {
    /// Replaces the stack's list of hosts that demand `https` for this request. `.off`: the URL stays unchanged, and no host is recorded.
    /// Default: `.inherited`, the stack's list.
    public var hsts: OptionOverride<HSTSList> {
        get { self[HSTSOptionKey.self] }
        set { self[HSTSOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Sends requests by `https` to the hosts that demand `https`. See ``HSTSMiddleware``.
    ///
    /// ```swift
    /// stack.hsts(HSTSList(preloaded: [try HSTSHost("a.example")]))
    /// ```
    ///
    /// - Parameter hosts: the hosts that demand `https`. Several stacks may share the list.
    public func hsts(_ hosts: HSTSList) -> HTTPStack { wrapped(by: HSTSMiddleware(hosts)) }
}
#endif
