#if NIO
internal import ErrandCore

/// What a proxy changes about a request.
extension Exchange {
    /// Returns the head as it is written; `nil` if that is the request's own.
    ///
    /// The request's own `Proxy-Authorization` goes to a proxy that reads the request, and never through a tunnel. If the request has none,
    /// the proxy gets what ``ProxyDialog`` says.
    func changedHead() -> HTTPRequest? {
        if upgrade == nil, route.proxy == nil { return nil }
        var head = upgrade?.added(to: request.head) ?? request.head
        guard let proxy = route.proxy else { return head }
        if route.isTunnel {
            head.headerFields[.proxyAuthorization] = nil
        } else if !head.headerFields.contains(.proxyAuthorization), let value = authorization(for: proxy) {
            head.headerFields[.proxyAuthorization] = value
        }
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
