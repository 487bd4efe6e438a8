#if Auth
import Errand
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandAuth

/// Sources that share a store, as processes do: each has a source of its own.
@Suite(.timeLimit(.minutes(5))) struct TokenSharingTests {
    /// Two values that use the same store.
    enum Kind: CaseIterable { case file, memory }

    private func withStores(_ kind: Kind, _ body: (any TokenStore, any TokenStore) async throws -> Void) async throws {
        switch kind {
        case .file:
            let folder = try TestFolder("tokens")
            let path = folder.file("token.json")
            try await body(FileTokenStore(atPath: path), FileTokenStore(atPath: path))
        case .memory:
            let store = MemoryTokenStore()
            try await body(store, store)
        }
    }

    private func token(_ name: String, expiresAt: Date? = nil) -> AccessToken {
        AccessToken(name, expiresAt: expiresAt, refreshToken: name + "-r")
    }

    private func source(_ store: any TokenStore, _ name: String) -> TokenSource {
        TokenSource(store: store) { old in AccessToken("\(name)-of-\(old.refreshToken ?? "nobody")", refreshToken: "next") }
    }

    // MARK: Accounts

    /// Ann's token expires when Bob has signed in elsewhere.
    @Test(arguments: Kind.allCases) func aSignInByAnotherProcessIsAnotherAccount(kind: Kind) async throws {
        try await withStores(kind) { first, second in
            let (a, b) = (source(first, "a"), source(second, "b"))
            try await a.signIn(token("ann"))
            try await b.signIn(token("bob"))
            let stub = StubTransport(
                Stub().matching("bob") { $0.headers[.authorization] == "Bearer bob" }.responds(.status(.ok)),
                Stub().responds(.status(.unauthorized)))
            let stack = stub.authenticate(.bearer(a))
            var changes = a.changes.makeAsyncIterator()
            let error = await #expect(throws: AuthenticationError.self) {
                try await stack.send(try Request(.get, url: "https://a.example/ann/inbox"))
            }
            #expect(error?.code == .accountChanged && stub.requests.map { $0.headers[.authorization] } == ["Bearer ann"])
            #expect(a.current?.value == "bob" && a.current?.signInID == nil)
            guard case .signedIn(let new)? = await changes.next() else {
                Issue.record("no sign-in was reported")
                return
            }
            #expect(new.value == "bob")
            // Requests that begin now belong to Bob.
            #expect(try await stack.send(try Request(.get, url: "https://a.example/bob/inbox")).status == .ok)
        }
    }

    @Test(arguments: Kind.allCases) func aTokenOfAnotherAccountIsNotRefreshedForARequestOfTheFirst(kind: Kind) async throws {
        try await withStores(kind) { first, second in
            let (a, b) = (source(first, "a"), source(second, "b"))
            try await a.signIn(token("ann", expiresAt: .distantPast))
            try await b.signIn(token("bob", expiresAt: .distantPast))
            let error = await #expect(throws: AuthenticationError.self) { try await a.token() }
            #expect(error?.code == .accountChanged)
            #expect(try await a.token().value == "a-of-bob-r")
        }
    }

    /// Bob signs in while Ann's token is being refreshed. Ann's new token does not replace Bob's token in the store.
    @Test(arguments: Kind.allCases) func aSignInDuringARefreshByAnotherProcessStays(kind: Kind) async throws {
        try await withStores(kind) { first, second in
            let (begun, mayEnd) = (Signal(), Signal())
            let a = TokenSource(store: first) { _ in
                begun.signal()
                await mayEnd.waitIgnoringCancellation()
                return AccessToken("ann-2", refreshToken: "ann-2-r")
            }
            try await a.signIn(token("ann", expiresAt: .distantPast))
            let waiting = Task { try await a.token() }
            await begun.waitIgnoringCancellation()
            // It does not wait for the refresh.
            try await source(second, "b").signIn(token("bob"))
            mayEnd.signal()
            let error = await #expect(throws: AuthenticationError.self) { try await waiting.value }
            #expect(error?.code == .accountChanged && a.current?.value == "bob")
            #expect(try await first.load()?.value == "bob")
        }
    }

    @Test(arguments: Kind.allCases) func aRefreshKeepsTheSignIn(kind: Kind) async throws {
        try await withStores(kind) { first, second in
            let a = source(first, "a")
            try await a.signIn(token("ann", expiresAt: .distantPast))
            let id = try #require(try await first.load()?.signInID)
            let b = source(second, "b")
            #expect(try await b.load()?.value == "ann")
            #expect(try await a.token().value == "a-of-ann-r")
            #expect(try await first.load()?.signInID == id)
            // The other source uses the new token.
            #expect(try await b.token().value == "a-of-ann-r")
            #expect(a.current?.signInID == nil && b.current?.signInID == nil)
            try await a.signIn(token("ann"))
            let next = try #require(try await first.load()?.signInID)
            #expect(next != id)
        }
    }

    // MARK: Signing out

    @Test(arguments: Kind.allCases) func aRefreshByAnotherProcessDoesNotUndoASignOut(kind: Kind) async throws {
        try await withStores(kind) { first, second in
            let (begun, mayEnd) = (Signal(), Signal())
            let c = TokenSource(store: first) { _ in
                begun.signal()
                await mayEnd.waitIgnoringCancellation()
                return AccessToken("carol-2", refreshToken: "carol-2-r")
            }
            try await c.signIn(token("carol", expiresAt: .distantPast))
            let d = source(second, "d")
            _ = try await d.load()
            let waiting = Task { try await c.token() }
            await begun.waitIgnoringCancellation()
            // It does not wait for the refresh.
            #expect(try await d.signOut()?.value == "carol")
            #expect(try await second.load() == nil)
            mayEnd.signal()
            let error = await #expect(throws: AuthenticationError.self) { try await waiting.value }
            #expect(error?.code == .signedOut && c.current == nil)
            #expect(try await first.load() == nil)
            #expect(try await source(second, "e").load() == nil)
        }
    }

    @Test(arguments: Kind.allCases) func aSignOutByAnotherProcessIsSeenByTheNextRefresh(kind: Kind) async throws {
        try await withStores(kind) { first, second in
            let refreshes = Mutex(0)
            let c = TokenSource(store: first) { _ in
                refreshes.withLock { $0 += 1 }
                return AccessToken("carol-2")
            }
            try await c.signIn(token("carol", expiresAt: .distantPast))
            let d = source(second, "d")
            try await d.signOut()
            let error = await #expect(throws: AuthenticationError.self) { try await c.token() }
            #expect(error?.code == .signedOut && refreshes.withLock { $0 } == 0)
            #expect(try await first.load() == nil)
        }
    }

    @Test(arguments: Kind.allCases) func aSignOutRemovesNoOtherAccount(kind: Kind) async throws {
        try await withStores(kind) { first, second in
            let (a, b) = (source(first, "a"), source(second, "b"))
            try await a.signIn(token("ann"))
            try await b.signIn(token("bob"))
            #expect(try await a.signOut()?.value == "ann")
            #expect(a.current == nil)
            #expect(try await first.load()?.value == "bob")
        }
    }

    /// If nothing keeps two processes from refreshing at the same time, the server refuses one refresh. The other process has the new
    /// token.
    @Test func aRefreshAlreadyDoneByAnotherProcessKeepsTheSession() async throws {
        let store = MemoryTokenStore()
        let (a, b) = (
            TokenSource(store: store) { old in
                let other = try #require(store.load())
                store.save(AccessToken("1", refreshToken: "r1").belonging(to: other.signInID))
                throw OAuthError(.invalidGrant, "used twice: \(old.refreshToken ?? "")")
            }, source(store, "b")
        )
        try await a.signIn(AccessToken("0", expiresAt: .distantPast, refreshToken: "r0"))
        _ = try await b.load()
        #expect(try await a.token().value == "1")
        #expect(store.load()?.value == "1" && a.current?.refreshToken == "r1")
    }

    // MARK: The file

    @Test func aFileOfAnEarlierVersionIsLoadedAndShared() async throws {
        let folder = try TestFolder("tokens")
        let path = folder.file("token.json")
        try Data(#"{"expiresAt":-1,"refreshToken":"r0","scopes":[],"value":"old"}"#.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let (a, b) = (source(FileTokenStore(atPath: path), "a"), source(FileTokenStore(atPath: path), "b"))
        #expect(try await a.load()?.value == "old")
        #expect(try await b.load()?.value == "old")
        #expect(try await a.token().value == "a-of-r0")
        #expect(try await b.token().value == "a-of-r0")
        #expect(try await FileTokenStore(atPath: path).load()?.signInID?.hasPrefix("token-") == true)
    }

    @Test func emptyTokensOfAFileAreMissing() async throws {
        let folder = try TestFolder("tokens")
        let path = folder.file("token.json")
        let store = FileTokenStore(atPath: path)
        func write(_ json: String) throws {
            try Data(json.utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        }
        try write(#"{"value":"t","refreshToken":"","idToken":"","signInID":"","scopes":[]}"#)
        let token = try #require(try await store.load())
        #expect(token.refreshToken == nil && token.idToken == nil && token.signInID == nil)
        #expect(AccessToken("t", refreshToken: "", idToken: "") == AccessToken("t"))
        try write(#"{"value":"","scopes":[]}"#)
        await #expect(throws: TokenFileError.self) { try await store.load() }
        // As any JSON: names that are slow to compare, and deep nesting, are not read.
        try write(#"{"value":"t","scopes":[],"a\#(String(repeating: "\u{300}\u{316}", count: 200))":1}"#)
        await #expect(throws: TokenFileError.self) { try await store.load() }
        try write(#"{"value":"t","scopes":[],"x":\#(String(repeating: "[", count: 200))\#(String(repeating: "]", count: 200))}"#)
        await #expect(throws: TokenFileError.self) { try await store.load() }
    }

    @Test func anEmptyRefreshTokenOfAServerKeepsTheOldOne() async throws {
        let tokens = TokenSource(AccessToken("0", expiresAt: .distantPast, refreshToken: "r0")) { _ in
            var new = AccessToken("1")
            new.refreshToken = ""
            return new
        }
        #expect(try await tokens.token().refreshToken == "r0")
    }

    @Test func aSecondEmptyRefreshTokenOfAnOAuthServerLosesNoSession() async throws {
        let sent = Mutex<[String]>([])
        let stub = StubTransport(
            Stub().responds(
                .custom { request in
                    let form = String(decoding: request.body, as: UTF8.self)
                    let count = sent.withLock { sent in
                        sent.append(form)
                        return sent.count
                    }
                    return (
                        HTTPResponse(status: .ok, headerFields: [.contentType: "application/json"]),
                        Data(#"{"access_token":"a\#(count)","token_type":"Bearer","refresh_token":"","id_token":""}"#.utf8)
                    )
                }))
        let client = OAuthClient(OAuthServer(tokenEndpoint: "https://auth.example/token"), clientID: "app", via: stub)
        var token = AccessToken("a0", refreshToken: "r1")
        for _ in 0..<2 { token = try await client.refresh(token) }
        #expect(token.value == "a2" && token.refreshToken == "r1" && token.idToken == nil)
        #expect(sent.withLock { $0 }.allSatisfy { $0.contains("refresh_token=r1") })
    }

    /// As `errand auth logout` does. A process that waits for a removed file and a process that locks the new file still exclude each
    /// other.
    @Test func aLockRemovedByItsHolderIsLockedAgain() async throws {
        let folder = try TestFolder("tokens")
        let path = folder.file("token.json")
        let holders = Watched((now: 0, most: 0, runs: 0))
        try await withThrowingTaskGroup(of: Void.self) { group in
            // The number is small, because each process waits for all others, at most 30 s.
            for _ in 0..<3 {
                group.addTask {
                    for _ in 0..<4 {
                        try await FileTokenStore(atPath: path).atomically {
                            holders.change { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.runs + 1) }
                            for _ in 0..<5 { await Task.yield() }
                            holders.change { $0.now -= 1 }
                            // The last that it does under the lock.
                            try FileManager.default.removeItem(atPath: path + ".write-lock")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(holders.value.most == 1 && holders.value.runs == 12)
    }
}
#endif
