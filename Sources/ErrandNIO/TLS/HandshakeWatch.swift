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
    private let minimumVersion: TLSSettings.Version

    init(
        _ tls: NIOSSLClientHandler, of origin: Origin, name: String?, address: IPAddress?, pins: CertificatePins?, chain: ValidatedChain?,
        minimumVersion: TLSSettings.Version
    ) {
        (self.tls, self.origin, self.name, self.address, self.pins, self.chain) = (tls, origin, name, address, pins, chain)
        self.minimumVersion = minimumVersion
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
        guard FailureText.isOfTLS(error) else { return FailureText.of(error) }
        if let error = error as? NIOSSLExtraError, error == .failedToValidateHostname {
            return otherHost
        }
        let description = "\(error)"
        if description.contains("CERTIFICATE_VERIFY_FAILED"), let certificate = tls.peerCertificate {
            let text = certificateRefusalText(
                validFrom: HTTPDate(secondsSinceEpoch: Int64(certificate.notValidBefore)),
                until: HTTPDate(secondsSinceEpoch: Int64(certificate.notValidAfter)),
                now: HTTPDate(secondsSinceEpoch: Int64(Date.now.timeIntervalSince1970)))
            return text.contains("unknown authority") ? "\(text) (tls.extraRootsPEMFiles can add an authority)" : text
        }
        let text = FailureText.of(error)
        let isOfVersion = description.contains("UNSUPPORTED_PROTOCOL") || description.contains("ALERT_PROTOCOL_VERSION")
        return isOfVersion ? "\(text) (tls.minimumVersion is \(minimumVersion))" : text
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

    /// - Parameter during: with whom the handshake was, to end the message with.
    init(_ error: any Error, during: String) {
        let failure = error as? HandshakeFailure ?? HandshakeFailure(error, FailureText.of(error))
        let known = " during the handshake"
        let message = failure.message.contains(known) ? failure.message.replacing(known, with: during) : failure.message + during
        self.init(failure.code, message, underlying: failure.underlying)
    }
}
#endif
