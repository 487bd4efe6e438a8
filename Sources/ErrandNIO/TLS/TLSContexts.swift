#if NIO
internal import NIOSSL
internal import Synchronization

/// The contexts of a transport, one for each kind of handshake: each is made when the first needs it.
final class TLSContexts: Sendable {
    /// What is checked of a certificate.
    enum Checks {
        case all
        /// Not the host, which ``HandshakeWatch`` compares.
        case chain
        case nothing
    }

    /// What the handshakes of a context have in common.
    struct Kind: Hashable {
        /// The other side is a proxy. It gets no certificate of the client, and requests by HTTP/1.1 alone.
        var isOfProxy = false
        var checks = Checks.all
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
    fileprivate func changed(for kind: TLSContexts.Kind) -> TLSConfiguration {
        var tls = self
        tls.applicationProtocols = kind.offersHTTP2 ? ["h2", "http/1.1"] : ["http/1.1"]
        switch kind.checks {
        case .all: break
        case .chain: tls.certificateVerification = .noHostnameVerification
        case .nothing: tls.certificateVerification = .none
        }
        if kind.isOfProxy { (tls.certificateChain, tls.privateKey) = ([], nil) }
        return tls
    }
}
#endif
