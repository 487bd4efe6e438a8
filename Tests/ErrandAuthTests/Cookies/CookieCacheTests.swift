#if Auth
import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandCore

/// What a cache keeps of requests with cookies.
@Suite(.timeLimit(.minutes(5))) struct CookieCacheTests {
    /// A server that responds with the cookie of the request. `/in/NAME` sets a cookie, and `/out` removes the cookie.
    private static func server(_ seen: @escaping @Sendable (Request) -> Void = { _ in }) -> StubSender {
        StubSender { request in
            seen(request)
            var fields: HTTPFields = [.cacheControl: "max-age=600"]
            let path = request.head.path ?? ""
            if path.hasPrefix("/in/") { fields = [.cacheControl: "no-store", .setCookie: "id=\(path.dropFirst(4)); Path=/"] }
            if path == "/out" { fields = [.cacheControl: "no-store", .setCookie: "id=x; Path=/; Max-Age=0"] }
            let text = request.headers[.cookie] ?? "nobody"
            return Response(head: HTTPResponse(status: .ok, headerFields: fields), data: Data(text.utf8), request: request)
        }
    }

    private func get(_ path: String, _ stack: HTTPStack, _ fields: HTTPFields = [:]) async throws -> (text: String, isHit: Bool) {
        var request = try Request(.get, url: "https://a.example\(path)")
        request.headers = fields
        let response = try await stack.send(request)
        let text = String(decoding: try await response.body.collect(), as: UTF8.self)
        return (text, response.metadata.cacheStatus?.isHit == true)
    }

    @Test func twoJarsShareNoResponse() async throws {
        let cache = MemoryCacheStore()
        let stacks = [CookieJar(), CookieJar()].map { Self.server().cache(in: cache).cookies($0) }
        for (stack, name) in zip(stacks, ["ada", "bob"]) {
            _ = try await get("/in/\(name)", stack)
            for isHit in [false, true] {
                let page = try await get("/page", stack)
                #expect(page.text == "id=\(name)" && page.isHit == isHit)
            }
        }
        // A request without a cookie gets the response of no jar.
        let page = try await get("/page", Self.server().cache(in: cache))
        #expect(page.text == "nobody" && !page.isHit)
    }

    @Test func equalCookiesOfTwoJarsShareNoResponse() async throws {
        let cache = MemoryCacheStore()
        for _ in 0..<2 {
            let stack = Self.server().cache(in: cache).cookies(CookieJar())
            _ = try await get("/in/ada", stack)
            #expect(try await !get("/page", stack).isHit)
        }
    }

    /// The way in which a session ends.
    enum End: CaseIterable {
        case removeAll, removeAllOfSite, removeSessionCookies, forget, byServer
    }

    @Test(arguments: End.allCases) func theNextSessionGetsNothing(_ end: End) async throws {
        let (cache, jar) = (MemoryCacheStore(), CookieJar())
        let stack = Self.server().cache(in: cache).cookies(jar)
        _ = try await get("/in/ada", stack)
        _ = try await get("/page", stack)
        switch end {
        case .removeAll: jar.removeAll()
        case .removeAllOfSite: jar.removeAll(ofSite: try HTTPURL("https://a.example/"))
        case .removeSessionCookies: jar.removeSessionCookies()
        case .forget: try await jar.forget(CredentialIdentity(scheme: "own", "ada"))
        case .byServer: _ = try await get("/out", stack)
        }
        _ = try await get("/in/bob", stack)
        let page = try await get("/page", stack)
        #expect(page.text == "id=bob" && !page.isHit)
    }

    @Test func aJarOfAnAccountSharesTheResponsesOfTheAccount() async throws {
        let (cache, ada) = (MemoryCacheStore(), CredentialIdentity(scheme: "shop", account: "ada"))
        for isHit in [false, true] {
            let stack = Self.server().cache(in: cache).cookies(CookieJar(account: ada))
            _ = try await get("/in/ada", stack)
            #expect(try await get("/page", stack).isHit == isHit)
        }
        try await cache.forget(ada)
        #expect(cache.usage.entries == 0)
    }

    /// A store on the disk keeps only the responses of durable identities.
    @Test func onlyTheAccountOfAJarIsDurable() async throws {
        let ada = CredentialIdentity(scheme: "shop", account: "ada")
        for (account, isDurable) in [(nil, false), (ada, true)] as [(CredentialIdentity?, Bool)] {
            let identities = RecordingList<CredentialIdentity?>()
            let stack = Self.server { identities.record($0.options.credentialIdentity) }.cookies(CookieJar(account: account))
            _ = try await get("/in/ada", stack)
            _ = try await get("/page", stack)
            let seen = identities.all
            #expect(seen.count == 2 && seen[0] == nil, "a request without cookies has no identity")
            #expect(seen[1]?.isDurable == isDurable && "\(seen)".contains("ada") == false)
        }
    }

    @Test func theIdentityOfTheRequestTakesPrecedence() async throws {
        let identities = RecordingList<CredentialIdentity?>()
        let stack = Self.server { identities.record($0.options.credentialIdentity) }.cookies(CookieJar())
        _ = try await get("/in/ada", stack)
        var request = try Request(.get, url: "https://a.example/page")
        request.options.credentialIdentity = CredentialIdentity(scheme: "own", account: "bob")
        _ = try await stack.send(request).body.collect()
        #expect(identities.all[1] == CredentialIdentity(scheme: "own", account: "bob"))
    }

    /// The fields of a request with an unknown account.
    @Test(arguments: ["Cookie", "Authorization", "X-API-Key", "X-Auth-Token"])
    func aFieldOfTheAppIsNotCovered(_ name: String) async throws {
        let cache = MemoryCacheStore()
        let field = try #require(HTTPField.Name(name))
        let (plain, jar) = (Self.server().cache(in: cache), CookieJar())
        let withJar = Self.server().cache(in: cache).cookies(jar)
        _ = try await get("/in/ada", withJar)
        for stack in [plain, withJar] {
            for value in ["a", "a", "b"] { #expect(try await !get("/page", stack, [field: value]).isHit) }
        }
        #expect(cache.usage.entries == 0)
    }

    @Test func cookiesInsideACacheAreAProblemOfOrder() {
        #expect(!Self.server().cookies(CookieJar()).cache(in: .memory).orderProblems.isEmpty)
        #expect(Self.server().cache(in: .memory).cookies(CookieJar()).orderProblems.isEmpty)
    }
}
#endif
