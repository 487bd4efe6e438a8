#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandMockServer
import ErrandNIO
import Foundation
import NIOSSL
import TestSupport
import Testing

@testable import ErrandNIO

/// Why a certificate is refused although its authority is known.
@Suite(.enabled(if: OpenSSLServer.isHere, "there is no openssl on this machine"), .timeLimit(.minutes(5)))
struct CertificateRulesTests {
    /// Those of nginx, where it is here: openssl takes a second to make others.
    private func certificates(in folder: TestFolder) async throws -> TestCertificates {
        NginxServer.isHere ? try await NginxServer.shared().certificates : try await TestCertificates.make(in: folder.path)
    }

    private func refusal(of server: TestCertificates.Server, isConstrained: Bool) async throws -> TransportError {
        let folder = try TestFolder("certificate-rules")
        let certificates = try await certificates(in: folder)
        let server = try await OpenSSLServer(certificates: certificates, server: server, arguments: ["-www"])
        let error = try await transportError {
            try await withNIO {
                $0.tls.extraRootsPEMFiles = [isConstrained ? certificates.constrainedAuthority : certificates.authority]
            } _: { transport in
                _ = try await transport.send(Request(.get, url: "https://localhost:\(server.port)/").within(.seconds(10)))
            }
        }
        try await server.stopped()
        return error
    }

    @Test(arguments: [
        (
            TestCertificates.Server.clientsOnly, false,
            "the certificate is not for servers: its extended key usage has no serverAuth; the server needs another certificate, during"
        ),
        (
            .outside, true,
            "the authority of the certificate may not sign for 'localhost': its name constraints forbid this name; the server needs a "
                + "certificate of another authority, during"
        ),
        (.selfSigned, false, "the certificate is signed by an unknown authority, or by itself, or the server"),
        // Not the constraints of an authority that has not signed the certificate.
        (.selfSigned, true, "the certificate is signed by an unknown authority, or by itself, or the server"),
        (.outside, false, "the certificate is signed by an unknown authority, or by itself, or the server"),
    ])
    func aRefusalHasItsOwnReason(of server: TestCertificates.Server, isConstrained: Bool, words: String) async throws {
        let error = try await refusal(of: server, isConstrained: isConstrained)
        #expect(error.code == .tls && error.delivery == .notSent)
        #expect(error.message.hasPrefix(words), "\(error)")
    }

    @Test func aCertificateIsRead() async throws {
        let folder = try TestFolder("certificate-rules")
        let certificates = try await certificates(in: folder)
        func rules(_ path: String) throws -> CertificateRules {
            try #require(CertificateRules(NIOSSLCertificate.fromPEMFile(path)[0].toDERBytes()))
        }
        let (good, authority) = (try rules(certificates.certificate(.good)), try rules(certificates.authority))
        let (constrained, outside) = (try rules(certificates.constrainedAuthority), try rules(certificates.certificate(.outside)))
        #expect(good.issuer == authority.subject && authority.issuer == authority.subject && good.subject != good.issuer)
        #expect(outside.issuer == constrained.subject && outside.issuer != authority.subject)
        #expect(good.allowsServers && authority.allowsServers && outside.allowsServers)
        #expect(!(try rules(certificates.certificate(.clientsOnly))).allowsServers)
        #expect(constrained.firstForbidden([.host("inside.example"), .host("a.INSIDE.example")]) == nil)
        #expect(constrained.firstForbidden([.host("inside.example"), .host("b.example")])?.description == "b.example")
        // Addresses are not constrained.
        #expect(constrained.firstForbidden([.address([127, 0, 0, 1])]) == nil && authority.firstForbidden([.host("b.example")]) == nil)
    }

    /// Whatever is missing or changed, nothing ends the process.
    @Test func damagedCertificatesAreRead() async throws {
        let folder = try TestFolder("certificate-rules")
        let certificates = try await certificates(in: folder)
        let bytes = try NIOSSLCertificate.fromPEMFile(certificates.constrainedAuthority)[0].toDERBytes()
        for index in bytes.indices {
            #expect(CertificateRules(Array(bytes[..<index])) == nil)
            for change in [0x00, 0x01, 0x7F, 0x80, 0x83, 0x84, 0xFF] as [UInt8] {
                var changed = bytes
                changed[index] = change
                let rules = CertificateRules(changed)
                _ = (rules?.allowsServers, rules?.firstForbidden([.host("b.example"), .address([1, 2, 3, 4])]))
            }
        }
    }

    @Test(arguments: [
        ("a.example", "a.example", true), ("b.a.example", "a.example", true), ("ba.example", "a.example", false),
        ("example", "a.example", false), ("A.Example", "a.exAMPLE", true), ("a.example", "", true), ("b.a.example", ".a.example", true),
        ("a.example", ".a.example", false),
    ])
    func aHostIsWithinASubtree(_ host: String, _ subtree: String, _ isWithin: Bool) {
        #expect(AlternativeName.host(host).isWithin(.host(subtree)) == isWithin)
    }

    @Test func anAddressIsWithinASubtree() {
        let subtree = AlternativeName.address([10, 1, 0, 0, 255, 255, 0, 0])
        #expect(AlternativeName.address([10, 1, 2, 3]).isWithin(subtree) && !AlternativeName.address([10, 2, 2, 3]).isWithin(subtree))
        #expect(!AlternativeName.address([10, 1]).isWithin(subtree) && !AlternativeName.host("10.1.2.3").isWithin(subtree))
    }
}
#endif
