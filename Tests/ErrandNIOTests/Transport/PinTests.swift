#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandMockServer
import ErrandNIO
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// Certificate pins over real handshakes.
    @Suite(
        .timeLimit(.minutes(5)), .enabled(if: Suites.folder != nil, Comment(rawValue: Suites.missing)),
        .enabled(if: BadTLSServer.hasOpenSSL, "there is no openssl on this machine"),
        .enabled(if: BadTLSServer.hasPython, "there is no python3 on this machine"))
    struct PinTests {
        static let backup = "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
        static let another = "sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="

        private func get(_ url: String, _ configure: (inout TLSSettings) -> Void) async throws -> String {
            let server = try await BadTLSServer.shared()
            return try await withNIO {
                $0.tls.extraRootsPEMFiles = [server.file("ca.pem")]
                configure(&$0.tls)
            } _: { transport in
                let response = try await HTTPStack(transport).send(Request(.get, url: url))
                return String(decoding: try await response.body.collect(), as: UTF8.self)
            }
        }

        private func get(_ url: String, pins: CertificatePins) async throws -> String { try await get(url) { $0.pins = pins } }

        /// The certificate whose key is pinned may stand anywhere in the chain.
        @Test(arguments: [("good", "good"), ("good", "ca"), ("chain", "chain"), ("chain", "intermediate"), ("chain", "ca")])
        func aPinnedKeyInTheChainPasses(name: String, pinned: String) async throws {
            let server = try await BadTLSServer.shared()
            let pins = try CertificatePins(["localhost": [try server.pin(pinned), Self.backup]])
            #expect(try await get(server.url(name), pins: pins) == "ok")
        }

        @Test func aWrongPinIsRefusedWithThePinsOfTheChain() async throws {
            let server = try await BadTLSServer.shared()
            let pins = try CertificatePins(["**.localhost": [Self.another, Self.backup]])
            let error = try await transportError { try await get(server.url("chain"), pins: pins) }
            #expect(error.code == .tls)
            #expect(error.phase == .connect && error.delivery == .notSent)
            let chain = [try server.pin("chain"), try server.pin("intermediate"), try server.pin("ca")]
            let port = try HTTPURL(server.url("chain")).effectivePort
            #expect(
                error.message
                    == "no certificate of 'localhost' has an expected pin; its chain has \(chain[0]) (the server's own), \(chain[1]), "
                    + "\(chain[2]); expected is one of \(Self.backup), \(Self.another)"
                    + ", during the TLS handshake with 127.0.0.1:\(port)")
            let mismatch = try #require(error.underlying as? CertificatePinError)
            #expect(mismatch.chain == chain)
            #expect(mismatch.expected == [Self.backup, Self.another])
        }

        @Test func aMatchingBackupPinPasses() async throws {
            let server = try await BadTLSServer.shared()
            let pins = try CertificatePins(["localhost": [Self.another, try server.pin("good")]])
            #expect(try await get(server.url("good"), pins: pins) == "ok")
        }

        /// Pins are added to trust, and never replace it.
        @Test(arguments: [("expired", "expired", "has expired"), ("untrusted", "untrusted", "unknown authority")])
        func aMatchingPinDoesNotMakeAnInvalidChainValid(name: String, pinned: String, text: String) async throws {
            let server = try await BadTLSServer.shared()
            let pins = try CertificatePins(["localhost": [try server.pin(pinned), Self.backup]])
            let error = try await transportError { try await get(server.url(name), pins: pins) }
            #expect(error.code == .tls)
            #expect(error.message.contains(text), "\(error)")
        }

        /// The certificate of another host has the pinned key.
        @Test func aMatchingPinDoesNotMakeACertificateOfAnotherHostValid() async throws {
            let server = try await BadTLSServer.shared()
            let pins = try CertificatePins(["localhost": [try server.pin("wronghost"), Self.backup]])
            let error = try await transportError { try await get(server.url("wronghost"), pins: pins) }
            #expect(error.code == .tls && error.message.contains("for another host"), "\(error)")
        }

        @Test func aHostWithoutAPatternIsNotCompared() async throws {
            let server = try await BadTLSServer.shared()
            let pins = try CertificatePins(["*.localhost": [Self.another, Self.backup], "a.example": [Self.another, Self.backup]])
            #expect(try await get(server.url("good"), pins: pins) == "ok")
        }

        @Test func anAddressIsPinnedByItsText() async throws {
            let server = try await BadTLSServer.shared()
            let right = try CertificatePins(["127.0.0.1": [try server.pin("good"), Self.backup]])
            #expect(try await get(server.url("good", host: "127.0.0.1"), pins: right) == "ok")
            let wrong = try CertificatePins(["127.0.0.1": [Self.another, Self.backup]])
            let error = try await transportError { try await get(server.url("good", host: "127.0.0.1"), pins: wrong) }
            #expect((error.underlying as? CertificatePinError)?.host == "127.0.0.1")
            #expect(try await get(server.url("good"), pins: wrong) == "ok")
        }

        @Test(.enabled(if: LoopbackPorts.haveIPv6, "no IPv6 on the loopback interface"))
        func aMismatchShowsThePinsForAnIPv6Address() async throws {
            let files = try FileAuthority()
            var configuration = MockServer.Configuration.tls(try files.authority.certificate(), protocols: [.http1_1])
            configuration.host = "::1"
            try await withMockServer(configuration) { server in
                server.dispatch { _ in .text("ok") }
                let url = "https://[::1]:\(server.port)/"
                func get(_ pins: CertificatePins) async throws -> String {
                    try await self.get(url) {
                        $0.extraRootsPEMFiles = [files.path]
                        $0.pins = pins
                    }
                }
                let wrong = try CertificatePins(["0:0:0:0:0:0:0:1": [Self.another, Self.backup]])
                let error = try await transportError { try await get(wrong) }
                let mismatch = try #require(error.underlying as? CertificatePinError)
                #expect(mismatch.chain.count == 2)
                let right = try CertificatePins(["::1": [mismatch.chain[0], Self.backup]])
                #expect(try await get(right) == "ok")
            }
        }

        @Test func anExchangeContinuesInReportOnlyMode() async throws {
            let server = try await BadTLSServer.shared()
            let reports = RecordingList<CertificatePinError>()
            let pins = try CertificatePins(["localhost": [Self.another, Self.backup]]).reporting { reports.record($0) }
            #expect(try await get(server.url("good"), pins: pins) == "ok")
            #expect(reports.all.map(\.host) == ["localhost"])
            #expect(reports.all.map(\.chain) == [[try server.pin("good"), try server.pin("ca")]])
            let right = try CertificatePins(["localhost": [try server.pin("good"), Self.backup]]).reporting { reports.record($0) }
            #expect(try await get(server.url("good"), pins: right) == "ok")
            #expect(reports.all.map(\.host) == ["localhost"])
            let error = try await transportError { try await get(server.url("untrusted"), pins: right) }
            #expect(error.code == .tls)
        }

        /// Nothing proves who has signed the certificate of an unchecked host.
        @Test func onlyTheServerCertificateCountsForAnUncheckedHost() async throws {
            let server = try await BadTLSServer.shared()
            func get(_ name: String, pinned: String) async throws -> String {
                let pins = try CertificatePins(["localhost": [try server.pin(pinned), Self.backup]])
                return try await self.get(server.url(name)) {
                    $0.pins = pins
                    $0.uncheckedHostsForTesting = .loopback
                }
            }
            #expect(try await get("untrusted", pinned: "untrusted") == "ok")
            #expect(try await get("chain", pinned: "chain") == "ok")
            let error = try await transportError { try await get("chain", pinned: "intermediate") }
            #expect((error.underlying as? CertificatePinError)?.chain == [try server.pin("chain")])
        }
    }
}
#endif
