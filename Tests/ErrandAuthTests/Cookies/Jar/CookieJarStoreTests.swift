#if Auth
import Errand
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandAuth

/// How a jar loads its store, and writes changes.
@Suite(.timeLimit(.minutes(5))) struct CookieJarStoreTests {
    private let date = ManualDate()

    private func cookie(_ name: String, value: String = "x", _ domain: String = "a.example", expires seconds: Int64? = 3_600) -> Cookie {
        Cookie(
            name: name, value: value, domain: domain,
            expires: seconds.map { HTTPDate(secondsSinceEpoch: date.now.secondsSinceEpoch + $0) }, created: date.now)
    }

    private func jar(_ store: RecordingCookieStore, account: CredentialIdentity? = nil) -> CookieJar {
        CookieJar(store: store, account: account, now: { [date] in date.date })
    }

    private func request() throws -> Request { try Request(.get, url: "https://a.example/x") }

    /// A server that sets a cookie, and the cookies that it got.
    private static func server(_ field: String? = nil) -> StubTransport {
        var fields = HTTPFields()
        if let field { fields.append(HTTPField(name: .setCookie, value: field)) }
        return StubTransport(Stub().responds(.status(.ok, headers: fields)))
    }

    // MARK: Loading

    @Test func theFirstRequestLoadsTheStore() async throws {
        let store = RecordingCookieStore([cookie("a"), cookie("b", "b.example")])
        let (jar, stub) = (jar(store), Self.server())
        let stack = stub.cookies(jar)
        for _ in 0..<3 { _ = try await stack.send(try request()) }
        #expect(stub.requests.map { $0.headers[.cookie] } == ["a=x", "a=x", "a=x"])
        #expect(store.log == ["load"] && jar.count == 2)
    }

    @Test func manyFirstRequestsLoadTheStoreOnce() async throws {
        let store = RecordingCookieStore([cookie("a")])
        let (jar, stub) = (jar(store), Self.server())
        let stack = stub.cookies(jar)
        let request = try request()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { _ = try await stack.send(request) } }
            try await group.waitForAll()
        }
        #expect(stub.requests.count == 20 && stub.requests.allSatisfy { $0.headers[.cookie] == "a=x" })
        #expect(store.log == ["load"])
    }

    @Test func anUnreadableStoreIsAnErrorAndLosesNoCookie() async throws {
        let store = RecordingCookieStore([cookie("a")], failingLoads: 2)
        let (jar, stub) = (jar(store), Self.server("b=2; Max-Age=60"))
        let stack = stub.cookies(jar)
        for _ in 0..<2 {
            let error = await #expect(throws: CookieJarError.self) { _ = try await stack.send(try request()) }
            #expect(error?.code == .loadFailed && error?.delivery == .notSent && error?.failureNumber == .cookieStore)
            #expect(error?.underlying as? TestError == TestError("damaged"))
            let text = "GET https://a.example/x: the cookies could not be loaded: TestError (not sent)"
            #expect(error?.description == text)
        }
        #expect(stub.requests.isEmpty)
        _ = try await stack.send(try request())
        try await jar.save()
        #expect(stub.requests.map { $0.headers[.cookie] } == ["a=x"])
        #expect(await store.names == ["a", "b"])
        #expect(store.log == ["load", "load", "load", "+b"])
    }

    @Test func changesBeforeTheLoadStay() async throws {
        let isReadable = Watched(false)
        let store = RecordingCookieStore([cookie("a"), cookie("b"), cookie("c"), cookie("d")], isReadable: isReadable)
        let jar = jar(store)
        try jar.set(cookie("a", value: "new"))
        try jar.set(cookie("b", value: "session", expires: nil))
        #expect(!jar.remove(cookie("c").key), "the cookie is not known yet")
        isReadable.change { $0 = true }
        try await jar.save()
        #expect(Dictionary(uniqueKeysWithValues: jar.cookies.map { ($0.name, $0.value) }) == ["a": "new", "b": "session", "d": "x"])
        #expect(Set(await store.names) == ["a", "d"])
    }

    @Test func invalidCookiesOfAStoreAreIgnored() async throws {
        let store = RecordingCookieStore([
            cookie("a"), cookie("a;b"), cookie("c", "com"), cookie("d", expires: -1), cookie("e", "A.example"),
            Cookie(name: "f", value: "x", domain: "com", isHostOnly: false, expires: HTTPDate(secondsSinceEpoch: .max), created: date.now),
            Cookie(name: "g", value: "x", domain: "a.example", expires: HTTPDate(secondsSinceEpoch: .max), created: date.now),
        ])
        let jar = jar(store)
        try await jar.load()
        #expect(Set(jar.cookies.map(\.name)) == ["a", "c", "g"], "c belongs to the host com alone")
        date.move(bySeconds: 400 * 86_400)
        #expect(jar.cookies.isEmpty)
    }

    @Test func theDeadlineLimitsTheLoad() async throws {
        let (clock, isReadable) = (ManualClock(), Watched(false))
        defer { isReadable.change { $0 = true } }
        let stack = Self.server().cookies(jar(RecordingCookieStore(isReadable: isReadable))).timeout(.seconds(5), clock: clock)
        let error = await #expect(throws: TransportError.self) {
            try await clock.advancingToSleepers { try await stack.send(try request()) }
        }
        #expect(error?.code == .timedOut && error?.phase == .queue && error?.delivery == .notSent)
    }

    // MARK: Writing

    @Test func changesAreWrittenAfterTheResponse() async throws {
        let store = RecordingCookieStore()
        let jar = jar(store)
        let stack = Self.server("a=1; Max-Age=60").cookies(jar)
        for _ in 0..<2 { _ = try await stack.send(try request()) }
        try await jar.save()
        #expect(store.log == ["load", "+a"], "the same cookie is not written again")
        date.move(bySeconds: 1)
        _ = try await stack.send(try request())
        try await jar.save()
        #expect(store.log == ["load", "+a", "+a"], "the date of expiry has changed")
    }

    @Test func changesDuringAWriteAreWrittenTogether() async throws {
        let isWritable = Watched(false)
        let store = RecordingCookieStore(isWritable: isWritable)
        let jar = jar(store)
        try jar.set(cookie("a"))
        try await store.calls.wait { $0 == ["load", "+a"] }
        for name in ["b", "c", "d"] { try jar.set(cookie(name)) }
        #expect(jar.remove(cookie("a").key) && jar.remove(cookie("d").key))
        isWritable.change { $0 = true }
        try await jar.save()
        #expect(store.log == ["load", "+a", "+b +c -a"])
        #expect(Set(await store.names) == ["b", "c"])
        #expect(Set(jar.cookies.map(\.name)) == ["b", "c"])
    }

    @Test func cookiesOfTheSessionAreNotWritten() async throws {
        let store = RecordingCookieStore([cookie("a")])
        let jar = jar(store)
        try await jar.load()
        try jar.set(cookie("s", expires: nil))
        try await jar.save()
        #expect(store.log == ["load"])
        // A cookie of the session replaces a stored cookie.
        try jar.set(cookie("a", value: "session", expires: nil))
        try await jar.save()
        #expect(store.log == ["load", "-a"] && jar.count == 2)
    }

    @Test func aFailedWriteIsRepeatedWithTheNextChange() async throws {
        let store = RecordingCookieStore([cookie("z")])
        let jar = jar(store)
        try await jar.load()
        await store.failWrites(.max)
        try jar.set(cookie("a"))
        #expect(jar.remove(cookie("z").key))
        let error = await #expect(throws: CookieJarError.self) { try await jar.save() }
        #expect(error?.code == .saveFailed && error?.description == "the cookies could not be saved: TestError")
        #expect(jar.saveFailure?.code == .saveFailed && Set(jar.cookies.map(\.name)) == ["a"])
        await store.failWrites(0)
        try jar.set(cookie("b"))
        try await jar.save()
        #expect(Set(await store.names) == ["a", "b"] && jar.saveFailure == nil)
    }

    @Test func aChangeDuringAFailingWriteIsWritten() async throws {
        let isWritable = Watched(false)
        let store = RecordingCookieStore(isWritable: isWritable)
        let jar = jar(store)
        await store.failWrites(1)
        try jar.set(cookie("a"))
        try await store.calls.wait { $0 == ["load", "+a"] }
        try jar.set(cookie("b"))
        isWritable.change { $0 = true }
        // Nobody calls `save`.
        try await store.calls.wait { $0 == ["load", "+a", "+a +b"] }
    }

    @Test func aSaveIsNotRefusedBecauseAnEarlierWriteFails() async throws {
        let isWritable = Watched(false)
        let store = RecordingCookieStore([cookie("a")], isWritable: isWritable)
        let jar = jar(store)
        try await jar.load()
        await store.failWrites(1)
        try jar.set(cookie("b"))
        try await store.calls.wait { $0.contains("+b") }
        jar.removeAll()
        async let saved: Void = jar.save()
        await eventually { jar.writer.waiterCount == 1 }
        isWritable.change { $0 = true }
        try await saved
        #expect(await store.names.isEmpty && jar.saveFailure == nil)
    }

    @Test func aCancelledSaveStillWrites() async throws {
        let isWritable = Watched(false)
        let store = RecordingCookieStore(isWritable: isWritable)
        let jar = jar(store)
        try jar.set(cookie("a"))
        try await store.calls.wait { $0 == ["load", "+a"] }
        try jar.set(cookie("b"))
        let task = Task { try await jar.save() }
        task.cancel()
        isWritable.change { $0 = true }
        try await task.value
        #expect(await store.names == ["a", "b"])
    }

    // MARK: Other processes

    @Test func theCookiesOfOtherProcessesAreTakenOver() async throws {
        let store = RecordingCookieStore([cookie("a"), cookie("b"), cookie("c")])
        let jar = jar(store)
        try await jar.load()
        let (new, changed) = (cookie("n"), cookie("b", value: "other"))
        await store.change { $0 = [changed, $0[2], new] }
        try jar.set(cookie("c", value: "own"))
        try jar.set(cookie("s", expires: nil))
        try await jar.save()
        #expect(
            Dictionary(uniqueKeysWithValues: jar.cookies.map { ($0.name, $0.value) }) == ["b": "other", "c": "own", "n": "x", "s": "x"])
        #expect(Set(await store.names) == ["b", "c", "n"])
    }

    @Test func aRemovalOfAllCookiesReachesTheCookiesOfOtherProcesses() async throws {
        let store = RecordingCookieStore([cookie("a")])
        let jar = jar(store)
        try await jar.load()
        let other = cookie("n")
        await store.change { $0.append(other) }
        jar.removeAll()
        try await jar.save()
        #expect(await store.names.isEmpty && jar.count == 0)
        // A cookie that another process stores later stays.
        date.move(bySeconds: 10)
        let later = cookie("later")
        await store.change { $0.append(later) }
        try jar.set(cookie("own"))
        try await jar.save()
        #expect(Set(await store.names) == ["later", "own"] && jar.count == 2)
    }

    @Test func aRemovalBeforeTheLoadEmptiesTheStore() async throws {
        let store = RecordingCookieStore([cookie("a"), cookie("b")])
        let jar = jar(store)
        jar.removeAll()
        try await jar.save()
        #expect(await store.names.isEmpty && jar.count == 0)
    }

    @Test func aRemovalOfASiteReachesCookiesThatTheJarDoesNotKnow() async throws {
        let store = RecordingCookieStore([cookie("a"), cookie("b", "www.a.example"), cookie("c", "b.example")])
        let jar = jar(store)
        // The store was not loaded yet.
        jar.removeAll(ofSite: try HTTPURL("https://a.example/"))
        try await jar.save()
        #expect(await store.names == ["c"] && jar.cookies.map(\.name) == ["c"])
        // Another process has stored a cookie of the site.
        let other = cookie("n")
        await store.change { $0.append(other) }
        jar.removeAll(ofSite: try HTTPURL("https://www.a.example/"))
        try await jar.save()
        #expect(await store.names == ["c"] && jar.count == 1)
        // A cookie that another process stores later stays.
        date.move(bySeconds: 10)
        let later = cookie("later")
        await store.change { $0.append(later) }
        try jar.set(cookie("own"))
        try await jar.save()
        #expect(Set(await store.names) == ["c", "later", "own"] && jar.count == 3)
    }

    /// If there are more sites than the limit, the earliest removal counts as a removal of all cookies.
    @Test(arguments: [257, Removals.siteLimit, Removals.siteLimit + 1]) func noRemovalOfASiteIsForgotten(_ count: Int) async throws {
        let isReadable = Watched(false)
        let stored = (0..<count).map { cookie("s\($0)", "s\($0).example") } + [cookie("other", "b.example")]
        date.move(bySeconds: 10)
        let store = RecordingCookieStore(stored, isReadable: isReadable)
        let jar = jar(store)
        for number in 0..<count { jar.removeAll(ofSite: try HTTPURL("https://www.s\(number).example/")) }
        try jar.set(cookie("own", "s0.example"))
        isReadable.change { $0 = true }
        try await jar.save()
        let names: Set = count > Removals.siteLimit ? ["own"] : ["own", "other"]
        #expect(Set(await store.names) == names && Set(jar.cookies.map(\.name)) == names)
        // The store has the removals now. A cookie that another process stores later stays.
        let later = cookie("later", "s1.example")
        await store.change { $0.append(later) }
        try jar.set(cookie("own2", "s0.example"))
        try await jar.save()
        #expect(Set(await store.names) == names.union(["later", "own2"]))
    }

    @Test func aServerRemovesItsCookiesFromAStoreThatWasNotLoaded() async throws {
        let store = RecordingCookieStore([cookie("a"), cookie("c", "b.example")])
        let jar = jar(store)
        let name = try #require(HTTPField.Name("Clear-Site-Data"))
        let stub = StubTransport(Stub().responds(.status(.ok, headers: [name: "\"cookies\""])))
        var request = try request()
        // The jar adds no cookie to this request, and needs no cookie of the store.
        request.headers[.cookie] = "own=1"
        _ = try await stub.cookies(jar).send(request)
        try await jar.save()
        #expect(await store.names == ["c"] && jar.cookies.map(\.name) == ["c"])
    }

    // MARK: Accounts

    private static let joe = CredentialIdentity(scheme: "bearer", account: "joe")

    @Test(
        arguments: [
            (nil, joe, true), (joe, joe, true), (joe, CredentialIdentity(scheme: "bearer", account: "joe", "token"), true),
            (joe, CredentialIdentity(scheme: "bearer", account: "eve"), false),
            (joe, CredentialIdentity(scheme: "basic", account: "joe"), false),
            (CredentialIdentity(scheme: "own", "1"), CredentialIdentity(scheme: "own", "1"), true),
            (CredentialIdentity(scheme: "own", "1"), CredentialIdentity(scheme: "own", "2"), false),
            (joe, CredentialIdentity(scheme: "own", "1"), false),
        ] as [(CredentialIdentity?, CredentialIdentity, Bool)])
    func aSignOutRemovesTheCookiesOfTheAccount(_ account: CredentialIdentity?, _ identity: CredentialIdentity, _ isRemoved: Bool)
        async throws
    {
        let store = RecordingCookieStore([cookie("a")])
        let jar = jar(store, account: account)
        try await jar.forget(identity)
        try await jar.load()
        #expect(jar.account == account && jar.count == (isRemoved ? 0 : 1))
        #expect(await store.names.isEmpty == isRemoved)
    }

    @Test func aSignOutOfATokenSourceEmptiesTheJar() async throws {
        let jar = CookieJar()
        try jar.set(cookie("a"))
        let tokens = TokenSource(AccessToken("token")) { _ in throw CancellationError() }
        try await tokens.signOut(clearing: [jar])
        #expect(jar.count == 0)
    }
}
#endif
