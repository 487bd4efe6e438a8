#if SWIFT_NIO
internal import NIOSSL
internal import Synchronization

/// The contexts of a transport, one for each kind of handshake. A context is made when it is first needed.
final class TLSContexts: Sendable {
    /// The properties that the handshakes of a context share.
    struct Kind: Hashable {
        /// Whether the other side is a proxy. A proxy gets no client certificate, and only requests of HTTP/1.1.
        var isOfProxy = false
        /// Whether the chain of certificates is validated. The host is compared by ``HandshakeWatch``.
        var validates = true
        /// Whether HTTP/2 is offered, before HTTP/1.1 ([RFC 9113, section 3.2](https://www.rfc-editor.org/rfc/rfc9113#section-3.2)).
        var offersHTTP2 = false
    }

    private let configuration: TLSConfiguration
    private let known = Mutex<[Kind: TLSContext]>([:])

    init(_ configuration: TLSConfiguration) { self.configuration = configuration }

    subscript(kind: Kind) -> TLSContext {
        known.withLock { known in
            if let context = known[kind] { return context }
            let context = TLSContext(configuration.changed(for: kind))
            known[kind] = context
            return context
        }
    }
}

extension TLSConfiguration {
    /// Returns a copy for one kind of handshake.
    func changed(for kind: TLSContexts.Kind) -> TLSConfiguration {
        var tls = self
        tls.applicationProtocols = kind.offersHTTP2 ? ["h2", "http/1.1"] : ["http/1.1"]
        tls.certificateVerification = kind.validates ? .noHostnameVerification : .none
        if kind.isOfProxy { (tls.certificateChain, tls.privateKey) = ([], nil) }
        return tls
    }
}
#endif
