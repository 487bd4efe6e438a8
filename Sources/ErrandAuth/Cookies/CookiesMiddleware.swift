#if Auth
public import ErrandCore
internal import ErrandFormats

/// Sends the cookies of a ``CookieJar`` with each request, and stores the cookies of each response.
///
/// ```swift
/// let jar = CookieJar()
/// let stack = HTTPStack.default.cookies(jar).retry().server("https://shop.example")
///
/// _ = try await stack.send(Request(.post, "/login", body: .form(["user": "joe", "password": password])))
/// let orders = try await stack.send(Request(.get, "/orders"))
/// ```
///
/// The second request carries the cookies that the first response has set.
///
/// **Requests:** the cookies are in one `Cookie` field of at most 8 KiB (``CookieJar/Limits``). If a request already has a `Cookie`
/// field, that field is sent unchanged, and the jar adds nothing.
///
/// **Responses:** the cookies of each `Set-Cookie` field are stored, with any status. Redirects and challenges are included. The following
/// responses set no cookies:
/// - an informational response (1xx)
/// - a stored response of a cache
/// - a response whose exchange is shared (`coalesce`), if the jar has stored the cookies of that exchange
///
/// Over `https`, `Clear-Site-Data: "cookies"` removes all cookies of the registrable domain ([Clear Site
/// Data](https://www.w3.org/TR/clear-site-data/)). The `Set-Cookie` fields of a response with this `Clear-Site-Data` are ignored.
///
/// If cookies are refused or have no room in the field, the event ``/ErrandCore/ExchangeEvent/Kind/cookieDecision`` says why.
///
/// **Place:** inside `redirect`, `retry` and `authenticate`, so that the jar chooses the cookies of each hop and each attempt. A redirect
/// does not forward cookies. The place is outside `coalesce`, which compares the cookies, and outside `cache`, which compares the
/// identities.
///
/// **Caches:** a request with cookies of a jar gets an identity, ``/ErrandCore/RequestOptions/credentialIdentity``, unless the request has
/// an identity or `Authorization`. A private cache keeps the responses of each identity apart:
///
/// | Request | Identity | Store in memory | Store on the disk |
/// |---|---|---|---|
/// | no cookie | none | for all | for all |
/// | cookies of a jar with a durable ``CookieJar/account`` | the account | for the account | for the account |
/// | cookies of another jar | the session of the jar, which is volatile | for the session | nothing |
/// | an identity of `authenticate`, with or without cookies | unchanged | for the account | for an account with a name |
/// | a `Cookie` field of the app, without an identity | none | nothing | nothing |
///
/// A new session begins when a cookie of the jar is removed: by the app, such as with ``CookieJar/removeAll()``, or by a server.
///
/// **Per request:** with `request.options.cookies = .off`, the jar is not used. With `.use(other)`, another jar is used.
/// `request.options.siteContext` says that another site has made the request: ``/ErrandCore/SiteContext``.
public struct CookiesMiddleware: HTTPMiddleware {
    private let jar: CookieJar

    /// Creates the middleware.
    ///
    /// - Parameter jar: the jar for all requests without a jar of their own.
    public init(_ jar: CookieJar) { self.jar = jar }

