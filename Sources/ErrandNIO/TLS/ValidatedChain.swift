#if SWIFT_NIO
internal import ErrandCore
internal import ErrandHashing
internal import NIOSSL

/// An observer of BoringSSL's validation of a certificate chain. The observer does not change the validation.
///
/// The callback of NIOSSL is called for each certificate of the chain that was built, from the root to the server's own certificate. The
/// callback is not called for additional certificates that the server sends.
final class ValidatedChain {
    private var certificates: [NIOSSLCertificate] = []

    /// Creates a TLS handler whose validation this object observes.
    func handler<Handler: ValidationFollowing>(_ type: Handler.Type, _ context: NIOSSLContext, _ name: String?) throws -> Handler {
        try Handler(context: context, serverHostname: name) { result, certificate in
            if case .certificateVerified = result { self.certificates.append(certificate) }
            return result
        }
    }

    /// Returns the pins of the chain, beginning with the pin of the server's own certificate, and forgets the certificates.
    func takePins() -> [String] {
        defer { certificates = [] }
        return certificates.reversed().map(\.pin)
    }
}

/// The initializer of NIOSSL whose callback is called for each certificate. NIOSSL deprecates the initializer, because newer callbacks
/// can replace the validation by BoringSSL. But pins must be checked in addition to this validation. A call through this protocol
/// gives no warning.
protocol ValidationFollowing {
    init(context: NIOSSLContext, serverHostname: String?, verificationCallback: NIOSSLVerificationCallback?) throws
}

extension NIOSSLClientHandler: ValidationFollowing {}

extension NIOSSLCertificate {
    /// The pin of the certificate's public key. If the key can't be read, the value is a text that is equal to no pin.
    var pin: String {
        guard let key = try? extractPublicKey().toSPKIBytes() else { return "an unreadable key" }
        return CertificatePins.pin(sha256: OctetHash.of(key, by: .sha256))
    }
}
#endif
