internal import ErrandCore
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import ErrandURLSession

/// A server whose certificates the test names. The hash of bytes is their number, in 32 octets.
struct ScriptedTrust: TrustEvaluation {
    var refusal: String?
    var certificates: [Data] = []
    let asked = RecordingList<[Data]>()

    func refusal(trusting roots: [Data]) -> String? {
        asked.record(roots)
        return refusal
    }

    func sha256(_ bytes: Data) -> [UInt8] { [UInt8](repeating: UInt8(clamping: bytes.count), count: 32) }

    /// A certificate whose public key has `count` octets, with the tag and the length.
    static func certificate(_ count: UInt8) -> Data {
        let key: [UInt8] = [0x30, count - 2] + [UInt8](repeating: 0, count: Int(count) - 2)
        let fields: [UInt8] = [0xA0, 0x00, 0x02, 0x00, 0x30, 0x00, 0x30, 0x00, 0x30, 0x00, 0x30, 0x00] + key
        let inner: [UInt8] = [0x30, UInt8(fields.count)] + fields
        return Data([0x30, UInt8(inner.count)] + inner)
    }

    static func pin(_ count: UInt8) -> String { CertificatePins.pin(sha256: [UInt8](repeating: count, count: 32)) }
    static func pins(_ counts: UInt8..., of host: String = "a.example") throws -> CertificatePins {
        try CertificatePins([host: counts.map { pin($0) }])
    }
}

/// Decisions about certificates, without a system that validates certificates.
@Suite struct ServerTrustPolicyTests {
    private func certificate(_ count: UInt8) -> Data { ScriptedTrust.certificate(count) }
    private func pin(_ count: UInt8) -> String { ScriptedTrust.pin(count) }
    private func pins(_ first: UInt8, _ second: UInt8) throws -> CertificatePins { try ScriptedTrust.pins(first, second) }

    @Test func withoutSettingsTheSessionDecides() {
        #expect(!ServerTrustPolicy().isNeeded)
        for refusal in [nil, "expired"] {
            #expect(ServerTrustPolicy().decision(on: ScriptedTrust(refusal: refusal), of: "a.example").name == "useSession")
        }
    }

    @Test(arguments: [[20, 30], [30, 20], [30, 31, 21]] as [[UInt8]])
    func aPinnedKeyAnywhereInTheChainPasses(chain: [UInt8]) throws {
        let policy = ServerTrustPolicy(pins: try pins(20, 21))
        let trust = ScriptedTrust(certificates: chain.map { certificate($0) })
        #expect(policy.isNeeded && policy.decision(on: trust, of: "a.example").name == "useSession")
    }

    @Test func aHostWithoutPinsIsLeftToTheSession() throws {
        let policy = ServerTrustPolicy(pins: try pins(20, 21))
        #expect(policy.decision(on: ScriptedTrust(certificates: [certificate(30)]), of: "b.example").name == "useSession")
    }

    @Test(arguments: [[30], [30, 31]] as [[UInt8]]) func aWrongPinIsRefused(chain: [UInt8]) throws {
        let policy = ServerTrustPolicy(pins: try pins(20, 21), extraRoots: [Data([1])])
        let decision = policy.decision(on: ScriptedTrust(certificates: chain.map { certificate($0) }), of: "a.example")
        #expect((decision.error as? CertificatePinError)?.chain == chain.map { pin($0) })
    }

    @Test func anUnreadableCertificateHasNoPin() throws {
        let policy = ServerTrustPolicy(pins: try pins(20, 21))
        let decision = policy.decision(on: ScriptedTrust(certificates: [Data([0x30])]), of: "a.example")
        #expect((decision.error as? CertificatePinError)?.chain == [])
    }

    @Test func anInvalidCertificateIsRefusedEvenWithAPinnedKey() throws {
        let trust = ScriptedTrust(refusal: "it has expired", certificates: [certificate(20)])
        // Without authorities of the app, the session refuses the certificate, and says why.
        #expect(ServerTrustPolicy(pins: try pins(20, 21)).decision(on: trust, of: "a.example").name == "useSession")
        let policy = ServerTrustPolicy(pins: try pins(20, 21), extraRoots: [Data([1])])
        let error = try #require(policy.decision(on: trust, of: "a.example").error)
        #expect("\(error)" == "the certificate is not trusted: it has expired" && trust.asked.all == [[], [Data([1])]])
    }

    @Test func aCertificateOfAnAuthorityOfTheAppIsAccepted() {
        let policy = ServerTrustPolicy(extraRoots: [Data([1])])
        #expect(policy.isNeeded && policy.decision(on: ScriptedTrust(), of: "a.example").name == "accept")
    }

    @Test func anUncheckedHostIsAcceptedByItsOwnKey() throws {
        let trust = ScriptedTrust(refusal: "self-signed", certificates: [certificate(30), certificate(20)])
        var policy = ServerTrustPolicy(uncheckedHosts: try .hosts("a.example"))
        #expect(policy.isNeeded && policy.decision(on: trust, of: "a.example").name == "accept")
        #expect(policy.decision(on: trust, of: "b.example").name == "useSession")
        // Only the first certificate certainly belongs to the server.
        policy.pins = try pins(20, 21)
        #expect(policy.decision(on: trust, of: "a.example").name == "refuse")
        policy.pins = try pins(30, 21)
        #expect(policy.decision(on: trust, of: "a.example").name == "accept")
    }

    // MARK: - The request's decision

