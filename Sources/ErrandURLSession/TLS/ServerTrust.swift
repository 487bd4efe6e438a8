internal import ErrandCore
internal import Foundation

/// The certificates that the system gives with a server's challenge.
protocol ServerTrust {
    /// Validates the chain, its dates and the name of the host. Returns the reason of a refusal; `nil` if the server is trusted.
    ///
    /// - Parameter roots: the certificates of additional trusted authorities, in DER.
    func refusal(trusting roots: [Data]) -> String?
    /// The chain in DER. The server's own certificate is first. After a successful validation, the chain ends with the root.
    var certificates: [Data] { get }
    /// Returns the SHA-256 hash of bytes.
    func sha256(_ bytes: Data) -> [UInt8]
}

/// The rules for the certificates of servers, from the settings of a transport.
struct ServerTrustPolicy: Sendable {
    enum Decision: Sendable {
        /// The session validates the certificate by the rules of the system, and reports a refusal.
        case useSession
        /// The certificate is accepted.
        case accept
        case refuse(any Error)
    }

    var pins: CertificatePins?
    var uncheckedHosts = TLSSettings.UncheckedHosts.none
    /// The certificates of additional authorities, in DER.
    var extraRoots: [Data] = []

    /// Whether any setting differs from the rules of the system.
    var isNeeded: Bool { pins != nil || uncheckedHosts != .none || !extraRoots.isEmpty }

    /// Returns the decision about the server of a challenge.
    ///
    /// - Parameter host: the host, in the form of `Origin.host`.
    func decision(on trust: some ServerTrust, of host: String) -> Decision {
        if uncheckedHosts.contains(host) {
            // The signatures of the chain are not verified. Therefore only the first certificate certainly belongs to the server.
            return checkPins(Array(trust.certificates.prefix(1)), trust, host) ?? .accept
        }
        if let reason = trust.refusal(trusting: extraRoots) {
            // If the app adds no roots, the session refuses the certificate too, and reports its own reason.
            return extraRoots.isEmpty ? .useSession : .refuse(UntrustedServer(reason: reason))
        }
        return checkPins(trust.certificates, trust, host) ?? (extraRoots.isEmpty ? .useSession : .accept)
    }

    /// Returns a refusal if no certificate has one of the pins of the host. An unreadable certificate has no pin.
    private func checkPins(_ certificates: [Data], _ trust: some ServerTrust, _ host: String) -> Decision? {
        guard let pins else { return nil }
        let found = certificates.compactMap { PublicKeyInfo.bytes(ofCertificate: $0) }.map { CertificatePins.pin(sha256: trust.sha256($0)) }
        do { try pins.check(found, of: host) } catch { return .refuse(error) }
        return nil
    }
}

/// The error for an untrusted certificate, if the transport has additional authorities.
struct UntrustedServer: SafelyDescribedError {
    let reason: String
    var description: String { "the certificate is not trusted: \(reason)" }
}
