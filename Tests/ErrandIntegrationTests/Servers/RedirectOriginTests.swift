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
}
#endif
