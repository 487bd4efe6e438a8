internal import ErrandCore
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import ErrandURLSession

/// Decisions about certificates, without a system that validates certificates.
@Suite struct ServerTrustTests {
    /// A server whose certificates the test names. The hash of bytes is their number, in 32 octets.
    private struct ScriptedTrust: ServerTrust {
        var refusal: String?
        var certificates: [Data] = []
        let asked = RecordingList<[Data]>()

        func refusal(trusting roots: [Data]) -> String? {
            asked.record(roots)
            return refusal
        }

        func sha256(_ bytes: Data) -> [UInt8] { [UInt8](repeating: UInt8(clamping: bytes.count), count: 32) }
    }

    /// A certificate whose public key has `count` octets, with the tag and the length.
    private func certificate(_ count: UInt8) -> Data {
        let key: [UInt8] = [0x30, count - 2] + [UInt8](repeating: 0, count: Int(count) - 2)
        let fields: [UInt8] = [0xA0, 0x00, 0x02, 0x00, 0x30, 0x00, 0x30, 0x00, 0x30, 0x00, 0x30, 0x00] + key
        let inner: [UInt8] = [0x30, UInt8(fields.count)] + fields
        return Data([0x30, UInt8(inner.count)] + inner)
    }

    private func pin(_ count: UInt8) -> String { CertificatePins.pin(sha256: [UInt8](repeating: count, count: 32)) }
    private func pins(_ counts: UInt8...) throws -> CertificatePins { try CertificatePins(["a.example": counts.map { pin($0) }]) }

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
}

extension ServerTrustPolicy.Decision {
    fileprivate var name: String { "\(self)".prefix { $0 != "(" }.description }
    fileprivate var error: (any Error)? { if case .refuse(let error) = self { error } else { nil } }
}
