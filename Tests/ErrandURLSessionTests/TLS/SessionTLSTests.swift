internal import ErrandCore
internal import ErrandTesting
internal import Foundation
internal import Synchronization
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
        let rules = Exchange.Machine.Rules(for: try Request(.get, url: "https://a.example/"), tls)
        #expect(rules.checksServerTrust && rules.hasClientCertificate)
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

    private final class Sender: NSObject, URLAuthenticationChallengeSender {
        func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
        func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
        func cancel(_ challenge: URLAuthenticationChallenge) {}
        func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
        func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
    }

    private func challenge(_ method: String) -> URLAuthenticationChallenge {
        URLAuthenticationChallenge(
            protectionSpace: URLProtectionSpace(host: "a.example", port: 443, protocol: "https", realm: nil, authenticationMethod: method),
            proposedCredential: nil, previousFailureCount: 0, failureResponse: nil, error: nil, sender: Sender())
    }

    @Test func theDelegateReactsAsItWasDecided() {
        struct Refused: Error {}
        var tls = SessionTLS.system
        tls.trust.uncheckedHosts = .loopback
        tls.clientCredential = Self.credential
        let accepted = URLCredential(user: "trust", password: "", persistence: .none)
        let rows:
            [(
                Exchange.Machine.ChallengeReply, ServerTrustPolicy.Decision, URLSession.AuthChallengeDisposition, URLCredential?
            )] = [
                (.performDefaultHandling, .accept, .performDefaultHandling, nil), (.cancel, .accept, .cancelAuthenticationChallenge, nil),
                (.presentClientCertificate, .useSession, .useCredential, Self.credential),
                (.checkServerTrust, .useSession, .performDefaultHandling, nil), (.checkServerTrust, .accept, .useCredential, accepted),
                (.checkServerTrust, .refuse(Refused()), .cancelAuthenticationChallenge, nil),
            ]
        for (reply, decision, disposition, credential) in rows {
            var refusals = 0
            let reaction = tls.react(
                to: reply, on: challenge("NSURLAuthenticationMethodServerTrust"),
                decide: { challenge, policy in
                    #expect(challenge.protectionSpace.host == "a.example" && policy.uncheckedHosts == .loopback)
                    if case .accept = decision { return (decision, accepted) }
                    return (decision, nil)
                }, refuse: { _ in refusals += 1 })
            #expect(reaction.0 == disposition && reaction.1 === credential, "\(reply) \(decision)")
            let isRefused = if case .refuse = decision { true } else { false }
            #expect(refusals == (isRefused ? 1 : 0))
        }
    }

    @Test(arguments: [
        ("NSURLAuthenticationMethodServerTrust", Exchange.Machine.ChallengeKind.serverTrust),
        ("NSURLAuthenticationMethodClientCertificate", .clientCertificate), ("NSURLAuthenticationMethodHTTPBasic", .credentials),
    ])
    func theMethodDecidesTheKind(method: String, kind: Exchange.Machine.ChallengeKind) {
        #expect(Exchange.Machine.ChallengeKind(method: method) == kind)
        #expect(challenge(method).protectionSpace.authenticationMethod == method)
    }
    #endif
}
