#if SWIFT_NIO && Auth
internal import Errand
internal import ErrandConformance
internal import Foundation
internal import TestSupport
internal import Testing

/// The cases of the cookie suite over sockets: a redirect sets the cookies, and the next hop carries them through the proxy of the suite.
@Suite(
    .timeLimit(.minutes(5)), .enabled(if: Suites.folder != nil, Comment(rawValue: Suites.missing)),
    .enabled(if: CookieProxy.isHere, Comment(rawValue: CookieProxy.missing)), .leavesNothingBehind(inParallelRuns: false))
struct CookieSocketTests {
    private struct Result: Decodable, Sendable {
        let test: String
        let pass: Bool
        let got: String?
        let want: String?
    }

    @Test func eachHopCarriesTheCookiesOfItsCase() async throws {
        let proxy = try await CookieProxy()
        var configuration = NIOTransport.Configuration()
        configuration.proxy = .all(.http(host: "127.0.0.1", port: proxy.port))
        try await withTransport(try NIOTransport(configuration)) { transport in
            let date = ManualDate()
            // The result belongs to the case that was asked for last.
            for vector in try CookieVector.all() where vector.excluded == nil {
                let stack = transport.cookies(CookieJar(now: { date.date })).redirect().timeout(.seconds(20))
                let response = try await stack.send(Request(.get, url: vector.url))
                let result = try JSONDecoder().decode(Result.self, from: try await response.body.collect())
                #expect(result.test == vector.name && result.pass, "\(vector.name): \(result)")
            }
        }
        try await proxy.stop()
    }
}
#endif
