import Errand
import ErrandNIO
import Foundation
import Synchronization

/// The chapter of the tour about authentication.
enum TourOfAuthentication {
    private struct Account: Codable, Sendable, Equatable {
        var name: String
    }

    static func walk(port: Int) async throws {
        let base = "http://127.0.0.1:\(port)"
        try await withTransport(NIOTransport()) { transport in
            try await passwords(transport, base)
            try await cookies(transport, base)
            try await tokens(transport, base)
        }
    }

    private static func passwords(_ transport: NIOTransport, _ base: String) async throws {
        Tour.step("A proof of a password, in place of the password", "stack.authenticate(.password(user: \"joe\", password: password))")
        let stack = transport.authenticate(.password(user: "joe", password: "pw")).server("\(base)/v1")
        let first = try await stack.send(Request(.get, "/digest"))
        let field = first.request.headers[.authorization]
        try Tour.expect(
            first.status == .ok && first.metadata.attempts.count == 1 && field?.hasPrefix("Digest ") == true,
            "\(first.status.code), with a proof after a challenge")
        let second = try await stack.send(Request(.get, "/digest"))
        try Tour.expect(second.status == .ok && second.metadata.attempts.isEmpty, "the next request has the proof at once")

        Tour.step("A wrong password is sent once", "response.metadata.authenticationStop")
        let refused = try await transport.authenticate(.basic(user: "joe", password: "wrong")).send(Request(.get, url: "\(base)/v1/basic"))
        refused.body.abandon()
        try Tour.expect(
            refused.metadata.authenticationStop == .refused,
            "\(refused.status.code): \(refused.metadata.authenticationStop.map { "\($0)" } ?? "")")
    }

    private static func cookies(_ transport: NIOTransport, _ base: String) async throws {
        Tour.step("A form login: the next hop carries the cookie of the login", "transport.cookies(CookieJar(store: store)).redirect()")
        let store = MemoryCookieStore()
        func stack(_ jar: CookieJar) -> HTTPStack { transport.cookies(jar).redirect().server("\(base)/v1") }
        let jar = CookieJar(store: store)
        let form = RequestBody.form(["user": "joe", "password": "pw", "remember": "on"])
        let profile = try await stack(jar).send(Request(.post, "/login", body: form))
        let name = try await profile.text()
        try Tour.expect(name == #"{"name":"joe"}"#, "\(name) after \(profile.metadata.redirects.map(\.status.code))")
        Tour.result(jar.cookies.map { "\($0)" }.joined())

        Tour.step("The next start of the app is signed in", "try await jar.save()")
        try await jar.save()
        let next = CookieJar(store: store)
        let again = try await stack(next).send(Request(.get, "/profile"))
        try Tour.expect(again.metadata.redirects.isEmpty && next.count == 1, "\(again.status.code), with \(next)")

        Tour.step("Cookies for curl, and from curl", "CookieFile.netscape(of: jar.cookies)")
        let text = CookieFile.netscape(of: jar.cookies)
        let read = try CookieFile.netscape(parsing: Data(text.utf8))
        try Tour.expect(read.cookies.map(\.key) == jar.cookies.map(\.key), SafeText.counted(read.cookies.count, "cookie"))

        Tour.step("Sign out: the jar and its store are empty", "jar.removeAll()")
        jar.removeAll()
        try await jar.save()
        try Tour.expect(jar.count == 0 && store.load().isEmpty, "\(jar)")
    }

    private static func tokens(_ transport: NIOTransport, _ base: String) async throws {
        Tour.step(
            "Sign in with OAuth 2: discovery, a browser, PKCE",
            "try await tokens.signIn(oauth.token(for: authorization, redirect: redirect))")
        let server = try await OAuthServer.discover(issuer: base, via: transport)
        let refreshes = Mutex(0)
        let counted = transport.transformRequest { request in
            if request.head.path == "/oauth/token" { refreshes.withLock { $0 += 1 } }
        }
        let oauth = OAuthClient(server, clientID: "tour", via: counted)
        let store = MemoryTokenStore()
        let tokens = TokenSource(oauth, store: store)
        let authorization = try oauth.authorization(redirectURI: "http://127.0.0.1:1/callback", scopes: ["read"])
        // In place of a browser: this server redirects back at once.
        let page = try await transport.send(Request(.get, url: authorization.url))
        page.body.abandon()
        try await tokens.signIn(oauth.token(for: authorization, redirect: page.headers[.location] ?? ""))
        Tour.result("\(try await tokens.token())")

        Tour.step("Twenty requests meet an expired token", "transport.authenticate(.bearer(tokens))")
        let client = APIClient(transport.authenticate(.bearer(tokens)).server("\(base)/v1"))
        _ = try await transport.send(Request(.post, url: "\(base)/oauth/expire"))
        let before = refreshes.withLock { $0 }
        let names = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 { group.addTask { try await client.get("/account", as: Account.self).name } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let count = refreshes.withLock { $0 } - before
        try Tour.expect(
            names == Array(repeating: "joe", count: 20) && count == 1,
            "\(SafeText.counted(names.count, "response")), after \(SafeText.counted(count, "refresh", "refreshes"))"
        )

        Tour.step("Sign out", "try await oauth.revoke(tokens.signOut())")
        if let token = try await tokens.signOut() { try await oauth.revoke(token) }
        do {
            _ = try await client.get("/account", as: Account.self)
            try Tour.expect(false, "no error")
        } catch let error as AuthenticationError {
            try Tour.expect(error.code == .signedOut && store.load() == nil, "\(error)")
        }
    }
}
