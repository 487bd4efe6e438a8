#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats

/// The changes that a proxy requires of a request.
extension Exchange {
    /// Returns the value of `Proxy-Authorization`; `nil` if neither the credentials nor the authenticator give a value.
    func authorization(for proxy: ProxyServer) throws(ProxyAuthorizationError) -> String? {
        if proxy.settings.credentials == nil, proxy.settings.authenticator == nil { return nil }
        return try withDialog { (dialog) throws(ProxyAuthorizationError) in
            try dialog.authorization(for: proxy, request.method, absoluteTarget)
        }
    }

    /// Responds to a proxy that asks for credentials. Returns whether the request must be sent again.
    func respond(toChallenge head: HTTPResponse) throws(ProxyAuthorizationError) -> Bool {
        guard let proxy = route.proxy, proxy.settings.authenticator != nil, !request.headers.contains(.proxyAuthorization) else {
            return false
        }
        let canRespond = try withDialog { (dialog) throws(ProxyAuthorizationError) in
            try dialog.respond(to: head.headerFields, of: proxy, request.method, absoluteTarget)
        }
        return canRespond && canRepeat
    }

    /// The target as ``RequestEncoder`` writes it in absolute form.
    private var absoluteTarget: String {
        let target = request.writtenTarget
        return "\(request.head.scheme ?? "")://\(request.head.authority ?? "")\(target.isExactly("*") ? "" : target)"
    }

    /// Returns the failure of a request that the proxy has refused because of missing or refused credentials (407).
    func proxyFailure(_ head: HTTPResponse) -> TransportError {
        let settings = route.proxy?.settings
        var refusal = withDialog { $0.refusal(by: settings) }
        // Without an authenticator, the dialog does not see the challenge.
        if request.headers.contains(.proxyAuthorization) || settings?.authenticator == nil && settings?.credentials != nil {
            refusal = (.refused, "it does not accept the credentials")
        }
        var failure = failure(
            .proxy, phase: .response, message: "\(shownProxy) refused the request: \(refusal.reason): \(head.status.shown)",
            response: head, delivery: .notSent)
        (failure.proxy, failure.proxyCredentials) = (route.proxy?.shown, refusal.problem)
        return failure
    }

    /// Returns the failure of a request whose `Proxy-Authorization` can't be sent.
    ///
    /// - Parameter head: the challenge; `nil` if the proxy has sent no challenge.
    func proxyFailure(_ error: ProxyAuthorizationError, to head: HTTPResponse?) -> TransportError {
        var failure = failure(
            .proxy, phase: head == nil ? .request : .response, message: "\(shownProxy): \(error)", underlying: error, response: head,
            delivery: .notSent)
        failure.proxy = route.proxy?.shown
        return failure
    }

    /// Returns the failure of a forwarded request whose proxy does not speak HTTP/1.1; `nil` for every other request or error.
    func mismatch(_ error: any Error, delivery: Delivery) -> TransportError? {
        guard route.isForwarded, let reason = (error as? ResponseParseError)?.ofProxy else { return nil }
        var failure = failure(
            .proxy, phase: .response, message: "\(shownProxy): \(reason)", underlying: error,
            delivery: delivery)
        failure.proxy = route.proxy?.shown
        return failure
    }

    /// The proxy, in words: `the HTTP proxy proxy.example:3128`.
    private var shownProxy: String { "the \(route.proxy.map { "\($0.shown)" } ?? "proxy")" }
}
#endif
