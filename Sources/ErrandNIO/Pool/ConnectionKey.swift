#if NIO
internal import ErrandCore

/// Which connections an exchange may use: those of its origin; and, for an exchange that asks for another protocol, only those of HTTP/1.1,
/// where the origin's connections may have another version.
struct ConnectionKey: Sendable, Hashable {
    let origin: Origin
    /// Whether the connection must have HTTP/1.1, also where HTTP/2 is possible.
    let needsHTTP1: Bool

    init(_ origin: Origin, needsHTTP1: Bool = false) { (self.origin, self.needsHTTP1) = (origin, needsHTTP1) }
}

extension Exchange {
    /// A change of the protocol is a feature of HTTP/1.1 ([RFC 9113, section 8.6](https://www.rfc-editor.org/rfc/rfc9113#section-8.6)).
    var key: ConnectionKey { ConnectionKey(origin, needsHTTP1: upgrade != nil && owner.pool.settings.mayUseHTTP2(for: origin)) }
}

extension NIOTransport.Configuration {
    /// Whether connections to an origin may have HTTP/2.
    func mayUseHTTP2(for origin: Origin) -> Bool { origin.scheme == "https" ? allowsHTTP2 : usesHTTP2WithoutTLS }

    /// Whether a connection will have HTTP/2: without TLS, nobody chooses.
    func isKnownToUseHTTP2(for key: ConnectionKey) -> Bool { key.origin.scheme != "https" && usesHTTP2WithoutTLS && !key.needsHTTP1 }
}
#endif
