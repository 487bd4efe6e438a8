#if SWIFT_NIO && MockServer && Auth
internal import Errand
internal import Foundation
internal import TestSupport
internal import Testing

extension TransportTests {
    /// The cases of the cookie suite over sockets: a redirect sets the cookies, and the next hop carries them to the proxy of the suite.
    @Suite(
        .enabled(if: Suites.folder != nil, Comment(rawValue: Suites.missing)),
        .enabled(if: CookieProxy.isHere, Comment(rawValue: CookieProxy.missing)))
    struct CookieSocketTests {
        /// The verdict of the proxy.
        private struct Verdict: Decodable, Sendable {
            let test: String
            let pass: Bool
            let got: String?
            let want: String?
        }

        /// Plays a case with a jar of its own, whose clock stands still.
        private func play(_ name: String, at date: ManualDate, over transport: any HTTPTransport) async throws -> Verdict {
            let stack = HTTPStack(transport).cookies(CookieJar(now: { date.date })).redirect().timeout(.seconds(20))
            let response = try await stack.send(Request(.get, url: "http://home.example.org:8888/cookie-parser?\(name)"))
            let verdict = try JSONDecoder().decode(Verdict.self, from: try await response.body.collect())
            #expect(verdict.test == name)
            return verdict
        }

        @Test(arguments: TestedTransport.allCases)
        func eachHopCarriesTheCookiesOfItsCase(by tested: TestedTransport) async throws {
            let excluded = tested == .urlSession ? NotOverURLSession.cookieVectors : [:]
            let vectors = try CookieVector.all().filter { $0.excluded == nil }
            let proxy = try await CookieProxy()
            try await tested.run {
                $0.proxyPort = proxy.port
            } _: { transport in
                // The verdict is about the case that was asked for last.
                for vector in vectors {
                    if excluded[vector.name] == nil {
                        let verdict = try await play(vector.name, at: ManualDate(), over: transport)
                        #expect(verdict.pass, "\(verdict)")
                    } else {
                        let verdict = try? await play(vector.name, at: ManualDate(), over: transport)
                        #expect(verdict?.pass != true, "\(vector.name) passes: remove the name from NotOverURLSession.cookieVectors")
                    }
                }
            }
            try await proxy.stop()
        }

        @Test(arguments: TestedTransport.allCases)
        func eachDateEndsItsCookie(by tested: TestedTransport) async throws {
            // The other cases also pass with a damaged date. The jar has a test of all cases.
            let cases = try CookieDateVector.cases().filter { $0.sent.isEmpty || $0.name.hasPrefix("session") }
            #expect(cases.count == 70)
            let proxy = try await CookieProxy(cases: JSONEncoder().encode(cases))
            try await tested.run {
                $0.proxyPort = proxy.port
            } _: { transport in
                for each in cases {
                    let verdict = try await play(each.name, at: ManualDate(each.now.secondsSinceEpoch), over: transport)
                    #expect(verdict.pass, "\(each.received): \(verdict)")
                }
            }
            try await proxy.stop()
        }
    }
}
#endif
