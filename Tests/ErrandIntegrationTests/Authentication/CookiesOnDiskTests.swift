#if SQLite && Auth
internal import Errand
internal import ErrandSQLite
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

/// Two jars over one store on the disk, which a second run of the program opens again.
@Suite(.timeLimit(.minutes(5))) struct CookiesOnDiskTests {
    /// A server that responds with the cookie of the request. `/in/NAME` sets a cookie.
    private static func server() -> StubSender {
        StubSender { request in
            var fields: HTTPFields = [.cacheControl: "max-age=600"]
            let path = request.head.path ?? ""
            if path.hasPrefix("/in/") { fields = [.cacheControl: "no-store", .setCookie: "id=\(path.dropFirst(4)); Path=/"] }
            let text = request.headers[.cookie] ?? "nobody"
            return Response(head: HTTPResponse(status: .ok, headerFields: fields), data: Data(text.utf8), request: request)
        }
    }

    private func get(_ path: String, _ stack: HTTPStack) async throws -> (text: String, isHit: Bool) {
        let response = try await stack.send(Request(.get, url: "https://a.example\(path)"))
        let text = String(decoding: try await response.body.collect(), as: UTF8.self)
        return (text, response.metadata.cacheStatus?.isHit == true)
    }

    private static func account(_ name: String) -> CredentialIdentity { CredentialIdentity(scheme: "shop", account: name) }

    @Test func twoJarsOfTwoAccountsShareNoResponse() async throws {
        let folder = try TestFolder("jars")
        let path = folder.file("store")
        for isHit in [false, true] {
            let store = SQLiteCacheStore(inFolder: path)
            for name in ["ada", "bob"] {
                let stack = Self.server().cache(in: store).cookies(CookieJar(account: Self.account(name)))
                _ = try await get("/in/\(name)", stack)
                let page = try await get("/page", stack)
                #expect(page.text == "id=\(name)" && page.isHit == isHit)
                await store.finish()
            }
            #expect(try await get("/page", Self.server().cache(in: store)).text == "nobody", "a request without a cookie")
            await store.finish()
        }
        // A sign-out removes only the responses of its account, in every run.
        let store = SQLiteCacheStore(inFolder: path)
        try await store.forget(Self.account("ada"))
        for (name, isHit) in [("ada", false), ("bob", true)] {
            let stack = Self.server().cache(in: SQLiteCacheStore(inFolder: path)).cookies(CookieJar(account: Self.account(name)))
            _ = try await get("/in/\(name)", stack)
            let page = try await get("/page", stack)
            #expect(page.text == "id=\(name)" && page.isHit == isHit)
        }
    }

    /// A jar without an account has no name that a later run could know.
    @Test func aJarWithoutAnAccountLeavesNothingOnTheDisk() async throws {
        let folder = try TestFolder("jars")
        let store = SQLiteCacheStore(inFolder: folder.file("store"))
        for name in ["ada", "ada"] {
            let stack = Self.server().cache(in: store).cookies(CookieJar())
            _ = try await get("/in/\(name)", stack)
            for _ in 0..<2 { #expect(try await !get("/page", stack).isHit) }
            await store.finish()
        }
        #expect(try await store.usage.entries == 0)
    }
}
#endif
