#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// Waits for the end of a TLS handshake, as the next handler after NIOSSL's handler. Compares the host and the pins, and describes a
/// failure in words. After the handshake, the handler leaves the pipeline. Until then, the next handlers don't see that the handshake is
/// complete.
final class HandshakeWatch: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    /// The identity that the certificate must be valid for.
    enum Identity {
        case name(String)
        case address(IPAddress)
        /// Any identity is accepted.
        case any

        func isConfirmed(by certificate: NIOSSLCertificate?) -> Bool {
            switch self {
            case .name(let name): certificate.map { CertificateNames.allow(name, in: $0) } ?? false
            case .address(let address): certificate.map { CertificateNames.allow(address, in: $0) } ?? false
            case .any: true
            }
        }
    }

    private let tls: NIOSSLClientHandler
    private let origin: Origin
    /// The pins; `nil` if there are no pins for the host.
    private let pins: CertificatePins?
    /// The observed chain; `nil` if there are no pins, or if the chain is not validated.
    private let chain: ValidatedChain?
    private let identity: Identity
    private let minimumVersion: TLSSettings.Version
    /// The authorities of the settings, besides the authorities of the system.
    private let roots: [NIOSSLCertificate]

    init(
        _ tls: NIOSSLClientHandler, of origin: Origin, _ identity: Identity, pins: CertificatePins?, chain: ValidatedChain?,
        minimumVersion: TLSSettings.Version, roots: [NIOSSLCertificate]
    ) {
        self.tls = tls
        self.origin = origin
        self.identity = identity
        self.pins = pins
        self.chain = chain
        (self.minimumVersion, self.roots) = (minimumVersion, roots)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted? = event as? TLSUserEvent else { return context.fireUserInboundEventTriggered(event) }
        guard identity.isConfirmed(by: tls.peerCertificate) else {
            return refuse(HandshakeFailure(NIOSSLExtraError.failedToValidateHostname, otherHost), context)
        }
        if let pins {
            // Without validation, only the first certificate of the chain certainly belongs to the server.
            let found = chain?.takePins() ?? tls.peerCertificate.map { [$0.pin] } ?? []
            do {
                try pins.check(found, of: origin.host)
            } catch {
                return refuse(HandshakeFailure(.tls, error.description, underlying: error), context)
            }
        }
        context.fireUserInboundEventTriggered(event)
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    private func refuse(_ failure: HandshakeFailure, _ context: ChannelHandlerContext) {
        context.fireErrorCaught(failure)
        context.close(promise: nil)
    }

    private var otherHost: String { "the certificate is for another host, not for '\(origin.bareHost)'" }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.fireErrorCaught(HandshakeFailure(error, text(of: error)))
    }

    private func text(of error: any Error) -> String {
        guard FailureText.isOfTLS(error) else { return FailureText.of(error) }
        if let error = error as? NIOSSLExtraError, error == .failedToValidateHostname {
            return otherHost
        }
        let description = "\(error)"
        if description.containsOctets("CERTIFICATE_VERIFY_FAILED"), let certificate = tls.peerCertificate {
            let text = certificateRefusalText(
                validFrom: HTTPDate(secondsSinceEpoch: Int64(certificate.notValidBefore)),
                until: HTTPDate(secondsSinceEpoch: Int64(certificate.notValidAfter)),
                now: HTTPDate(Date()),
                problem: CertificateProblem(of: certificate, roots: roots))
            return text.containsOctets("unknown authority") ? "\(text) (tls.extraRootsPEMFiles can add an authority)" : text
        }
        let text = FailureText.of(error)
        let isOfVersion = description.containsOctets("UNSUPPORTED_PROTOCOL") || description.containsOctets("ALERT_PROTOCOL_VERSION")
        return isOfVersion ? "\(text) (tls.minimumVersion is \(minimumVersion))" : text
    }
}

extension CertificateProblem {
    /// Finds the problem of a server's certificate; `nil` if neither the certificate nor the known authorities show the problem.
    ///
    /// - Parameter roots: the authorities of the settings, besides the authorities of the system.
    init?(of certificate: NIOSSLCertificate, roots: [NIOSSLCertificate]) {
        guard let bytes = try? certificate.toDERBytes(), let rules = CertificateRules(bytes) else { return nil }
        guard rules.allowsServers else {
            self = .notForServers
            return
        }
        let names = CertificateNames.hosts(in: certificate).map { AlternativeName.host($0) } + CertificateNames.addresses(in: certificate)
        for root in roots {
            guard let bytes = try? root.toDERBytes(), let authority = CertificateRules(bytes) else { continue }
            guard authority.subject == rules.issuer else { continue }
            guard let name = authority.firstForbidden(names) else { continue }
            self = .forbiddenName(name.description)
            return
        }
        return nil
    }
}

/// The failure of a handshake, with the reason in words.
struct HandshakeFailure: Error {
    let code: TransportError.Code
    let message: String
    let underlying: any Error

    init(_ code: TransportError.Code, _ message: String, underlying: any Error) {
        (self.code, self.message, self.underlying) = (code, message, underlying)
    }

    init(_ error: any Error, _ message: String) {
        self.init(FailureText.isOfTLS(error) ? .tls : .cannotConnect, message, underlying: error)
    }

    /// - Parameter during: the other side of the handshake, for the end of the message.
    init(_ error: any Error, during: String) {
        let failure = error as? HandshakeFailure ?? HandshakeFailure(error, FailureText.of(error))
        let known = " during the handshake"
        let message = failure.message.contains(known) ? failure.message.replacing(known, with: during) : failure.message + during
        self.init(failure.code, message, underlying: failure.underlying)
    }
}
#endif
