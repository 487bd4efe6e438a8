#if MockServer && SWIFT_NIO
import Errand
import ErrandMockServer
import ErrandTesting
import TestSupport
import Testing

/// Redirects between origins, over sockets.
@Suite(.timeLimit(.minutes(5))) struct RedirectOriginTests {
    @Test(arguments: [MockServer.ApplicationProtocol.http1_1, .http2])
    func aRedirectFromHTTPSToHTTPIsRefused(protocol version: MockServer.ApplicationProtocol) async throws {
        let certificate = try TestAuthority().certificate()
        try await withMockServer(.tls(certificate, protocols: [version])) { secure in
            try await withMockServer { plain in
                secure.enqueue(.redirect(to: plain.url("/end")), .redirect(to: plain.url("/end")))
                plain.enqueue(.text("fine"))
                try await withNIO {
                    $0.tls.uncheckedHostsForTesting = .loopback
                } _: { transport in
                    let request = try Request(.get, url: secure.url("/start"), headers: [.authorization: "Bearer s3cret"])
                    let error = await #expect(throws: RedirectError.self) { try await transport.redirect().send(request) }
                    #expect(error?.failureNumber == .redirectDowngrade && plain.requests.isEmpty)
                    let followed = try await transport.redirect(RedirectPolicy(allowsDowngrade: true)).send(request)
                    #expect(try await followed.body.collect() == Data("fine".utf8))
                    #expect(plain.requests.map(\.path) == ["/end"] && plain.requests.allSatisfy { !$0.headers.contains(.authorization) })
                }
            }
        }
    }

    private static let addingSecrets = RedirectPolicy.standard.deciding { .follow(RedirectLeaks.addingSecrets(to: $0.next)) }

    /// From A to B, within B, and back to A: see ``RedirectLeaks``.
    @Test(arguments: [MockServer.ApplicationProtocol.http1_1, .http2], [false, true])
    func secretsReachNoOtherOrigin(protocol version: MockServer.ApplicationProtocol, isDecided: Bool) async throws {
        let certificate = try TestAuthority().certificate()
        try await withMockServer(.tls(certificate, protocols: [version])) { first in
            try await withMockServer(.tls(certificate, protocols: [version])) { second in
                try await withNIO {
                    $0.tls.uncheckedHostsForTesting = .loopback
                } _: { transport in
                    let stack = transport.wrapped(by: RedirectLeaks.OptionSender()).redirect(isDecided ? Self.addingSecrets : .standard)
                    let seen = try await RedirectLeaks.seen(from: first, to: second) { try await stack.send($0) }
                    #expect(seen == RedirectLeaks.allowed(isDecided: isDecided))
                }
            }
        }
    }

    /// A client certificate is a setting of the transport, and belongs to no origin. Therefore a redirect does not remove the certificate.
    @Test(arguments: [false, true]) func aClientCertificateIsForEachServerThatAsks(hasCertificate: Bool) async throws {
        let files = try FileAuthority()
        let (certificate, key) = (files.folder.file("client.pem"), files.folder.file("client.key"))
        try files.authority.clientCertificate().write(certificateToPath: certificate, keyToPath: key)
        let plain = MockServer.Configuration.tls(try files.authority.certificate(), protocols: [.http1_1])
        var asking = plain
        asking.tls?.clientAuthority = files.authority
        // With TLS 1.3, a client may send a request before the server refuses the certificate.
        asking.tls?.versions = .tls12 ... .tls12
        try await withMockServer(plain) { first in
            try await withMockServer(asking) { second in
                first.enqueue(.redirect(to: second.url("/b")))
                second.enqueue(.text("fine"))
                try await withNIO {
                    $0.tls.extraRootsPEMFiles = [files.path]
                    if hasCertificate { $0.tls.clientCertificate = .init(chainPEMFile: certificate, keyPEMFile: key) }
                } _: { transport in
                    let request = try Request(.get, url: first.url("/a"))
                    if hasCertificate {
                        #expect(try await transport.redirect().send(request).body.collect() == Data("fine".utf8))
                    } else {
                        let failure = try await transportError { try await transport.redirect().send(request) }
                        #expect(failure.code == .tls)
                    }
                    #expect(first.requests.map(\.path) == ["/a"] && second.requests.map(\.path) == (hasCertificate ? ["/b"] : []))
                }
            }
        }
    }

    #if Auth
    /// From A to B, within B, and back to A: see ``RedirectLeaks``.
    @Test(arguments: [MockServer.ApplicationProtocol.http1_1, .http2], [false, true])
    func aJarSendsEachHostItsOwnCookies(protocol version: MockServer.ApplicationProtocol, isDecided: Bool) async throws {
        let certificate = try TestAuthority().certificate()
        try await withMockServer(.tls(certificate, protocols: [version])) { first in
            try await withMockServer(.tls(certificate, protocols: [version])) { second in
                try await withNIO {
                    $0.tls.uncheckedHostsForTesting = .loopback
                } _: { transport in
                    let jar = CookieJar()
                    try jar.set(try #require(SetCookie("own=0; Path=/")), from: HTTPURL(first.url("/")))
                    let stack = transport.cookies(jar).redirect(isDecided ? Self.addingSecrets : .standard)
                    let seen = try await RedirectLeaks.cookies(from: first, to: second) { try await stack.send($0) }
                    #expect(seen == RedirectLeaks.allowedCookies(isDecided: isDecided))
                }
            }
        }
    }
    #endif
}
#endif