    /// A chain, the settings of the transport, and the decision after each decision of a request.
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        var pins: [UInt8] = []
        var hasRoots = false
        var isUnchecked = false
        var refusal: String?
        /// The chain is the server's own certificate, with a key of 20 octets, and an authority, with a key of 30 octets.
        let system: String
        /// `nil` if the request can't accept the server.
        let accepted: String?

        var testDescription: String { name }

        func assessment() throws -> ServerAssessment {
            var policy = ServerTrustPolicy()
            if pins.count == 2 { policy.pins = try ScriptedTrust.pins(pins[0], pins[1]) }
            if hasRoots { policy.extraRoots = [Data([1])] }
            if isUnchecked { policy.uncheckedHosts = try .hosts("a.example") }
            let chain = [ScriptedTrust.certificate(20), ScriptedTrust.certificate(30)]
            return policy.assessment(of: ScriptedTrust(refusal: refusal, certificates: chain), at: "a.example", port: 443)
        }
    }

    static let rows = [
        Row(name: "a trusted chain", system: "useSession", accepted: "accept"),
        Row(name: "an expired chain", refusal: "expired", system: "useSession", accepted: "accept"),
        Row(name: "a trusted chain with the pin of its server", pins: [20, 99], system: "useSession", accepted: "accept"),
        Row(name: "a trusted chain with the pin of its authority", pins: [30, 99], system: "useSession", accepted: "accept"),
        Row(name: "a trusted chain without a pin", pins: [98, 99], system: "CertificatePinError", accepted: nil),
        Row(
            name: "an expired chain with the pin of its server", pins: [20, 99], refusal: "expired", system: "useSession",
            accepted: "accept"),
        // Anybody can add the certificate of the authority to the chain.
        Row(
            name: "an expired chain with the pin of its authority", pins: [30, 99], refusal: "expired", system: "useSession",
            accepted: "CertificatePinError"),
        Row(
            name: "an expired chain without a pin", pins: [98, 99], refusal: "expired", system: "useSession",
            accepted: "CertificatePinError"),
        Row(name: "a chain of an authority of the app", hasRoots: true, system: "accept", accepted: "accept"),
        Row(
            name: "an expired chain, and authorities of the app", hasRoots: true, refusal: "expired", system: "UntrustedServerError",
            accepted: "accept"),
        Row(name: "an unchecked host", isUnchecked: true, refusal: "expired", system: "accept", accepted: "accept"),
        Row(name: "an unchecked host with its pin", pins: [20, 99], isUnchecked: true, system: "accept", accepted: "accept"),
        Row(
            name: "an unchecked host with the pin of its authority", pins: [30, 99], isUnchecked: true, system: "CertificatePinError",
            accepted: nil),
    ]

    @Test(arguments: rows) func theRequestDecidesWithinTheRulesOfTheTransport(_ row: Row) throws {
        struct Failing: Error {}
        let assessment = try row.assessment()
        #expect((assessment.acceptance != nil) == (row.accepted != nil))
        #expect(assessment.decision.text == row.system && assessment.decision(after: .success(.systemVerdict)).text == row.system)
        #expect(assessment.decision(after: .success(.acceptWithoutVerification)).text == row.accepted ?? row.system)
        let refused = try #require(assessment.decision(after: .success(.refuse(because: "unknown"))).error)
        #expect("\(refused)" == "onServerTrust refused the certificate: unknown")
        #expect(assessment.decision(after: .failure(Failing())).error is Failing)
        let verdict: ServerTrust.Verdict =
            row.isUnchecked ? .unchecked : row.refusal.map { .untrusted(reason: $0) } ?? .trusted
        #expect(assessment.trust.verdict == verdict && assessment.trust.certificates.count == 2)
        #expect(assessment.trust.host == "a.example" && assessment.trust.port == 443)
    }

    @Test func aMismatchOfPinsIsReportedOnlyAfterTheRequestHasAccepted() throws {
        let reports = Counter()
        let policy = ServerTrustPolicy(pins: try pins(98, 99).reporting { _ in reports.add() })
        let trust = ScriptedTrust(refusal: "expired", certificates: [certificate(20)])
        let assessment = policy.assessment(of: trust, at: "a.example", port: 443)
        #expect(assessment.decision(after: .success(.systemVerdict)).text == "useSession" && reports.value == 0)
        #expect(assessment.decision(after: .success(.acceptWithoutVerification)).text == "accept" && reports.value == 1)
    }

    @Test(arguments: ["::1", "[::1]", "0:0:0:0:0:0:0:1"]) func thePinsOfAnAddressApplyWithAndWithoutBrackets(host: String) throws {
        let policy = ServerTrustPolicy(pins: try ScriptedTrust.pins(20, 21, of: "::1"))
        let assessment = policy.assessment(of: ScriptedTrust(certificates: [certificate(30)]), at: host, port: 443)
        #expect(assessment.decision.text == "CertificatePinError")
    }

    @Test func aHostThatIsNotValidIsKept() {
        let assessment = ServerTrustPolicy().assessment(of: ScriptedTrust(), at: "a b", port: 443)
        #expect(assessment.trust.host == "a b" && assessment.decision.text == "useSession")
    }
}

extension ServerTrustPolicy {
    fileprivate func decision(on trust: ScriptedTrust, of host: String) -> Decision {
        assessment(of: trust, at: host, port: 443).decision
    }
}

extension ServerTrustPolicy.Decision {
    fileprivate var name: String { "\(self)".prefix { $0 != "(" }.description }
    fileprivate var error: (any Error)? { if case .refuse(let error) = self { error } else { nil } }
    /// The name of the decision. For a refusal, the type of the error.
    fileprivate var text: String { error.map { "\(type(of: $0))" } ?? name }
}
