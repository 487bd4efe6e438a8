/// The demands for `https` that the layer `hsts` knows.
package protocol HTTPSDemands: Sendable {
    /// Returns whether requests to an origin must use `https`.
    func demandsHTTPS(_ origin: Origin) -> Bool
}

/// The change of a request to `https`, which the layers `hsts` and `redirect` share.
package struct HTTPSChange: Sendable {
    /// The hosts that demand `https`, for a layer that follows redirects. If the host of a redirect's target is one of these hosts, the
    /// next request uses `https`. Therefore a redirect to one of these hosts is never a downgrade from `https` to `http`. `nil` before the
    /// first redirect.
    package var hosts: (any HTTPSDemands)?
    /// The origin before the change; `nil` if the request was not changed.
    package var origin: Origin?
    /// Whether the change applies to the present target of the request. The value is false after the request has moved to another target.
    package var isOfThisTarget = false

    package init(hosts: (any HTTPSDemands)? = nil) { self.hosts = hosts }
}

/// A redirect to another origin keeps this value, because ``HTTPSChange/hosts`` applies to every origin. ``HTTPSChange/origin`` applies
/// only to one origin: ``Request/originBeforeHTTPS`` compares that origin with the origin of the request.
private enum HTTPSChangeKey: CrossOriginOptionKey {
    static var defaultValue: HTTPSChange? { nil }
    /// The identity ignores the change, because the URLs themselves are compared.
    static func identity(of value: HTTPSChange?) -> OptionIdentity { .ignored }
}

extension RequestOptions {
    /// The change of the request to `https`, and the hosts that demand `https`. `nil` if the request was not changed, and the layer `hsts`
    /// has seen no redirect.
    package var httpsChange: HTTPSChange? {
        get { self[HTTPSChangeKey.self] }
        set { self[HTTPSChangeKey.self] = newValue }
    }
}

extension Request {
    /// Changes the scheme from `http` to `https`, because the host demands `https`. Port 80 becomes port 443, and any other port is kept
    /// ([RFC 6797, section 8.3](https://www.rfc-editor.org/rfc/rfc6797#section-8.3)). A request whose scheme is not `http` stays unchanged.
    ///
    /// The host stays the same, and the new origin is safer than the old origin. Therefore all fields and options stay, also the options
    /// that are bound to the origin. ``move(to:from:)`` would remove these fields and options.
    ///
    /// - Throws: ``InvalidURLError`` if the whole URL becomes longer than 65,535 octets.
    public mutating func changeToHTTPS() throws(InvalidURLError) {
        guard let origin, origin.scheme.isExactly("http") else { return }
        let secured = origin.withHTTPS
        if let target {
            try setTarget(secured, checkedPath: target.path)
        } else {
            // The target of this head is not known. The transport's boundary parses the head later.
            (head.scheme, head.authority) = (secured.scheme, secured.authority)
        }
        var change = options.httpsChange ?? HTTPSChange()
        (change.origin, change.isOfThisTarget) = (origin, true)
        options.httpsChange = change
    }

    /// Changes the scheme to `https` if the layer `hsts` knows that the host demands `https`.
    mutating func changeToHTTPSIfDemanded() throws(InvalidURLError) {
        guard let change = options.httpsChange else { return }
        options.httpsChange?.isOfThisTarget = false
        if let origin, change.hosts?.demandsHTTPS(origin) == true { try changeToHTTPS() }
    }

    /// Changes this request to `https` if an inner layer has changed the request on its way to the server. A layer that follows redirects
    /// must call this function. Without this call, a redirect to the same host would look like a redirect to another origin, and the
    /// credentials would be removed.
    ///
    /// - Parameter sent: the request of the response: ``Response/request``.
    public mutating func adoptHTTPS(of sent: Request) {
        guard sent.id == id, let change = sent.options.httpsChange else { return }
        options.httpsChange = change
        // The inner layer has made the same change. Therefore the URL is not too long, and `changeToHTTPS()` throws no error.
        if let before = change.origin, before == origin { try? changeToHTTPS() }
    }

    /// The origin of the request before its change from `http` to `https`. `nil` if the request was not changed, or has since moved to
    /// another origin.
    public var originBeforeHTTPS: Origin? {
        guard let before = options.httpsChange?.origin, before.withHTTPS == origin else { return nil }
        return before
    }

    /// The record of the change of this request's URL from `http` to `https`, with the status 307; `nil` if the URL was not changed.
    public var httpsRecord: RedirectRecord? {
        guard let change = options.httpsChange, change.isOfThisTarget, let before = originBeforeHTTPS else { return nil }
        var unchanged = self
        (unchanged.head.scheme, unchanged.head.authority) = (before.scheme, before.authority)
        return RedirectRecord(status: .temporaryRedirect, from: unchanged.redactedURL, to: redactedURL, reason: .hsts)
    }
}
