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

    /// The failure of a request that the proxy has refused for want of credentials (407).
    func proxyFailure(_ head: HTTPResponse) -> TransportError {
        let wasAuthorized =
            request.headers.contains(.proxyAuthorization) || route.proxy?.settings.credentials != nil || withDialog { $0.refusals > 0 }
        let problem: ProxyCredentialsProblem = wasAuthorized ? .refused : .missing
        var failure = failure(
            .proxy, phase: .response, message: "\(shownProxy) refused the request: \(problem.inWords): \(head.status.shown)",
            response: head, delivery: .notSent)
        (failure.proxy, failure.proxyCredentials) = (route.proxy?.shown, problem)
        return failure
    }

    /// The failure where a proxy that reads the requests does not speak HTTP; `nil` if it does.
    func mismatch(_ error: any Error, delivery: Delivery) -> TransportError? {
        guard route.isForwarded, let reason = (error as? ResponseParseError)?.ofProxy else { return nil }
        var failure = failure(
            .proxy, phase: .response, message: "\(shownProxy) did not pass the request on: \(reason)", underlying: error,
            delivery: delivery)
        failure.proxy = route.proxy?.shown
        return failure
    }

    private var shownProxy: String { "the \(route.proxy.map { "\($0.shown)" } ?? "proxy")" }
}
#endif
