internal import ErrandCore
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The settings of TLS, in the form that a session needs.
struct SessionTLS: Sendable {
    var trust = ServerTrustPolicy()
    var minimumVersion = TLSSettings.Version.tls12
    /// The credential for a server that asks for a client certificate; `nil` if there is no credential.
    var clientCredential: URLCredential?

    /// The settings for a transport that the app has created without settings of TLS.
    static let system = SessionTLS()

    private init() {}

    /// Reads and checks the settings.
    ///
    /// - Parameters:
    ///   - canEvaluateTrust: whether the session shows the certificates of a server, and takes client certificates.
    ///   - readFile: a closure that returns the content of a file; `nil` if the file can't be read.
    /// - Throws: ``/ErrandCore/TLSSettingsError`` for an unsupported setting and for a file without certificates.
    init(
        _ settings: TLSSettings, clientCredential: URLCredential?, canEvaluateTrust: Bool = SessionAbilities.current.canEvaluateTrust,
        readFile: (String) -> Data? = { FileManager.default.contents(atPath: $0) }
    ) throws(TLSSettingsError) {
        if settings.clientCertificate != nil {
            throw TLSSettingsError(
                .unsupported, of: "clientCertificate", "URLSession can't read a key from a PEM file; pass a clientCredential")
        }
        if !canEvaluateTrust, let name = Self.firstSetting(of: settings, clientCredential) {
            throw TLSSettingsError(
                .unsupported, of: name, "URLSession on Linux has no settings of TLS; use NIOTransport, or keep the default of the setting")
        }
        trust.pins = settings.pins
        trust.uncheckedHosts = settings.uncheckedHostsForTesting
        (minimumVersion, self.clientCredential) = (settings.minimumVersion, clientCredential)
        for path in settings.extraRootsPEMFiles {
            guard let roots = readFile(path).flatMap({ PEMCertificates.read($0) }) else {
                throw TLSSettingsError(.unreadableFile, of: path, "the file can't be read, or contains no certificate in PEM form")
            }
            trust.extraRoots += roots
        }
    }

    /// Replies to a challenge. If the settings judge the certificates of a server, the function passes the judgment to `check` instead of
    /// replying.
    ///
    /// - Parameters:
    ///   - assess: a closure that judges the certificates of a server, and returns the credential for an accepted server. `nil` if the
    ///     challenge has no certificates.
    ///   - check: a closure that gets the judgment, and the challenge that waits for a reply.
    ///   - complete: the closure of the session, which is called once.
    func react(
        to reply: SessionExchange.Machine.ChallengeReply, on challenge: URLAuthenticationChallenge,
        assess: (URLAuthenticationChallenge, ServerTrustPolicy) -> (ServerAssessment, URLCredential)? = PlatformSettings.assess,
        check: (ServerAssessment, TrustChallenge) -> Void,
        complete: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        switch reply {
        case .performDefaultHandling: complete(.performDefaultHandling, nil)
        case .cancel: complete(.cancelAuthenticationChallenge, nil)
        case .presentClientCertificate: complete(.useCredential, clientCredential)
        case .checkServerTrust:
            guard let (assessment, credential) = assess(challenge, trust) else { return complete(.performDefaultHandling, nil) }
            check(assessment, TrustChallenge(credential: credential, complete: complete))
        }
    }

    /// Returns the name of the first setting that differs from its default; `nil` if all settings have their defaults.
    private static func firstSetting(of settings: TLSSettings, _ credential: URLCredential?) -> String? {
        if !settings.extraRootsPEMFiles.isEmpty { return "extraRootsPEMFiles" }
        if settings.minimumVersion != .tls12 { return "minimumVersion" }
        if settings.pins != nil { return "pins" }
        if settings.uncheckedHostsForTesting != .none { return "uncheckedHostsForTesting" }
        return credential == nil ? nil : "clientCredential"
    }
}
