#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats

/// The head of an HTTP/1.1 request.
extension Exchange {
    /// Returns the changed head to write; `nil` if the request's own head is written without changes.
    ///
    /// The request's own `Proxy-Authorization` is sent only to a proxy that reads the request. For other servers, ``RequestEncoder`` omits
    /// the field. If the request has no `Proxy-Authorization`, the proxy gets the value of ``ProxyDialog``.
    func changedHead() throws(ProxyAuthorizationError) -> HTTPRequest? {
        if let upgrade { return upgrade.added(to: request.head) }
        guard let proxy = route.proxy, route.isForwarded, !request.headers.contains(.proxyAuthorization),
            let value = try authorization(for: proxy)
        else { return hasLostExpect ? sentRequest.head : nil }
        var head = sentRequest.head
        head.headerFields[.proxyAuthorization] = value
        return head
    }
}
#endif
