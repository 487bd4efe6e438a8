#if Auth
import Errand
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandAuth

@Suite(.timeLimit(.minutes(5))) struct TokenSourceTests {
    private func request() throws -> Request { try Request(.get, url: "https://a.example/x") }

    // MARK: The time of a refresh

    @Test func aTokenIsRefreshedBeforeItExpiresWhileItIsStillUsed() async throws {
        let dates = ManualDate()
        let counter = Counter()
        let tokens = TokenSource(
            AccessToken("0", expiresAt: dates.date + 3_600, refreshToken: "r"), now: { dates.date }, random: { 0.999 },
            refresh: { _ in AccessToken("\(counter.add())", expiresAt: dates.date + 3_600) })
        // A tenth of its life is 360 s; with jitter, up to 180 s more.
        dates.move(bySeconds: 3_600 - 541)
        #expect(try await tokens.token().value == "0")
        #expect(counter.value == 0)
        dates.move(bySeconds: 2)
        #expect(try await tokens.token().value == "0")
        await eventually { tokens.current?.value == "1" }
        #expect(tokens.current?.refreshToken == "r")
        // If the token has expired, requests wait for the refresh.
        dates.move(bySeconds: 3_601)
        #expect(try await tokens.token().value == "2")
    }

    @Test func aShortLivedTokenIsUsedForHalfOfItsLife() {
        let start = Date(timeIntervalSince1970: 0)
        func date(_ life: Double, _ random: Double = 0) -> Double? {
            RefreshPolicy.standard.proactiveDate(of: AccessToken("t", expiresAt: start + life), obtainedAt: start, random: random)?
                .timeIntervalSince1970
        }
        #expect(date(60) == 30 && date(60, 0.99) == 30)
        #expect(date(600) == 540 && date(3_600) == 3_240 && date(0) == 0 && date(-5) == -5)
        #expect(RefreshPolicy.standard.proactiveDate(of: AccessToken("t"), obtainedAt: start, random: 0) == nil)
    }

    @Test func aFailedBackgroundRefreshIsRetriedLater() async throws {
        let dates = ManualDate()
        let counter = Counter()
        let tokens = TokenSource(
            AccessToken("0", expiresAt: dates.date + 1_000), now: { dates.date }, random: { 0 },
            refresh: { _ in
                if counter.add() == 1 { throw TestError() }
                return AccessToken("new", expiresAt: dates.date + 1_000)
            })
        let first = try await tokens.issue(by: nil, for: nil)
        dates.move(bySeconds: 901)
        for _ in 0..<20 { #expect(try await tokens.token().value == "0") }
        await eventually { counter.value == 1 }
        // A request whose token was refused waits for the end of that refresh.
        await #expect(throws: AuthenticationError.self) { try await tokens.issue(refusing: first, by: nil, for: nil) }
        for _ in 0..<20 { #expect(try await tokens.token().value == "0") }
        #expect(counter.value == 1)
        dates.move(bySeconds: 30)
        #expect(try await tokens.token().value == "0")
        await eventually { tokens.current?.value == "new" }
    }

    /// If the server rotates refresh tokens, the server no longer accepts the old refresh token.
    @Test(arguments: [nil, Deadline(after: .seconds(60))]) func aRefreshContinuesWithoutItsCaller(deadline: Deadline?) async throws {
        let (begins, continues) = (Watched(false), Watched(false))
        let tokens = TokenSource(AccessToken("0", expiresAt: .distantPast)) { _ in
            begins.change { $0 = true }
            try await continues.wait { $0 }
            try Task.checkCancellation()
            return AccessToken("1", refreshToken: "rotated")
        }
        let caller = Task { try await tokens.token(by: deadline) }
        try await begins.wait { $0 }
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        continues.change { $0 = true }
        await eventually { tokens.current?.refreshToken == "rotated" }
    }

    @Test func refreshesAreLimitedToFiveInThirtySeconds() async throws {
        let dates = ManualDate()
        let counter = Counter()
        let stub = StubTransport(Stub().responds(.status(.unauthorized)))
        let tokens = TokenSource(
            AccessToken("0"), now: { dates.date }, refresh: { _ in AccessToken("\(counter.add())") })
        let stack = stub.authenticate(.bearer(tokens))
        // The server also refuses each new token. A call refreshes the token once, and ends with the response.
        for number in 1...5 {
            let response = try await stack.send(try request())
            #expect(response.status == .unauthorized && response.metadata.authenticationStop == .refused)
            #expect(counter.value == number && stub.requests.count == 2 * number)
        }
        let error = await #expect(throws: AuthenticationError.self) { try await stack.send(try request()) }
        #expect(error?.code == .tooManyRefreshes && error?.response?.status == .unauthorized)
        #expect(counter.value == 5)
        dates.move(bySeconds: 31)
        #expect(try await stack.send(try request()).status == .unauthorized)
        #expect(counter.value == 6)
    }

    /// The clock of this machine is a day ahead.
    @Test func anAlreadyExpiredTokenIsUsed() async throws {
        let dates = ManualDate()
        let counter = Counter()
        let stub = StubTransport(Stub().responds(.status(.ok), .status(.ok), .status(.unauthorized), .status(.ok)))
        let tokens = TokenSource(AccessToken("0", expiresAt: .distantPast), now: { dates.date }) { _ in
            AccessToken("\(counter.add())", expiresAt: dates.date - 82_800)
        }
        let stack = stub.authenticate(.bearer(tokens))
        for _ in 0..<3 { #expect(try await stack.send(try request()).status == .ok) }
        #expect(stub.requests.map { $0.headers[.authorization] } == ["Bearer 1", "Bearer 1", "Bearer 1", "Bearer 2"])
    }

    @Test func theStoreCanBeReadAtTheStartWithoutARequest() async throws {
        let tokens = TokenSource(store: MemoryTokenStore(AccessToken("kept", expiresAt: .distantPast))) { _ in throw Self.refused }
        #expect("\(tokens)" == "token source, not loaded yet")
        #expect(try await tokens.load()?.value == "kept")
        #expect("\(tokens)" == "token source, signed in")
        let empty = TokenSource(store: MemoryTokenStore()) { _ in throw Self.refused }
        #expect(try await empty.load() == nil && "\(empty)" == "token source, signed out")
    }

    @Test(arguments: ["insufficient_scope", "invalid_request"]) func otherErrorsOfBearerRefreshNothing(error: String) async throws {
        let stub = StubTransport(
            Stub().responds(
                .status(.forbidden, headers: [.wwwAuthenticate: #"Bearer error="\#(error)""#]),
                .status(.unauthorized, headers: [.wwwAuthenticate: #"Bearer error="\#(error)""#])))
        let tokens = TokenSource(AccessToken("0")) { _ in throw CancellationError() }
        let stack = stub.authenticate(.bearer(tokens))
        #expect(try await stack.send(try request()).status == .forbidden)
        #expect(try await stack.send(try request()).metadata.authenticationStop == .refused)
    }

    // MARK: The same client

    @Test func aRefreshThroughTheSameClientGoesWithoutTheToken() async throws {
        let stub = StubTransport(
            Stub(.post, "/token").responds(.json(["access": "new"])),
            Stub().matching("new") { $0.headers[.authorization] == "Bearer new" }.responds(.status(.ok)),
            Stub().responds(.status(.unauthorized)))
        let holder = Mutex<HTTPStack?>(nil)
        let tokens = TokenSource(AccessToken("old")) { _ in
            let stack = try #require(holder.withLock { $0 })
            let response = try await stack.send(try Request(.post, url: "https://a.example/token"))
            let values = try JSONDecoder().decode([String: String].self, from: try await response.body.collect())
            return AccessToken(try #require(values["access"]))
        }
        let stack = stub.authenticate(.bearer(tokens))
        holder.withLock { $0 = stack }
        #expect(try await stack.send(try request()).status == .ok)
        #expect(stub.requests.map { $0.headers[.authorization] } == ["Bearer old", nil, "Bearer new"])
    }

    /// The challenge holds the only place of the limit, and its body does not end.
    @Test(arguments: [0, 1_000, 1_000_000]) func aRefreshThroughTheSameClientNeedsNoSecondConnection(bytes: Int) async throws {
        let stub = StubTransport(
            Stub(.post, "/token").responds(.json(["access": "new"])),
            Stub().matching("new") { $0.headers[.authorization] == "Bearer new" }.responds(.status(.ok)),
            Stub().responds(
                .streaming { _, _ in
                    (
                        HTTPResponse(status: .unauthorized),
                        ScriptedBodySource(chunks: [Data(repeating: 0x61, count: max(1, bytes))], then: bytes > 0 ? .end : .stall)
                    )
                }))
        let holder = Mutex<HTTPStack?>(nil)
        let tokens = TokenSource(AccessToken("old")) { _ in
            let stack = try #require(holder.withLock { $0 })
            let response = try await stack.send(try Request(.post, url: "https://a.example/token"))
            return AccessToken(try await response.json(as: [String: String].self)["access"] ?? "")
        }
        let stack = stub.concurrencyLimit(1).authenticate(.bearer(tokens)).timeout(.seconds(110))
        holder.withLock { $0 = stack }
        #expect(try await stack.send(try request()).status == .ok)
        #expect(stub.openBodyCount == 0)
        holder.withLock { $0 = nil }
    }

    /// A stream can't be sent again, but the next request must succeed.
    @Test func anUnrepeatableBodyStillRefreshesTheToken() async throws {
        let stub = StubTransport(
            Stub().matching("new") { $0.headers[.authorization] == "Bearer new" }.responds(.status(.ok)),
            Stub().responds(.status(.unauthorized, text: "no")))
        let tokens = TokenSource(AccessToken("old")) { _ in AccessToken("new") }
        let stack = stub.authenticate(.bearer(tokens))
        func upload() throws -> Request {
            try Request(.post, url: "https://a.example/x", body: .stream(AsyncStream<Data> { $0.finish() }))
        }
        let first = try await stack.send(try upload())
        #expect(first.status == .unauthorized && first.metadata.authenticationStop == .bodyCannotBeReplayed)
        #expect(try await first.text() == "no")
        #expect(try await stack.send(try upload()).status == .ok)
    }

    @Test func aTaskStartedByARefreshGetsTokensAfterTheRefresh() async throws {
        let mayGo = Signal()
        let later = Mutex<Task<AccessToken, any Error>?>(nil)
        let holder = Mutex<TokenSource?>(nil)
        let tokens = TokenSource(AccessToken("old", expiresAt: .distantPast)) { _ in
            let source = try #require(holder.withLock { $0 })
            let task = Task {
                await mayGo.waitIgnoringCancellation()
                return try await source.token()
            }
            later.withLock { $0 = task }
            return AccessToken("new")
        }
        holder.withLock { $0 = tokens }
        #expect(try await tokens.token().value == "new")
        mayGo.signal()
        #expect(try await later.withLock { $0 }?.value.value == "new")
        holder.withLock { $0 = nil }
    }

    @Test func finishingWaitsForTheRefreshAlsoInACancelledTask() async throws {
        let (begun, mayGo) = (Signal(), Signal())
        let store = MemoryTokenStore()
        let tokens = TokenSource(store: store) { _ in
            begun.signal()
            await mayGo.waitIgnoringCancellation()
            return AccessToken("new")
        }
        try await tokens.signIn(AccessToken("old", expiresAt: .distantPast))
        let caller = Task { try await tokens.token() }
        await begun.waitIgnoringCancellation()
        caller.cancel()
        let finish = Task { await tokens.finish() }
        finish.cancel()
        mayGo.signal()
        await finish.value
        #expect(store.load()?.value == "new")
        // It does not wait for ever.
        let stuck = TokenSource(AccessToken("old", expiresAt: .distantPast)) { _ in
            try await untilCancelled()
        }
        let (other, clock) = (Task { try await stuck.token() }, ManualClock())
        await eventually { stuck.flights.count > 0 }
        let limited = Task { await stuck.finish(within: .seconds(3), clock: clock) }
        try await clock.sleepers(atLeast: 1)
        #expect(clock.nextSleeper == .seconds(3))
        clock.advance(by: .seconds(3))
        await limited.value
        other.cancel()
    }

    @Test func theTokenIsUnavailableWithinItsRefresh() async throws {
        let holder = Mutex<TokenSource?>(nil)
        let tokens = TokenSource(AccessToken("old", expiresAt: .distantPast)) { _ in
            try await #require(holder.withLock { $0 }).token()
        }
        holder.withLock { $0 = tokens }
        let error = await #expect(throws: AuthenticationError.self) { try await tokens.token() }
        #expect(error?.code == .refreshFailed && (error?.underlying as? AuthenticationError)?.code == .withinRefresh)
        holder.withLock { $0 = nil }
    }

    // MARK: Failures

    /// ``OAuthError`` that is final.
    private static let refused = OAuthError(.invalidGrant, "for good")

    @Test func aRefusedRefreshSignsOut() async throws {
        let store = MemoryTokenStore()
        let tokens = TokenSource(store: store) { _ in throw Self.refused }
        try await tokens.signIn(AccessToken("0", expiresAt: .distantPast))
        var changes = tokens.changes.makeAsyncIterator()
        for _ in 0..<2 {
            let error = await #expect(throws: AuthenticationError.self) { try await tokens.token() }
            #expect(error?.code == .refreshRefused && error?.underlying is OAuthError)
        }
        #expect(tokens.current == nil && store.load() == nil)
        guard case .signedOut(let error?) = await changes.next(), error is OAuthError else {
            Issue.record("not signed out")
            return
        }
        try await tokens.signIn(AccessToken("1"))
        #expect(try await tokens.token().value == "1")
    }

    /// A server that gives no refresh token: the access token is good until it expires.
    @Test func aTokenThatCannotBeRefreshedIsUsedToItsEnd() async throws {
        let dates = ManualDate()
        let counter = Counter()
        let store = MemoryTokenStore()
        let tokens = TokenSource(
            store: store, now: { dates.date }, random: { 0 },
            refresh: { _ in
                counter.add()
                throw Self.refused
            })
        try await tokens.signIn(AccessToken("0", expiresAt: dates.date + 1_000))
        dates.move(bySeconds: 950)
        for _ in 0..<20 { #expect(try await tokens.token().value == "0") }
        await eventually { counter.value == 1 }
        for _ in 0..<20 { #expect(try await tokens.token().value == "0") }
        #expect(counter.value == 1 && store.load()?.value == "0")
        dates.move(bySeconds: 51)
        let error = await #expect(throws: AuthenticationError.self) { try await tokens.token() }
        #expect(error?.code == .refreshRefused && tokens.current == nil && store.load() == nil && counter.value == 2)
    }

    /// Servers say in different ways that a person must sign in again.
    @Test func permanentRefusalsOfARefreshAreRecognized() async throws {
        let unauthorized = HTTPResponse(status: .unauthorized)
        func refused(_ status: HTTPResponse.Status) async throws -> StatusError {
            try await StatusError(reading: Response(head: HTTPResponse(status: status), request: try request()))
        }
        var envelope = ServiceError(40_102, message: "Session expired.")
        envelope.response = unauthorized
        let final: [any Error] = [
            try await refused(.unauthorized), envelope, ServiceError(40_102, equivalentStatus: .unauthorized), Self.refused,
            OAuthError(.noRefreshToken),
        ]
        for error in final { #expect(TokenSource.isFinalRefreshError(error) && error.needsSignIn, "\(error)") }
        let passing: [any Error] = [
            try await refused(.badGateway), ServiceError(50_301), OAuthError(.temporarilyUnavailable),
            TransportError(.cannotConnect, phase: .connect, request: nil, delivery: .notSent), CancellationError(),
            AuthenticationError(.refreshFailed, response: unauthorized),
        ]
        for error in passing { #expect(!TokenSource.isFinalRefreshError(error) && !error.needsSignIn, "\(error)") }
    }

    @Test func aRefreshThatIsRefusedInAnEnvelopeSignsOut() async throws {
        let store = MemoryTokenStore()
        let tokens = TokenSource(store: store) { _ in throw ServiceError(40_102, equivalentStatus: .unauthorized) }
        try await tokens.signIn(AccessToken("0", expiresAt: .distantPast))
        let error = await #expect(throws: AuthenticationError.self) { try await tokens.token() }
        #expect(error?.code == .refreshRefused && tokens.current == nil && store.load() == nil)
    }

    @Test func anErrorPropertyRequestsASignIn() async throws {
        for code in [AuthenticationError.Code.signedOut, .refreshRefused] { #expect(AuthenticationError(code).needsSignIn) }
        for code in [AuthenticationError.Code.refreshFailed, .storeFailed, .accountChanged, .withinRefresh, .tooManyRefreshes] {
            #expect(!AuthenticationError(code, response: HTTPResponse(status: .unauthorized)).needsSignIn, "\(code)")
        }
        // The refresh needs the sign-in of another account.
        #expect(AuthenticationError(.refreshFailed, underlying: AuthenticationError(.signedOut)).needsSignIn)
        #expect(AuthenticationError(.signedOut).recoverySuggestion == "Sign in, then try again.")
        #expect(AuthenticationError(.refreshRefused).recoverySuggestion == "Sign in again, then try again.")
        let tokens = TokenSource(AccessToken("0")) { _ in throw Self.refused }
        try await tokens.signOut()
        do {
            _ = try await StubTransport().authenticate(.bearer(tokens)).send(try request())
            Issue.record("it was sent")
        } catch {
            #expect(error.needsSignIn && !error.isUnauthorized)
        }
    }

    /// What an app asks of an error, and what it shows, must not depend on whether its token had expired.
    @Test(arguments: [HTTPResponse.Status?.none, .unauthorized])
    func aTransientRefreshFailureHasTheErrorGroupOfItsCause(challenge: HTTPResponse.Status?) async throws {
        let refresh = try Request(.post, url: "https://auth.example/token")
        func transport(_ code: TransportError.Code, _ phase: ExchangePhase) -> TransportError {
            TransportError(code, phase: phase, request: refresh, delivery: .notSent)
        }
        func failed(_ cause: any Error) async throws -> AuthenticationError {
            let tokens = TokenSource(AccessToken("0", expiresAt: challenge == nil ? .distantPast : nil)) { _ in throw cause }
            let stub = StubTransport(Stub().responds(.status(challenge ?? .ok)))
            let error = await #expect(throws: AuthenticationError.self) {
                try await stub.authenticate(.bearer(tokens)).send(try request())
            }
            return try #require(error)
        }
        let offline = try await failed(transport(.cannotConnect, .connect))
        #expect(offline.isConnectivityError && !offline.isTimeout && !offline.isUnauthorized && !offline.isClientError)
        #expect(offline.localizedDescription == "Could not connect to the server." && offline.failureNumber == .cannotConnect)
        #expect(offline.recoverySuggestion == "Check the network connection, or try again later.")
        #expect(!offline.needsSignIn && offline.request?.url?.host.description == "a.example")
        let slow = try await failed(transport(.timedOut, .response))
        #expect(slow.isTimeout && !slow.isConnectivityError)
        #expect(slow.localizedDescription == "The server did not respond in time.")
        let head = HTTPResponse(status: .serviceUnavailable, headerFields: [.retryAfter: "7"])
        let down = try await failed(try await StatusError(reading: Response(head: head, request: refresh)))
        #expect(down.isServerError && !down.isClientError && !down.isUnauthorized && down.recoverySuggestion == "Try again in 7 seconds.")
        #expect(down.localizedDescription == "The server could not process the request.")
        // A refresh that needs another sign-in, and an error that is not of a request.
        let nested = AuthenticationError(.refreshFailed, underlying: offline)
        #expect(nested.isConnectivityError && nested.localizedDescription == offline.localizedDescription)
        let refused = try await failed(OAuthError(.invalidClient))
        #expect(refused.isUnauthorized == (challenge != nil))
        #expect(refused.localizedDescription == "Could not sign in.")
        // Only the reason decides. The cause does not matter.
        let final = AuthenticationError(.refreshRefused, underlying: transport(.cannotConnect, .connect))
        #expect(!final.isConnectivityError && final.localizedDescription == "You are not signed in any more.")
    }

    @Test func aTokenThatAServerHasRefusedIsDroppedWithItsRefresh() async throws {
        let dates = ManualDate()
        let counter = Counter()
        let tokens = TokenSource(AccessToken("0", expiresAt: dates.date + 1_000), now: { dates.date }, random: { 0 }) { _ in
            counter.add()
            throw Self.refused
        }
        let first = try await tokens.issue(by: nil, for: nil)
        dates.move(bySeconds: 950)
        _ = try await tokens.token()
        await eventually { counter.value == 1 }
        #expect(tokens.current?.value == "0")
        let error = await #expect(throws: AuthenticationError.self) { try await tokens.issue(refusing: first, by: nil, for: nil) }
        #expect(error?.code == .refreshRefused && tokens.current == nil)
    }

    @Test func aPolicyWithoutLeadTimeRefreshesNothingInTheBackground() {
        let policy = RefreshPolicy(leadTime: .zero)
        let start = Date(timeIntervalSince1970: 0)
        #expect(policy.proactiveDate(of: AccessToken("t", expiresAt: start + 600), obtainedAt: start, random: 0) == nil)
    }

    @Test func manyFailuresInAShortTimeSayWhy() async throws {
        let tokens = TokenSource(AccessToken("0", expiresAt: .distantPast)) { _ in throw TestError() }
        for _ in 0..<5 { await #expect(throws: AuthenticationError.self) { try await tokens.token() } }
        let error = await #expect(throws: AuthenticationError.self) { try await tokens.token() }
        #expect(error?.code == .tooManyRefreshes && error?.underlying is TestError)
    }

    // MARK: Accounts

    /// Ann's request comes back with 401 when Joe has signed in.
    @Test func aRequestOfOneAccountNeverGetsTheTokenOfAnotherAccount() async throws {
        let tokens = TokenSource(AccessToken("ann")) { _ in AccessToken("new") }
        let stub = StubTransport(
            Stub().responds(
                .custom { _ in
                    try await tokens.signOut()
                    try await tokens.signIn(AccessToken("joe"))
                    return (HTTPResponse(status: .unauthorized), Data())
                }))
        let error = await #expect(throws: AuthenticationError.self) { try await stub.authenticate(.bearer(tokens)).send(try request()) }
        #expect(error?.code == .accountChanged && error?.response?.status == .unauthorized && error?.attempts.count == 1)
        #expect(stub.requests.map { $0.headers[.authorization] } == ["Bearer ann"] && tokens.current?.value == "joe")
        #expect(error?.errorDescription == "Another account has signed in." && error?.recoverySuggestion == "Try again.")
    }

    @Test func aWaitingRequestFailsWhenAnotherAccountSignsIn() async throws {
        let begins = Signal()
        let tokens = TokenSource(AccessToken("ann", expiresAt: .distantPast)) { _ in
            begins.signal()
            try await untilCancelled()
        }
        let waiting = Task { try await tokens.token() }
        await begins.waitIgnoringCancellation()
        try await tokens.signIn(AccessToken("joe"))
        let error = await #expect(throws: AuthenticationError.self) { try await waiting.value }
        #expect(error?.code == .accountChanged)
        #expect(try await tokens.token().value == "joe")
    }

    @Test func sourcesDistinguishTheirTokens() async throws {
        let counter = Counter()
        let (first, second) = (
            TokenSource(AccessToken("a")) { _ in AccessToken("a") },
            TokenSource(AccessToken("b")) { _ in
                AccessToken("b\(counter.add())")
            }
        )
        let stub = StubTransport(
            Stub().matching("b") { $0.headers[.authorization] == "Bearer b" }.responds(.status(.ok)),
            Stub().responds(.status(.unauthorized)))
        var request = try request()
        request.options.onChallenge = { _ in .use(.bearer(second)) }
        #expect(try await stub.authenticate(.bearer(first)).send(request).status == .ok)
        #expect(counter.value == 0)
        #expect(stub.requests.map { $0.headers[.authorization] } == ["Bearer a", "Bearer b"])
    }

    @Test func noAccountIsSignedInAtFirst() async throws {
        let tokens = TokenSource { _ in throw Self.refused }
        let error = await #expect(throws: AuthenticationError.self) {
            try await StubTransport().authenticate(.bearer(tokens)).send(try request())
        }
        #expect(
            error?.code == .signedOut
                && "\(error!)"
                    == "GET https://a.example/x: cannot authenticate: nobody is signed in (not sent); the sign-in request needs .with(\\.authenticate, .off)"
        )
        #expect(error?.errorDescription == "You are not signed in.")
    }

    @Test func aTokenCanBeObtainedWithoutAnEarlierOne() async throws {
        let counter = Counter()
        let tokens = TokenSource.obtaining { old in
            #expect(old == nil)
            if counter.add() == 1 { throw Self.refused }
            return AccessToken("first")
        }
        await #expect(throws: AuthenticationError.self) { try await tokens.token() }
        #expect(try await tokens.token().value == "first")
    }

    @Test func aDeadlineEndsTheWaitAndNotTheRefresh() async throws {
        let (clock, gate) = (ManualClock(), Signal())
        let tokens = TokenSource(AccessToken("0", expiresAt: .distantPast)) { _ in
            await gate.waitIgnoringCancellation()
            return AccessToken("1")
        }
        var request = try request()
        request.deadline = Deadline(after: .seconds(20), clock: clock)
        let sent = request
        let error = await #expect(throws: TransportError.self) {
            try await clock.advancingToSleepers { try await StubTransport().authenticate(.bearer(tokens)).send(sent) }
        }
        #expect(error?.code == .timedOut && error?.delivery == .notSent)
        gate.signal()
        await eventually { tokens.current?.value == "1" }
    }

    // MARK: The store

    @Test func aTokenIsSavedBeforeItIsUsed() async throws {
        let store = RecordingTokenStore()
        let stub = StubTransport(
            Stub().matching("new") { $0.headers[.authorization] == "Bearer 1" }.responds(
                .custom { _ in
                    #expect(await store.token?.value == "1")
                    return (HTTPResponse(status: .ok), Data())
                }), Stub().responds(.status(.unauthorized)))
        let tokens = TokenSource(AccessToken("0"), store: store) { _ in AccessToken("1") }
        #expect(try await stub.authenticate(.bearer(tokens)).send(try request()).status == .ok)
    }

    /// This happens, for example, when the view with the button "Sign out" is removed.
    @Test func aSignOutInACancelledTaskEmptiesTheStore() async throws {
        let store = MemoryTokenStore()
        let tokens = TokenSource(store: store) { _ in throw Self.refused }
        try await tokens.signIn(AccessToken("0"))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await tokens.signOut()
        }
        #expect(try await task.value?.value == "0")
        #expect(store.load() == nil && tokens.current == nil)
        try await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await tokens.signIn(AccessToken("1"))
        }.value
        #expect(store.load()?.value == "1")
    }

    @Test func aTokenIsUsedAlthoughTheStoreIsFull() async throws {
        let store = RecordingTokenStore(failingSaves: 3)
        let tokens = TokenSource(store: store) { _ in throw Self.refused }
        await #expect(throws: AuthenticationError.self) { try await tokens.signIn(AccessToken("0")) }
        for _ in 0..<3 { #expect(try await tokens.token().value == "0") }
        #expect(await store.saves == 4)
        #expect(await store.token?.value == "0")
    }

    /// The store has only the old token. The server knows only the new token.
    @Test func signingOutReturnsATokenThatIsNotSavedYet() async throws {
        let store = RecordingTokenStore()
        let tokens = TokenSource(store: store) { _ in AccessToken("1", refreshToken: "r1") }
        try await tokens.signIn(AccessToken("0", expiresAt: .distantPast, refreshToken: "r0"))
        await store.failSaves(1)
        await #expect(throws: AuthenticationError.self) { try await tokens.token() }
        #expect(try await tokens.signOut()?.refreshToken == "r1")
    }

    @Test func signingOutRemovesAFileThatCannotBeRead() async throws {
        let folder = try TestFolder("tokens")
        let path = folder.file("token.json")
        try Data("no token".utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let tokens = TokenSource(store: FileTokenStore(atPath: path)) { _ in throw Self.refused }
        #expect(try await tokens.signOut() == nil && tokens.current == nil)
        #expect(!FileManager.default.fileExists(atPath: path))
        // A file that can't be removed either.
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let second = TokenSource(store: FileTokenStore(atPath: path)) { _ in throw Self.refused }
        let error = await #expect(throws: AuthenticationError.self) { try await second.signOut() }
        #expect(error?.code == .storeFailed && error?.underlying is FileWriteError)
    }

    @Test func theErrorOfAnUnusableFileNamesTheRemedy() async throws {
        let folder = try TestFolder("tokens")
        let path = folder.file("token.json")
        func failure(_ path: String) async throws -> AuthenticationError {
            let tokens = TokenSource(store: FileTokenStore(atPath: path)) { _ in throw Self.refused }
            return try #require(await #expect(throws: AuthenticationError.self) { try await tokens.token() })
        }
        try Data("no token".utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let corrupt = try await failure(path)
        #expect(corrupt.needsSignIn && corrupt.recoverySuggestion == "Sign in again, then try again.")
        #expect("\(corrupt)".contains("cannot use the token in \(path): the file holds no token"), "\(corrupt)")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        let readable = try await failure(path)
        #expect(!readable.needsSignIn && readable.recoverySuggestion == "Sign in again, then try again.")
        // Signing in repairs it.
        let tokens = TokenSource(store: FileTokenStore(atPath: path)) { _ in throw Self.refused }
        try await tokens.signIn(AccessToken("new"))
        #expect(try await FileTokenStore(atPath: path).load()?.value == "new")
        let missing = TokenSource(store: FileTokenStore(atPath: folder.file("missing/token.json"))) { _ in throw Self.refused }
        let error = await #expect(throws: AuthenticationError.self) { try await missing.signIn(AccessToken("new")) }
        #expect(error.map { "\($0)" }?.contains("the folder '\(folder.file("missing"))' does not exist") == true)
        #expect(error?.recoverySuggestion == "Create the folder and try again.")
        let busy = AuthenticationError(.storeFailed, underlying: TokenFileError(path: path, reason: "it is locked"))
        #expect(!busy.needsSignIn && busy.recoverySuggestion == "Try again later.")
        #expect(AuthenticationError(.storeFailed, underlying: Self.refused).recoverySuggestion == nil)
    }

    @Test func aTokenThatCannotBeSavedIsKeptAndSavedLater() async throws {
        let store = RecordingTokenStore()
        let counter = Counter()
        let tokens = TokenSource(store: store) { _ in AccessToken("\(counter.add())", refreshToken: "r") }
        try await tokens.signIn(AccessToken("0", expiresAt: .distantPast))
        await store.failSaves(1)
        let error = await #expect(throws: AuthenticationError.self) { try await tokens.token() }
        #expect(error?.code == .storeFailed && error?.underlying as? TestError == TestError("full"))
        #expect(tokens.current?.value == "0")
        #expect(try await tokens.token().value == "1")
        #expect(counter.value == 1)
        #expect(await store.token?.value == "1")
    }

    /// If the server rotates refresh tokens, a refresh token that is used twice ends the session.
    @Test func noRefreshTokenIsUsedTwiceWhileTheStoreIsFull() async throws {
        let store = RecordingTokenStore()
        let dates = ManualDate()
        let used = Mutex<[String?]>([])
        let tokens = TokenSource(store: store, now: { dates.date }, random: { 0 }) { old in
            let isFirst = used.withLock { used in
                defer { used.append(old.refreshToken) }
                return !used.contains(old.refreshToken)
            }
            guard isFirst else { throw Self.refused }
            let next = old.value == "0" ? "1" : "2"
            return AccessToken(next, expiresAt: dates.date + 1_000, refreshToken: "r" + next)
        }
        try await tokens.signIn(AccessToken("0", expiresAt: dates.date + 1_000, refreshToken: "r0"))
        await store.failSaves(.max)
        // Valid, and due.
        dates.move(bySeconds: 901)
        #expect(try await tokens.token().value == "0")
        await tokens.finish()
        #expect(used.withLock { $0 } == ["r0"])
        for _ in 0..<5 {
            #expect(try await tokens.token().value == "0")
            await tokens.finish()
        }
        // Expired.
        dates.move(bySeconds: 100)
        for _ in 0..<5 {
            let error = await #expect(throws: AuthenticationError.self) { try await tokens.token() }
            #expect(error?.code == .storeFailed)
        }
        #expect(used.withLock { $0 } == ["r0"])
        #expect(tokens.current?.value == "0")
        await store.failSaves(0)
        #expect(try await tokens.token().value == "1")
        #expect(await store.token?.refreshToken == "r1")
        dates.move(bySeconds: 1_001)
        #expect(try await tokens.token().value == "2")
        #expect(used.withLock { $0 } == ["r0", "r1"])
    }

    /// As if a request had decided before the save failed, and began its refresh after that.
    @Test func aLateRefreshSavesTheTokenOfTheEarlierRefresh() async throws {
        let store = RecordingTokenStore()
        let counter = Counter()
        let tokens = TokenSource(store: store) { _ in AccessToken("\(counter.add())", refreshToken: "r") }
        try await tokens.signIn(AccessToken("0", refreshToken: "r0"))
        let issued = try await tokens.issue(by: nil, for: nil)
        let id = tokens.state.withLock(\.machine.nextRefresh)
        await store.failSaves(3)
        await #expect(throws: AuthenticationError.self) { try await tokens.issue(refusing: issued, by: nil, for: nil) }
        await #expect(throws: AuthenticationError.self) { try await tokens.issue(refusing: issued, by: nil, for: nil) }
        await #expect(throws: AuthenticationError.self) { try await tokens.performRefresh(id) }
        #expect(tokens.current?.value == "0")
        try await tokens.performRefresh(id)
        #expect(tokens.current?.value == "1")
        #expect(await store.token?.value == "1")
        #expect(counter.value == 1)
    }

    @Test func theTokenOfTheStoreIsLoadedOnce() async throws {
        let store = MemoryTokenStore(AccessToken("kept"))
        let tokens = TokenSource(store: store) { _ in throw Self.refused }
        #expect(tokens.current == nil)
        #expect(try await tokens.token().value == "kept")
        #expect(try await tokens.signOut()?.value == "kept")
        #expect(store.load() == nil)
    }

    @Test func onlyTheOwnerCanReadATokenFile() async throws {
        let folder = try TestFolder("tokens")
        let path = folder.file("token.json")
        func setPermissions(_ permissions: Int) throws {
            try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
        }
        let store = FileTokenStore(atPath: path)
        try await store.save(AccessToken("a"))
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        for permissions in [0o640, 0o620, 0o604, 0o602, 0o644] {
            try setPermissions(permissions)
            await #expect(throws: FileReadError.self) { try await store.load() }
        }
        try setPermissions(0o600)
        try Data("{}".utf8).write(to: URL(fileURLWithPath: path))
        await #expect(throws: TokenFileError.self) { try await store.load() }
        try await store.remove()
        #expect(try await store.load() == nil)
    }

    /// As two processes do: each has a source of its own.
    @Test func sourcesThatShareAFileRefreshOnce() async throws {
        let folder = try TestFolder("tokens")
        let server = RotatingTokenSender()
        server.expire()
        let path = folder.file("token.json")
        try await FileTokenStore(atPath: path).save(server.first)
        let sources = (0..<4).map { _ in TokenSource(store: FileTokenStore(atPath: path)) { try await server.refresh($0) } }
        let statuses = try await withThrowingTaskGroup(of: HTTPResponse.Status.self) { group in
            for source in sources {
                let stack = server.authenticate(.bearer(source))
                for _ in 0..<20 {
                    group.addTask { try await stack.send(Request(.get, url: "https://a.example/")).status }
                }
            }
            return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        #expect(statuses == [.ok: 80])
        #expect(server.refreshes == 1 && !server.isRevoked)
        #expect(sources.allSatisfy { $0.current?.refreshToken == "refresh-1" })
    }

    /// The access token of the other process has also expired. The source must use the refresh token of the other process.
    @Test func aRefreshUsesTheRefreshTokenOfTheStore() async throws {
        let folder = try TestFolder("tokens")
        let store = FileTokenStore(atPath: folder.file("token.json"))
        let old = Mutex<[String?]>([])
        let tokens = TokenSource(store: store) { token in
            old.withLock { $0.append(token.refreshToken) }
            return AccessToken("new")
        }
        try await tokens.signIn(AccessToken("0", expiresAt: .distantPast, refreshToken: "r0"))
        var other = try #require(try await store.load())
        (other.value, other.refreshToken) = ("1", "r1")
        try await store.save(other)
        #expect(try await tokens.token().value == "new")
        #expect(old.withLock { $0 } == ["r1"])
        #expect(try await store.load()?.refreshToken == "r1")
    }

    @Test func aRefreshWaitsForAnotherProcessAndCanBeCancelled() async throws {
        let folder = try TestFolder("tokens")
        let store = FileTokenStore(atPath: folder.file("token.json"))
        let counter = Counter()
        let tokens = TokenSource(store: store) { _ in AccessToken("\(counter.add())") }
        try await tokens.signIn(AccessToken("0", expiresAt: .distantPast))
        let (isHeld, mayEnd) = (Signal(), Signal())
        let other = Task {
            try await store.exclusively {
                isHeld.signal()
                await mayEnd.waitIgnoringCancellation()
            }
        }
        await isHeld.waitIgnoringCancellation()
        // A deadline ends the wait of one request; a sign-out ends the refresh.
        await #expect(throws: TransportError.self) { try await tokens.token(by: Deadline(.now + .milliseconds(60))) }
        let waiting = Task { try await tokens.token() }
        try await tokens.signOut()
        let error = await #expect(throws: AuthenticationError.self) { try await waiting.value }
        #expect(error?.code == .signedOut && counter.value == 0)
        try await tokens.signIn(AccessToken("0", expiresAt: .distantPast))
        mayEnd.signal()
        try await other.value
        #expect(try await tokens.token().value == "1")
    }

    @Test func aLockThatCannotBeCreatedFailsTheRequest() async throws {
        let folder = try TestFolder("tokens")
        let path = folder.file("token.json")
        let tokens = TokenSource(store: FileTokenStore(atPath: path)) { _ in AccessToken("1") }
        try await tokens.signIn(AccessToken("0", expiresAt: .distantPast))
        try FileManager.default.createSymbolicLink(atPath: path + ".lock", withDestinationPath: folder.file("elsewhere"))
        let error = await #expect(throws: AuthenticationError.self) { try await tokens.token() }
        #expect(error?.code == .storeFailed && (error?.underlying as? FileWriteError)?.operation == "lock")
        #expect("\(try #require(error))".contains("cannot lock"))
    }

    // MARK: Observers

    @Test func observersGetTheChangesInTheirOrder() async throws {
        let tokens = TokenSource { _ in AccessToken("1") }
        for _ in 0..<200 {
            let changes = tokens.changes
            async let first: Void = tokens.signIn(AccessToken("0"))
            async let second = tokens.signOut()
            _ = try await (first, second)
            var last: TokenChange?
            var iterator = changes.makeAsyncIterator()
            for _ in 0..<2 { last = await iterator.next() }
            if tokens.current == nil {
                #expect("\(try #require(last))" == "signed out")
            } else {
                #expect("\(try #require(last))" == "signed in")
            }
        }
    }

    @Test func anyNumberOfObserversGetEveryChange() async throws {
        let tokens = TokenSource { _ in AccessToken("1") }
        var observers = (0..<3).map { _ in tokens.changes.makeAsyncIterator() }
        try await tokens.signIn(AccessToken("0", expiresAt: .distantPast))
        _ = try await tokens.token()
        try await tokens.signOut()
        for index in observers.indices {
            var seen: [String] = []
            for _ in 0..<3 { seen.append("\(await observers[index].next()!)") }
            #expect(seen == ["signed in", "refreshed", "signed out"])
        }
    }
}
#endif
