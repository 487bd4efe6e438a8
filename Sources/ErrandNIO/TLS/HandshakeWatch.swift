#if NIO
internal import ErrandCore
internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// Waits for the end of a handshake behind the handler of NIOSSL, compares the pins, and says in words what has failed. Then it leaves the
/// pipeline.
final class HandshakeWatch: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let tls: NIOSSLClientHandler
    private let origin: Origin
    /// `nil` if there are none for the host.
    private let pins: CertificatePins?
    /// `nil` if the chain is not validated.
    private let chain: ValidatedChain?
    /// The name of the host that the certificate must be valid for; `nil` for an address, and if nothing is verified.
    private let name: String?
    /// The address that the certificate must be valid for; `nil` if there is none, or if NIOSSL has compared it.
    private let address: IPAddress?

    init(
        _ tls: NIOSSLClientHandler, of origin: Origin, name: String?, address: IPAddress?, pins: CertificatePins?, chain: ValidatedChain?
    ) {
        (self.tls, self.origin, self.name, self.address, self.pins, self.chain) = (tls, origin, name, address, pins, chain)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted? = event as? TLSUserEvent else { return context.fireUserInboundEventTriggered(event) }
        if let name, tls.peerCertificate.map({ !CertificateNames.allow(name, in: $0) }) ?? true {
            return refuse(HandshakeFailure(NIOSSLExtraError.failedToValidateHostname, otherHost), context)
        }
        if let address, tls.peerCertificate.map({ !CertificateNames.allow(address, in: $0) }) ?? true {
            return refuse(HandshakeFailure(NIOSSLExtraError.failedToValidateHostname, otherHost), context)
        }
        if let pins {
            // Without validation, only the server's own certificate is known to be the server's.
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
        guard FailureText.isOfTLS(error) else { return "\(FailureText.of(error)) during the TLS handshake" }
        if let error = error as? NIOSSLExtraError, error == .failedToValidateHostname {
            return otherHost
        }
        if "\(error)".contains("CERTIFICATE_VERIFY_FAILED"), let certificate = tls.peerCertificate {
            return certificateRefusalText(
                validFrom: HTTPDate(secondsSinceEpoch: Int64(certificate.notValidBefore)),
                until: HTTPDate(secondsSinceEpoch: Int64(certificate.notValidAfter)),
                now: HTTPDate(secondsSinceEpoch: Int64(Date.now.timeIntervalSince1970)))
        }
        return FailureText.of(error)
    }
}

/// A handshake has failed, for a reason in words.
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
}
#endif
