#if NIO
internal import ErrandCore

/// What a proxy changes about a request.
extension Exchange {
    /// Returns the head as it is written; `nil` if that is the request's own.
    ///
    /// The request's own `Proxy-Authorization` goes to a proxy that reads the request, and to nobody else: ``RequestEncoder`` leaves it out. If
    /// the request has none, the proxy gets what ``ProxyDialog`` says.
    func changedHead() -> HTTPRequest? {
        if let upgrade { return upgrade.added(to: request.head) }
        guard let proxy = route.proxy, route.isForwarded, !request.headers.contains(.proxyAuthorization),
            let value = authorization(for: proxy)
        else { return nil }
        var head = request.head
        head.headerFields[.proxyAuthorization] = value
        return head
    }

    private func authorization(for proxy: ProxyServer) -> String? {
        if proxy.settings.credentials == nil, proxy.settings.authenticator == nil { return nil }
        return withDialog { $0.authorization(for: proxy, request.method, absoluteTarget) }
    }

    /// The proxy asks for credentials. Returns whether the request is to be sent again.
    func answer(_ head: HTTPResponse) -> Bool {
        guard let proxy = route.proxy, proxy.settings.authenticator != nil, !request.headers.contains(.proxyAuthorization) else {
            return false
        }
        return withDialog { $0.answer(head.headerFields, of: proxy, request.method, absoluteTarget) } && canRepeat
    }

    /// The target as ``RequestEncoder`` writes it in absolute form.
    private var absoluteTarget: String {
        let path = request.head.path ?? ""
        let slash = path.isEmpty || path.hasPrefix("?") ? "/" : ""
        return "\(request.head.scheme ?? "")://\(request.head.authority ?? "")\(path == "*" ? "" : slash + path)"
    }

    func proxyFailure(_ head: HTTPResponse) -> TransportError {
        let proxy = route.proxy.map { "\($0.settings)" } ?? ""
        return failure(
            .proxy, phase: .response, message: "the proxy \(proxy) refused the request: \(head.status.shown)", response: head,
            delivery: .notSent)
    }
}
#endif
