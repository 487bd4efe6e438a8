import Errand
import ErrandTesting
import ErrandURLSession
import Foundation
import Logging
import Synchronization
import Testing

@testable import Examples

/// Runs the samples of the two URLSession systems against the demo server: over the default transport, and over `URLSession`.
///
/// On Linux, `URLSession` can end its process, and can wait forever. Therefore, each test over `URLSession` has a process of its own, which
/// the system ends after two minutes. These tests leave out what `URLSession` on Linux does least reliably: uploads of files, redirects and
/// cancellations.
@Suite(.serialized, .timeLimit(.minutes(5))) struct URLSessionExamplesTests {
    /// Runs `check` over `URLSession`, with the default layers. After two minutes, the system ends this process.
    private static func overURLSession(_ check: @escaping @Sendable (HTTPStack, URL) async throws -> Void) async throws {
        alarm(120)
        try await withTransport(URLSessionTransport()) { transport in
            let stack = HTTPStack.sorted(around: transport).redirect().decompress()
            try await withServer { (server: URL) async throws in try await check(stack, server) }
        }
    }

    // MARK: - URLSession guide

    private static func guideSendsRequests(_ stack: HTTPStack, _ server: URL) async throws {
        let guide = URLSessionGuide(stack: stack)
        #expect(try await guide.data(from: server.appending(path: "gzip")) == Data("compressed, as it should be\n".utf8))
        #expect(try await guide.configuredRequest(to: server) == .created)
        let articles = try await guide.articles(server)
        #expect(articles.map(\.articleId) == [1, 2])
        #expect(articles.map(\.publishedAt.timeIntervalSince1970) == [1_767_323_045, 1_767_323_045.5])
        #expect(try await guide.lines(server) == ["first", "", "third"])
        #expect(try await guide.notes(server).map(\.id) == [1, 2])
        #expect(try await guide.closures(server).text == "Read a book")
        let lines = Lines()
        try await guide.logged(server, to: lines.logger)
        #expect(lines.all.count == 1 && lines.all[0].hasPrefix("GET \(server.absoluteString)/notes: 200 in "), "\(lines.all)")
    }

    private static func guideDownloads(_ stack: HTTPStack, _ server: URL) async throws {
        try await withFile("") { (file: URL) async throws in
            let progress = Mutex<[Double]>([])
            let guide = URLSessionGuide(stack: stack)
            let bytes = try await guide.download(server, to: file) { fraction in progress.withLock { $0.append(fraction) } }
            #expect(bytes == 300_000)
            #expect(try Data(contentsOf: file).count == 300_000)
            let reports = progress.withLock { $0 }
            #expect(reports.first == 0 && reports.last == 1)
        }
    }

    private static func guideWrapsCalls(_ stack: HTTPStack, _ server: URL) async throws {
        struct Token: Decodable, Sendable { var accessToken: String }
        let guide = URLSessionGuide(stack: stack)
        let token = try await guide.client(server).post("/token", as: Token.self).accessToken
        let welcome = try await guide.welcome(server) { token }
        #expect(welcome == "welcome")
        #expect(try await guide.renewedToken(server) == ["welcome", "welcome"])
        #expect(try await guide.retried(server) == 3)
    }

    private static func guideMapsErrors(_ stack: HTTPStack, _ server: URL) async throws {
        let guide = URLSessionGuide(stack: stack)
        #expect(await guide.appError(server, at: "/notes") == nil)
        #expect(await guide.appError(server, at: "/notes/999") == .notFound)
        #expect(await guide.appError(server, at: "/status/500") == .server(500))
        #expect(await guide.appError(server, at: "/lines") == .unreadable)
        #expect(await guide.alert(server) == "The server does not have the requested content.")
        #expect(try await guide.problem(server) == ["There is no such note.", "There is no such note."])
        // Nothing listens there.
        let nowhere = try #require(URL(string: "http://127.0.0.1:1"))
        #expect(await guide.appError(nowhere, at: "/") == .unreachable)
    }

    @Test func theGuideSendsItsRequests() async throws {
        try await withServer { (server: URL) async throws in
            try await Self.guideSendsRequests(.default, server)
            try await Self.guideDownloads(.default, server)
            try await withFile("four") { (file: URL) async throws in #expect(try await URLSessionGuide().upload(file, to: server) == "4") }
        }
    }

    @Test func theGuideSendsItsRequestsOverURLSession() async {
        await #expect(processExitsWith: .success) {
            try await Self.overURLSession { stack, server in
                try await Self.guideSendsRequests(stack, server)
                try await Self.guideDownloads(stack, server)
            }
        }
    }

    @Test func theGuideWrapsItsCalls() async throws {
        try await withServer { (server: URL) async throws in try await Self.guideWrapsCalls(.default, server) }
    }

    @Test func theGuideWrapsItsCallsOverURLSession() async {
        await #expect(processExitsWith: .success) { try await Self.overURLSession(Self.guideWrapsCalls) }
    }

    @Test func theGuideMapsErrors() async throws {
        try await withServer { (server: URL) async throws in
            try await Self.guideMapsErrors(.default, server)
            #expect(await URLSessionGuide().cancelled(server))
        }
    }

    @Test func theGuideMapsErrorsOverURLSession() async {
        await #expect(processExitsWith: .success) { try await Self.overURLSession(Self.guideMapsErrors) }
    }

    @Test func theGuideWaitsForANetwork() async throws {
        typealias Guide = URLSessionGuide
        let network = ScriptedPathMonitor(.unsatisfied)
        let gate = NetworkGate(network)
        let stub = StubTransport(Stub(.get, "/busy").responds(.status(.serviceUnavailable), .status(.ok)))
        let server = try #require(URL(string: "https://a.example"))
        let banners = Mutex<[String?]>([])
        let waits = Mutex(0)
        // The network returns when the banner appears.
        let banner = Task {
            await Guide.banner(at: gate) { text in
                banners.withLock { $0.append(text) }
                if text != nil { network.change(to: .cellular) }
            }
        }
        try await Guide(stack: HTTPStack(stub)).patient(server, at: gate) { waits.withLock { $0 += 1 } }
        banner.cancel()
        await banner.value
        let (texts, count) = (banners.withLock { $0 }, waits.withLock { $0 })
        #expect(texts.contains("Waiting for a network.") && count == 1 && stub.requests.count == 2)
        #expect(try Guide.photo(7, at: gate).request().query["size"] == "small")
        network.change(to: .wifi)
        #expect(try Guide.photo(7, at: gate).request().query["size"] == "large")
    }

    @Test func theGuideNeedsNoServerForStubsAndInput() async throws {
        typealias Guide = URLSessionGuide
        #expect(try await Guide.mocked() == [Guide.Note(id: 11, text: "From a stub")])
        #expect(try Guide.pasted("https://a.example/straße?q=ä b#top") == "https://a.example/stra%C3%9Fe?q=%C3%A4%20b")
        #expect(try Guide.safePath("../admin?x") == "/notes/..%2Fadmin%3Fx")
        #expect(Guide.AppError(TransportError(.notConnected, phase: .connect, request: nil, delivery: .notSent)) == .offline)
    }

    // MARK: - URLSession's async API

    private static func sessionSendsRequests(_ stack: HTTPStack, _ server: URL) async throws {
        typealias Session = AsyncURLSession
        let session = Session(stack: stack)
        let (data, head) = try await session.data(from: server.appending(path: "lines"))
        #expect(data == Data("first\n\nthird\n".utf8) && head.status == .ok)
        #expect(try await session.photo(server.appending(path: "photo")).png.count == 67)
        let noImage = await failure { try await session.photo(server.appending(path: "lines")) }
        #expect(noImage as? Session.PhotoError == .unsupportedImage)
        let noPhoto = await failure { try await session.photo(server.appending(path: "status/500")) }
        #expect(noPhoto as? Session.PhotoError == .invalidServerResponse)
        let client = APIClient(stack.server(server))
        #expect(try await client.value(Session.photoEndpoint("/photo")).png.count == 67)
        let noEndpointImage = await failure { try await client.value(Session.photoEndpoint("/lines")) }
        #expect(noEndpointImage as? Session.PhotoError == .unsupportedImage)
        #expect(try await session.upload(Data(#"{"text":"x"}"#.utf8), to: server) == .created)
        try await withFile("four") { (file: URL) async throws in
            #expect(try await session.download(from: server.appending(path: "lines"), to: file) == .ok)
            #expect(try Data(contentsOf: file) == Data("first\n\nthird\n".utf8))
        }
    }

    private static func sessionFollowsCalls(_ stack: HTTPStack, _ server: URL) async throws {
        let session = AsyncURLSession(stack: stack)
        let (first, second) = try await session.pair(server.appending(path: "ip"), server.appending(path: "lines")).value
        #expect(first.count > 0 && second.count == 13)
        let model = await AsyncURLSession.FavoritesModel(stack)
        try await model.follow(server.appending(path: "favorites"))
        #expect(await model.counts == ["a": 3, "b": 1])
        let steps = Mutex<[ExchangeEvent.Kind]>([])
        try await session.observed(server.appending(path: "lines")) { step in steps.withLock { $0.append(step) } }
        let seen = Set(steps.withLock { $0 })
        #expect(seen.isSuperset(of: [.requestSent, .responseHead, .end]))
    }

    @Test func theAsyncSamplesSendRequests() async throws {
        try await withServer { (server: URL) async throws in
            try await Self.sessionSendsRequests(.default, server)
            try await Self.sessionFollowsCalls(.default, server)
        }
    }

    @Test func theAsyncSamplesSendRequestsOverURLSession() async {
        await #expect(processExitsWith: .success) {
            try await Self.overURLSession { stack, server in
                try await Self.sessionSendsRequests(stack, server)
                try await Self.sessionFollowsCalls(stack, server)
            }
        }
    }

    @Test func theAsyncSamplesUploadFiles() async throws {
        try await withServer { (server: URL) async throws in
            try await withFile("four") { (file: URL) async throws in
                let session = AsyncURLSession()
                #expect(try await session.upload(fromFile: file, to: server) == Data("4".utf8))
                let progress = Mutex<[TransferProgress]>([])
                let count = try await session.upload(fromFile: file, to: server) { report in progress.withLock { $0.append(report) } }
                #expect(count == "4")
                let last = progress.withLock { $0.last }
                #expect(last == TransferProgress(bytes: 4, total: 4))
            }
        }
    }

    @Test func theAsyncSamplesFollowRedirectsAndAreCancelled() async throws {
        try await withServer { (server: URL) async throws in
            let session = AsyncURLSession()
            let slow = session.pair(server.appending(path: "slow"), server.appending(path: "slow"))
            slow.cancel()
            let cancelled = await failure { try await slow.value }
            #expect(cancelled is CancellationError)
            let (profile, exchanges) = try await session.profile(server.appending(path: "redirect/1"))
            #expect(profile.contains("redirect") && exchanges == 2)
            let (status, hops) = try await session.redirected(server.appending(path: "redirect/2"))
            #expect(status == .found && hops == 2)
            let limited = try await session.redirected(server.appending(path: "redirect/3"), marking: .referer, atMost: 2)
            #expect(limited.status == .found && limited.hops == 2)
        }
    }
}
