#if canImport(Security) && canImport(CryptoKit)
internal import CryptoKit
internal import ErrandCore
internal import Foundation
internal import Security

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The settings that only Apple's platforms have.
enum PlatformSettings {
    /// Judges the certificates of a challenge. Returns the judgment, and the credential for an accepted server. `nil` if the challenge
    /// has no certificates.
    ///
    /// The validation may load certificates over the network. During the validation, the queue of the session is blocked.
    static func assess(
        _ challenge: URLAuthenticationChallenge, by policy: ServerTrustPolicy
    ) -> (ServerAssessment, URLCredential)? {
        let space = challenge.protectionSpace
        guard let trust = space.serverTrust else { return nil }
        return (policy.assessment(of: SystemTrust(trust: trust), at: space.host, port: space.port), URLCredential(trust: trust))
    }

    static func limit(_ request: inout URLRequest, to access: NetworkAccess) {
        if !access.contains(.cellular) { request.allowsCellularAccess = false }
        if !access.contains(.expensive) { request.allowsExpensiveNetworkAccess = false }
        if !access.contains(.constrained) { request.allowsConstrainedNetworkAccess = false }
    }

    static func waitForConnectivity(_ settings: URLSessionConfiguration) { settings.waitsForConnectivity = true }

    static func require(_ version: TLSSettings.Version, in settings: URLSessionConfiguration) {
        if version == .tls13 { settings.tlsMinimumSupportedProtocolVersion = .TLSv13 }
    }
}

/// The certificates of a server. The system validates these certificates.
private struct SystemTrust: TrustEvaluation {
    let trust: SecTrust

    func refusal(trusting roots: [Data]) -> String? {
        if !roots.isEmpty {
            let certificates = roots.compactMap { SecCertificateCreateWithData(nil, $0 as CFData) }
            guard certificates.count == roots.count, SecTrustSetAnchorCertificates(trust, certificates as CFArray) == errSecSuccess,
                SecTrustSetAnchorCertificatesOnly(trust, false) == errSecSuccess
            else { return "an authority of the settings can't be used" }
        }
        var error: CFError?
        if SecTrustEvaluateWithError(trust, &error) { return nil }
        // The text of the error names only the host and the certificate.
        return error.map { CFErrorCopyDescription($0) as String } ?? "the system gives no reason"
    }

    var certificates: [Data] {
        let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate] ?? []
        return chain.map { SecCertificateCopyData($0) as Data }
    }

    func sha256(_ bytes: Data) -> [UInt8] { Array(SHA256.hash(data: bytes)) }
}
#else
internal import ErrandCore
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The settings that only Apple's platforms have. On Linux, the transport refuses these settings, so the functions do nothing.
enum PlatformSettings {
    static func assess(
        _ challenge: URLAuthenticationChallenge, by policy: ServerTrustPolicy
    ) -> (ServerAssessment, URLCredential)? { nil }

    static func limit(_ request: inout URLRequest, to access: NetworkAccess) {}
    static func waitForConnectivity(_ settings: URLSessionConfiguration) {}
    static func require(_ version: TLSSettings.Version, in settings: URLSessionConfiguration) {}
}
#endif
