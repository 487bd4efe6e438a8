internal import ErrandCore
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import ErrandURLSession

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

@Suite struct SessionTLSTests {
    private static let credential = URLCredential(user: "u", password: "p", persistence: .none)
    private static let pins = try? CertificatePins([
        "a.example": [
            "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=", "sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=",
        ]
    ])

    /// A change of one setting, and the name of the setting.
    static let settings: [(String, @Sendable (inout TLSSettings) -> Void)] = [
        ("extraRootsPEMFiles", { $0.extraRootsPEMFiles = ["/a.pem"] }), ("minimumVersion", { $0.minimumVersion = .tls13 }),
        ("pins", { $0.pins = pins }), ("uncheckedHostsForTesting", { $0.uncheckedHostsForTesting = .loopback }),
    ]

    @Test func aSessionWithoutSettingsOfTLSRefusesEachSetting() {
        for (name, change) in Self.settings {
            var settings = TLSSettings()
            change(&settings)
            let error = #expect(throws: TLSSettingsError.self) {
                try SessionTLS(settings, clientCredential: nil, canEvaluateTrust: false, readFile: { _ in nil })
            }
            #expect(error?.code == .unsupported && error?.subject == name)
        }
        let error = #expect(throws: TLSSettingsError.self) {
            try SessionTLS(TLSSettings(), clientCredential: Self.credential, canEvaluateTrust: false)
        }
        #expect(error?.subject == "clientCredential")
        #expect(throws: Never.self) { try SessionTLS(TLSSettings(), clientCredential: nil, canEvaluateTrust: false) }
    }

    @Test func theSettingsReachTheSession() throws {
        var settings = TLSSettings()
        for (_, change) in Self.settings { change(&settings) }
        let pem = Data("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".utf8)
        let tls = try SessionTLS(settings, clientCredential: Self.credential, canEvaluateTrust: true) { $0 == "/a.pem" ? pem : nil }
        #expect(tls.trust.extraRoots == [Data([0, 0, 0])] && tls.trust.pins == Self.pins && tls.trust.uncheckedHosts == .loopback)
        #expect(tls.minimumVersion == .tls13 && tls.clientCredential === Self.credential)
        let rules = SessionExchange.Machine.Rules(for: try Request(.get, url: "https://a.example/"), tls)
        #expect(rules.checksServerTrust && rules.hasClientCertificate && !rules.isUncheckedServer)
        #expect(SessionExchange.Machine.Rules(for: try Request(.get, url: "https://localhost/"), tls).isUncheckedServer)
    }

    @Test func aKeyInAFileIsRefused() {
        var settings = TLSSettings()
        settings.clientCertificate = TLSSettings.ClientCertificate(chainPEMFile: "/a.pem", keyPEMFile: "/a.key")
        let error = #expect(throws: TLSSettingsError.self) { try SessionTLS(settings, clientCredential: nil, canEvaluateTrust: true) }
        #expect(error?.code == .unsupported && error?.subject == "clientCertificate")
    }

    @Test func aFileWithoutCertificatesIsRefused() {
        var settings = TLSSettings()
        settings.extraRootsPEMFiles = ["/no/such/file.pem"]
        let error = #expect(throws: TLSSettingsError.self) { try SessionTLS(settings, clientCredential: nil, canEvaluateTrust: true) }
        #expect(error?.code == .unreadableFile && error?.subject == "/no/such/file.pem")
    }

    #if canImport(FoundationNetworking)
    @Test func theTransportRefusesSettingsOnLinux() throws {
        var settings = TLSSettings()
        #expect(throws: Never.self) { try URLSessionTransport(tls: settings) }
        settings.pins = Self.pins
        let error = #expect(throws: TLSSettingsError.self) { try URLSessionTransport(tls: settings) }
        #expect(error?.subject == "pins")
    }

    // MARK: Challenges

    private func challenge(_ method: String) -> URLAuthenticationChallenge {
        URLAuthenticationChallenge(
            protectionSpace: URLProtectionSpace(host: "a.example", port: 443, protocol: "https", realm: nil, authenticationMethod: method),
            proposedCredential: nil, previousFailureCount: 0, failureResponse: nil, error: nil, sender: IdleChallengeSender())
    }

    private static let accepted = URLCredential(user: "trust", password: "", persistence: .none)

    /// Returns the reactions to a challenge: the disposition, and whether the credential is the expected credential.
    private func react(
        _ tls: SessionTLS, to reply: SessionExchange.Machine.ChallengeReply, _ assessment: ServerAssessment?,
        with trustReply: SessionExchange.Machine.TrustReply, _ credential: URLCredential?
    ) -> [URLSession.AuthChallengeDisposition] {
        let reactions = RecordingList<URLSession.AuthChallengeDisposition>()
        tls.react(
            to: reply, on: challenge("NSURLAuthenticationMethodServerTrust"),
            assess: { challenge, policy in
                #expect(challenge.protectionSpace.host == "a.example" && policy.uncheckedHosts == .loopback)
                return assessment.map { ($0, Self.accepted) }
            },
            check: { assessment, waiting in
                #expect(assessment.trust.port == 443 && reactions.all.isEmpty)
                waiting.reply(trustReply)
            },
            complete: { disposition, found in
                #expect(found === credential, "\(reply) \(trustReply)")
                reactions.record(disposition)
            })
        return reactions.all
    }

    @Test func theDelegateReactsAsItWasDecided() {
        var tls = SessionTLS.system
        tls.trust.uncheckedHosts = .loopback
        tls.clientCredential = Self.credential
        let assessment = tls.trust.assessment(of: ScriptedTrust(), at: "a.example", port: 443)
        #expect(react(tls, to: .performDefaultHandling, assessment, with: .accept, nil) == [.performDefaultHandling])
        #expect(react(tls, to: .cancel, assessment, with: .accept, nil) == [.cancelAuthenticationChallenge])
        #expect(react(tls, to: .presentClientCertificate, assessment, with: .accept, Self.credential) == [.useCredential])
        #expect(react(tls, to: .checkServerTrust, assessment, with: .performDefaultHandling, nil) == [.performDefaultHandling])
        #expect(react(tls, to: .checkServerTrust, assessment, with: .accept, Self.accepted) == [.useCredential])
        #expect(react(tls, to: .checkServerTrust, assessment, with: .cancel, nil) == [.cancelAuthenticationChallenge])
        // A challenge without certificates is left to the session.
        #expect(react(tls, to: .checkServerTrust, nil, with: .accept, nil) == [.performDefaultHandling])
    }

    @Test(arguments: [
        ("NSURLAuthenticationMethodServerTrust", SessionExchange.Machine.ChallengeKind.serverTrust),
        ("NSURLAuthenticationMethodClientCertificate", .clientCertificate), ("NSURLAuthenticationMethodHTTPBasic", .credentials),
    ])
    func theMethodDecidesTheKind(method: String, kind: SessionExchange.Machine.ChallengeKind) {
        #expect(SessionExchange.Machine.ChallengeKind(method: method) == kind)
        #expect(challenge(method).protectionSpace.authenticationMethod == method)
    }
    #endif
}