    public var place: MiddlewarePlace { .cookies }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.server, because: "the jar would not know the URL"),
            .inside(.validateStatus, because: "the cookies of a refused response would be lost"),
            .inside(.authenticate, because: "a cookie that a challenge sets would not be sent with the credentials"),
            .outside(.cache, because: "a response would be served to another session"),
            .once(because: "the inner layer would not add cookies to a request that already has cookies"),
        ]
    }

    public var label: String { "cookies" }

    /// Sends the request with its cookies, and stores the cookies of the response.
    ///
    /// - Throws: ``CookieJarError`` if the store of the jar can't be read; ``/ErrandCore/TransportError`` if the deadline passes while
    ///   the store is read; the errors of `next`.
    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let jar = request.options.cookies.resolved(jar) else { return try await next.send(request) }
        // Usually, the cookies are already loaded. In this case, no asynchronous call is made, because an asynchronous call costs more than
        // the search for cookies.
        let known = jar.selection(for: request)
        let selection = if let known { known } else { try await self.loadedSelection(of: jar, for: request) }
        if selection.leftOut > 0 { request.report(.cookieDecision, decision: .init(continues: true, selection.words)) }
        // If the request carries no cookie, the request is not copied.
        let response = try await selection.octets.isEmpty ? next.send(request) : next.send(carrying(selection, request))
        if response.head.changesCookies { receive(response, of: request, jar, since: selection.use) }
        return response
    }

    /// Returns the cookies of a request, after loading the store of the jar.
    private func loadedSelection(of jar: CookieJar, for request: Request) async throws -> CookieJar.Selection {
        guard !request.hasCookie, CookieRequest(request) != nil else { return jar.emptySelection }
        do {
            try await request.withinDeadline(.queue, delivery: .notSent, "while waiting for the cookies", discard: { _ in }) {
                try await jar.load()
            }
        } catch var error as CookieJarError {
            error.request = request
            throw error
        }
        return jar.selection(for: request) ?? jar.emptySelection
    }

    /// Returns the request with the field of the cookies.
    private func carrying(_ selection: CookieJar.Selection, _ request: Request) -> Request {
        var carrying = request
        // The field is appended as octets. If the value were set by the name of the field, the value would be split into several fields.
        carrying.head.headerFields.append(HTTPField(name: .cookie, value: selection.octets))
        // The credentials of `Authorization` may belong to another account than the cookies.
        if request.options.credentialIdentity == nil, !request.head.headerFields.contains(.authorization) {
            carrying.options.cookieIdentity = selection.identity
        }
        return carrying
    }

    private func receive(_ response: Response, of request: Request, _ jar: CookieJar, since use: UInt64) {
        guard response.head.status.code >= 200, response.metadata.cacheStatus?.isHit != true, let target = CookieRequest(request) else {
            return
        }
        let fields = response.head.headerFields
        if target.origin.scheme.isExactly("https"), ClearSiteData.includesCookies(fields[values: .clearSiteData]) {
            jar.removeAll(ofSite: CookieRequest.siteName(of: target.origin.host))
            request.report(.cookieDecision, decision: .init(continues: true, "the server has removed its cookies"))
            return
        }
        let shared = response.metadata.coalescedInto
        let (count, refused) = jar.receive(fields, of: target, since: use, sent: shared ?? request.id, isShared: shared != nil)
        guard let first = refused.first else { return }
        request.report(
            .cookieDecision,
            decision: .init(
                continues: true, "refused \(refused.count) of \(count.counted("cookie")) of the response; \(first.description)"))
    }
}

extension CookieJar.Selection {
    fileprivate var words: String { "sent \(sent) of \((sent + leftOut).counted("cookie")), because the field has no room for the others" }
}

extension Request {
    /// Whether the app has set a `Cookie` field.
    var hasCookie: Bool { head.headerFields.contains(.cookie) }
}

extension HTTPResponse {
    /// Whether the response has a field that sets or removes cookies.
    fileprivate var changesCookies: Bool {
        // The fields are accessed by index, because an iteration would copy each field.
        headerFields.indices.contains { index in
            switch headerFields[index].name.canonicalName.utf8.count {
            case 10: headerFields[index].name == .setCookie
            case 15: headerFields[index].name == .clearSiteData
            default: false
            }
        }
    }
}

private enum CookiesOptionKey: OptionKey {
    static var defaultValue: OptionOverride<CookieJar> { .inherited }
    static var requiredMiddleware: MiddlewarePlace { .cookies }
    /// A jar chooses the cookies for each origin.
    static var crossesOrigins: Bool { true }

    /// Requests that share an exchange have the same jar, because the jar stores the cookies of the response.
    static func identity(of value: OptionOverride<CookieJar>) -> OptionIdentity {
        if case .use(let jar) = value { return .value(ObjectIdentifier(jar)) }
        return .ofSwitch(value)
    }
}

extension RequestOptions {
    /// The cookie jar of this request, in place of the jar of the stack. `.off`: the request carries no cookies of a jar, and the cookies
    /// of the response are not stored. Default: `.inherited`, the jar of the stack.
    public var cookies: OptionOverride<CookieJar> {
        get { self[CookiesOptionKey.self] }
        set { self[CookiesOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Sends the cookies of a jar with each request, and stores the cookies of each response. See ``CookiesMiddleware``.
    ///
    /// ```swift
    /// let stack = HTTPStack.default.cookies(CookieJar())
    /// ```
    ///
    /// - Parameter jar: the jar. Several stacks may share a jar.
    public func cookies(_ jar: CookieJar) -> HTTPStack { wrapped(by: CookiesMiddleware(jar)) }
}
#endif
