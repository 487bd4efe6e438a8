internal import ErrandCore
internal import ErrandFormats
internal import Foundation

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

    /// Returns the judgment about the server of a challenge.
    ///
    /// - Parameters:
    ///   - host: the host, as the session reports the host.
    ///   - port: the port of the server.
    func assessment(of trust: some TrustEvaluation, at host: String, port: Int) -> ServerAssessment {
        let host = Origin(ofChallengeBy: host, port: port)?.host ?? host
        func made(
            _ verdict: ServerTrust.Verdict, _ chain: [Data], _ decision: Decision, acceptance: (@Sendable () -> Decision)?
        ) -> ServerAssessment {
            let trust = ServerTrust(host: host, port: port, certificates: chain, verdict: verdict)
            return ServerAssessment(trust: trust, decision: decision, acceptance: acceptance)
        }
        let accept: @Sendable () -> Decision = { .accept }
        if uncheckedHosts.contains(host) {
            // The signatures of the chain are not verified. Therefore only the first certificate certainly belongs to the server.
            let chain = trust.certificates
            let refusal = checkPins(foundPins(in: chain.prefix(1), trust), of: host)
            return made(.unchecked, chain, refusal ?? .accept, acceptance: refusal == nil ? accept : nil)
        }
        if let reason = trust.refusal(trusting: extraRoots) {
            let chain = trust.certificates
            let own = foundPins(in: chain.prefix(1), trust)
            // If the app adds no roots, the session refuses the certificate too, and reports its own reason.
            let decision = extraRoots.isEmpty ? Decision.useSession : .refuse(UntrustedServerError(reason: reason))
            return made(.untrusted(reason: reason), chain, decision, acceptance: { checkPins(own, of: host) ?? .accept })
        }
        let chain = trust.certificates
        let refusal = checkPins(foundPins(in: chain[...], trust), of: host)
        let decision = extraRoots.isEmpty ? Decision.useSession : .accept
        return made(.trusted, chain, refusal ?? decision, acceptance: refusal == nil ? accept : nil)
    }

    /// Returns the pins of certificates; empty if the transport has no pins. An unreadable certificate has no pin.
    private func foundPins(in certificates: ArraySlice<Data>, _ trust: some TrustEvaluation) -> [String] {
        if pins == nil { return [] }
        return certificates.compactMap { CertificateParts(Array($0)[...])?.publicKeyInfo }.map {
            CertificatePins.pin(sha256: trust.sha256(Data($0)))
        }
    }

    /// Returns a refusal if no found pin is one of the pins of the host.
    private func checkPins(_ found: [String], of host: String) -> Decision? {
        guard let pins else { return nil }
        do { try pins.check(found, of: host) } catch { return .refuse(error) }
        return nil
    }
}

extension Origin {
    /// Creates the origin of a server whose certificates a session reports. `nil` if the host is not valid.
    ///
    /// - Parameter host: the host. The session may report an IPv6 address without brackets.
    init?(ofChallengeBy host: String, port: Int) {
        let isBare = host.utf8.contains(UInt8(ascii: ":")) && !host.utf8.starts(with: "[".utf8)
        guard let origin = try? Origin("https://\(isBare ? "[\(host)]" : host):\(port)") else { return nil }
        self = origin
    }
}

/// The error for an untrusted certificate, if the transport has additional authorities.
struct UntrustedServerError: SafelyDescribedError {
    let reason: String
    var description: String { "the certificate is not trusted: \(reason)" }
}
