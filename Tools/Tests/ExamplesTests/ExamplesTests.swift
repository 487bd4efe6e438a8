import Errand
import ErrandTesting
import Foundation
import Synchronization
import Testing

@testable import Examples

/// Runs every example against the demo server.
///
/// Closures are not arguments of `#expect`: within a closure, Swift 6.3 may run another closure of the same type in their place.
@Suite(.timeLimit(.minutes(5))) struct ExamplesTests {
    // MARK: - RealHTTP

    @Test func theRealHTTPSamplesSendRequests() async throws {
        typealias Real = RealHTTPStyle
        try await withServer { (server: URL) async throws in
            #expect(Real.client(server).stack.orderProblems == [])
            #expect(try await Real.oneLine(server).first?.text == "Buy tea")
            let echo = try await Real.changedQuery(server)
            #expect(echo.method == "POST" && echo.target == "/v1/echo?draft=false&tag=a&tag=b" && echo.body == "Hello")
            #expect(echo.headers["x-tenant"] == "blue" && echo.headers["content-language"] == "en")
            #expect(echo.headers["user-agent"] == "Examples/1.0")
            try await withFile("in a file") { (file: URL) async throws in
                var echoes: [String] = []
                for body in try Real.bodies(file) { echoes.append(try await Real.echo(body, from: server).body) }
                #expect(
                    echoes == [
                        #"{"name":"Ada"}"#, "user=joe&remember=true",
                        "user=joe&remember=true",
                        "Hello", "bytes", "in a file", "first second",
                    ])
            }
            let csv = try await Real.echo(Real.CSV(rows: [["a", "b"], ["1", "2"]]).body, from: server)
            #expect(csv.body == "a,b\r\n1,2\r\n" && csv.headers["content-type"] == "text/csv; charset=utf-8")
        }
    }

    @Test func theRealHTTPSamplesReadResponses() async throws {
        typealias Real = RealHTTPStyle
        try await withServer { (server: URL) async throws in
            let (status, notes) = try await Real.stepByStep(server)
            #expect(status == .ok && notes.count == 1)
            #expect(try await Real.client(server).value(Real.lines) == ["first", "third"])
            #expect(try await Real.decodingResponse(server) == notes)
            let (text, hasNoAuthor) = try await Real.anyJSON(server)
            #expect(text == "Buy tea" && hasNoAuthor)
            #expect(try await Real.metrics(server).contains("NIOTransport"))
            let maintenance = await failure { try await Real.echoStatus(418, from: server) }
            #expect(maintenance is Real.Maintenance)
            #expect(try await Real.echoStatus(203, from: server) == .ok)
            #expect(try await Real.afterAnotherRequest(server) == 200)
            #expect(Real.strategies.count == 6 && "\(Real.strategies[1])".hasPrefix("3 attempts"))
            let curl = try await Real.curl(server)
            #expect(curl.hasPrefix("curl -X POST ") && curl.contains("'\(server.absoluteString)/echo?draft=true'"), "\(curl)")
            #expect(curl.contains("'X-Tenant: blue'"))
            #expect(try await Real.curlOfResponse(server).contains("'\(server.absoluteString)/notes'"))
            #expect(try await Real.stubbed() == ["Seven", "hello", "done"])
            #expect(try await Real.namespaces(server))
        }
    }

    // MARK: - XXXNetworkKit

    @Test func theNetworkKitSamplesWork() async throws {
        typealias Kit = NetworkKitStyle
        try await withServer { (server: URL) async throws in
            let lines = Lines()
            let provider = Kit.Provider(server, logger: lines.logger)
            #expect(provider.client.stack.orderProblems == [])
            #expect(try await Kit.user(provider) == Kit.User(id: 7, name: "Ada"))
            // The log of a debug build.
            #expect(lines.all.joined(separator: "\n").contains("Ada"))
            #expect(try await Kit.deleted(provider) == "/v1/echo?ids=1&ids=2&ids=3")
            #expect(Kit.listStyles() == ["ids%5B%5D=1&ids%5B%5D=2", "ids=1,2"])
            let (name, id) = try await Kit.json(provider)
            #expect(name == "Ada" && id == 7)
            let (api, images) = Kit.targets(api: server, images: server.deletingLastPathComponent())
            #expect(try await api.data(Endpoint<Void>.get("/lines")) == images.data(Endpoint<Void>.get("/v1/lines")))
            #expect(try await Kit.ready(server) == 2)
            #expect(try await Kit.finished(server) == "done")
        }
    }

    @Test func theNetworkKitSamplesDistinguishErrors() async throws {
        typealias Kit = NetworkKitStyle
        try await withServer { (server: URL) async throws in
            let provider = Kit.Provider(server, logger: Lines().logger)
            let fine = await Kit.message { _ = try await Kit.user(provider) }
            #expect(fine == "fine")
            let denied = await Kit.message { _ = try await provider.client.value(Kit.API.Users.denied) }
            #expect(denied == "server error 1001: not allowed")
            let refused = await Kit.message { try await provider.client.value(Endpoint<Void>.post("/notes", body: .json(["text": "x"]))) }
            #expect(refused == "The server responded in an unexpected way.")
            let late = await Kit.message { try await Kit.impatient(provider) }
            #expect(!late.hasPrefix("cancelled") && late != "fine", "\(late)")
            let nowhere = Kit.Provider(try #require(URL(string: "http://127.0.0.1:1")), logger: Lines().logger)
            let offline = await Kit.message { _ = try await Kit.user(nowhere) }
            #expect(offline == "Please check your connection.")
            let notAllowed = await failure { try await Kit.mapped(Kit.API.Users.denied, by: provider) }
            #expect(notAllowed is Kit.NotAllowed)
            #expect(Kit.code(of: ServiceError(5)) == 5 && Kit.code(of: CancellationError()) == -999)
            let timeout = await failure { try await Kit.impatient(provider) }
            let code = timeout.map { Kit.code(of: $0) }
            #expect(code == -1001)
        }
    }

    // MARK: - swift-networking

    @Test func theComposableSamplesCompose() async throws {
        typealias Composable = ComposableStyle
        try await withServer { (server: URL) async throws in
            let lines = Lines()
            let network = Composable.network(server, logger: lines.logger)
            #expect(network.orderProblems == [])
            #expect(try await Composable.numbers(network) == [1, 2])
            let hasNumber = lines.all.contains { $0.hasPrefix("#2 GET ") }
            #expect(hasNumber, "\(lines.all)")
            let (notes, status) = try await Composable.valueAndResponse(network)
            #expect(notes.count == 1 && status == .ok)
            let (url, code) = try await Composable.failure(network)
            #expect(url == "\(server.absoluteString)/notes/999" && code == 404)
            #expect(try await APIClient(network).value(Composable.Calls.titles) == [Composable.Title(text: "BUY TEA")])
            let exchanges = Mutex(0)
            let notesOfAll = try await Composable.duplicates(server) { exchanges.withLock { $0 += 1 } }
            let exchangeCount = exchanges.withLock { $0 }
            #expect(notesOfAll.count == 5 && exchangeCount == 1)
            #expect(try await Composable.retried(server) == 2)
            let prepared = try await Composable.servers(server).prepared(Request(.get, "/1"))
            #expect(prepared.url?.description == "\(server.absoluteString)/notes/1" && prepared.headers[.custom("X-Client")] == "example")
        }
    }

    @Test func theComposableSamplesDescribeAndInject() async throws {
        typealias Composable = ComposableStyle
        #expect(try Composable.greeting() == "POST /echo?greeting=Hello%20World")
        #expect(Composable.hosts().first?.contains("https://api.example") == true, "\(Composable.hosts())")
        #expect(try await Composable.tested() == Composable.IPInfo(ip: "192.0.2.7"))
        #expect(try await Composable.IPInfoClient.preview.fetch().ip == "192.0.2.1")
        try await withServer { (server: URL) async throws in
            let live = Composable.IPInfoClient.live(Composable.network(server, logger: Lines().logger))
            #expect(try await live.fetch().ip == "127.0.0.1")
            let greeted = APIClient(HTTPStack.default.wrapped(by: Composable.Greeting(text: "hello")).server(server))
            #expect(try await greeted.get("/echo", as: NetworkKitStyle.Echo.self).target == "/v1/echo?greeting=hello")
        }
    }

    // MARK: - A streamed chat

    @Test func theChatShowsTheResponseAndItsStates() async throws {
        typealias Chat = StreamedChat
        try await withServer { (server: URL) async throws in
            let states = Mutex<[Chat.State]>([])
            let conversation = await Chat.Conversation(client: Chat.client(server, key: "demo")) { state in
                states.withLock { $0.append(state) }
            }
            await conversation.ask("Buy tea")
            let first = await conversation.messages
            #expect(
                first == [Chat.Message(role: "user", content: "Buy tea"), Chat.Message(role: "assistant", content: "You said: Buy tea ")])
            let seen = states.withLock { $0 }
            #expect(seen == [.connecting, .responding, .ready])
            await conversation.ask("break off")
            let last = await conversation.messages.last
            #expect(last == Chat.Message(role: "assistant", content: "You said: break off "))
            #expect(await conversation.state == .failed("The answer was cut off."))
            let stranger = await Chat.Conversation(client: Chat.client(server, key: "wrong"))
            await stranger.ask("Buy tea")
            #expect(await stranger.state == .failed("Please check your key."))
            #expect(await stranger.messages.count == 1)
        }
    }

    @Test func theChatKeepsItsTextWhenItIsCancelled() async throws {
        let (waits, waiting) = AsyncStream.makeStream(of: Void.self)
        let transport = StubTransport(
            Stub(.post, "/chat/completions").responds(
                .streaming { _, _ in
                    let event = #"data: {"choices":[{"delta":{"content":"A part"}}]}"# + "\n\n"
                    let head = HTTPResponse(status: .ok, headerFields: [.contentType: "text/event-stream"])
                    return (head, StalledBody(Data(event.utf8)) { waiting.yield() })
                }))
        let conversation = await StreamedChat.Conversation(client: APIClient(HTTPStack(transport).server("https://a.example")))
        let asking = Task { await conversation.ask("What?") }
        for await _ in waits { break }
        asking.cancel()
        await asking.value
        #expect(await conversation.state == .ready)
        #expect(await conversation.messages.last == StreamedChat.Message(role: "assistant", content: "A part"))
    }

    // MARK: - An upload form

    @Test func anAccountStaysSignedInUntilItSignsOut() async throws {
        try await withServer { (server: URL) async throws in
            let base = server.absoluteString.replacing("/v1", with: "")
            let store = MemoryTokenStore()
            let service = try await SignIn.Service(issuer: base, api: server, store: store)
            let account = await SignIn.Account(service)
            let following = Task { await account.follow() }
            defer { following.cancel() }
            #expect(await account.load() == nil)
            let before = await account.state
            #expect(before == .signedOut(because: "You are not signed in."))
            // The demo server sends the browser back immediately.
            await account.signIn { url in
                var request = try Request(.get, url: url)
                request.options.redirect = .off
                let response = try await HTTPStack.default.send(request)
                response.body.abandon()
                return response.headers[.location] ?? ""
            }
            let after = await account.state
            #expect(after == .signedIn)
            #expect(await account.load() == SignIn.Profile(name: "joe"))
            _ = try await HTTPStack.default.send(Request(.post, url: "\(base)/oauth/expire"))
            let old = store.load()
            #expect(await account.load() == SignIn.Profile(name: "joe"))
            #expect(store.load()?.value != old?.value && store.load()?.refreshToken != old?.refreshToken)
            await account.signOut()
            let state = await account.state
            let profile = await account.load()
            #expect(state == .signedOut(because: nil) && profile == nil && store.load() == nil)
        }
    }

    @Test func aFormLoginLastsForTheNextStart() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)").path
        defer { for end in ["", ".lock"] { try? FileManager.default.removeItem(atPath: path + end) } }
        try await withServer { (server: URL) async throws in
            let site = FormLogin.Site(server, cookiesIn: path)
            await #expect(throws: FormLogin.SignedOut.self) { try await site.profile() }
            let refusal = await #expect(throws: StatusError.self) { try await site.signIn(user: "joe", password: "wrong") }
            #expect(refusal?.status == .forbidden)
            let joe = FormLogin.Profile(name: "joe")
            #expect(try await site.signIn(user: "joe", password: "pw") == joe)
            // The next start of the app.
            let again = FormLogin.Site(server, cookiesIn: path)
            #expect(try await again.profile() == joe)
            try await again.signOut()
            await #expect(throws: FormLogin.SignedOut.self) { try await again.profile() }
            #expect(try await FileCookieStore(atPath: path).load().isEmpty)
            await #expect(throws: FormLogin.SignedOut.self) { try await FormLogin.Site(server, cookiesIn: path).profile() }
        }
    }

    @Test func theFeedWorksOffline() async throws {
        try await withServer { (server: URL) async throws in
            let store = MemoryCacheStore()
            let feed = await OfflineFeed.Feed(client: OfflineFeed.client(server, store: store))
            await feed.appear()
            let stories = await feed.stories
            #expect(stories.map(\.id) == [1, 2] && stories.first?.title == "One")
            #expect(await feed.note == nil)
            await feed.refresh()
            #expect(await feed.note == nil)

            // The next start of the app, without a network. The stored stories are stale.
            let offline = HTTPStack.sorted(around: StubTransport(Stub().responds(.offline, repeatingLast: true)))
            let stale = MemoryCacheStore()
            await OfflineFeed.Feed(client: OfflineFeed.client(server, store: stale, lifetime: .zero)).appear()
            let next = await OfflineFeed.Feed(client: OfflineFeed.client(server, store: stale, lifetime: .zero, over: offline))
            await next.appear()
            #expect(await next.stories == stories)
            #expect(await next.note == "No connection. These stories have just been loaded.")
            // A reload needs the server. The stories stay.
            await next.refresh()
            #expect(await next.stories == stories)
            #expect(await next.note?.isEmpty == false)

            let empty = await OfflineFeed.Feed(client: OfflineFeed.client(server, store: .memory, over: offline))
            await empty.appear()
            #expect(await empty.stories.isEmpty)
            #expect(await empty.note == "This device is offline.")
        }
    }

    @Test func theDownloadsSurviveARelaunch() async throws {
        try await withServer { (server: URL) async throws in
            let folder = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            defer { try? FileManager.default.removeItem(at: folder) }
            // The first run of the app reaches the server for the first file alone.
            let broken = HTTPStack.bare.wrapped(by: OneFile(path: "/v1/download"))
            let first = try await DownloadList.Downloads(
                server: server, folder: folder, over: broken, policy: TransferPolicy(maxFailures: 0))
            try await first.add("/download", as: "a.bin")
            try await first.add("/zeros", as: "b.bin")
            try await first.add("/zeros", as: "b.bin")
            await first.resume()
            let states = await first.items.map(\.state)
            #expect(states.first == .complete && states.last == .failed("This device is offline."), "\(states)")

            // An update of the app has moved its folder.
            let moved = folder.appendingPathExtension("moved")
            try FileManager.default.moveItem(at: folder, to: moved)
            defer { try? FileManager.default.removeItem(at: moved) }
            let next = try await DownloadList.Downloads(server: server, folder: moved, over: .bare)
            #expect(await next.items.map(\.state) == [.complete, .waiting])
            await next.resume()
            #expect(await next.items.map(\.state) == [.complete, .complete])
            #expect(try Data(contentsOf: moved.appending(path: "b.bin")) == Data(count: 1_000_000))
            try await next.remove("a.bin")
            let names = try FileManager.default.contentsOfDirectory(atPath: moved.path).sorted()
            #expect(names == ["b.bin", "downloads.json"])
            #expect(await next.items.map(\.id) == ["b.bin"])
        }
    }

    /// Fails requests to other paths, as on a device without a network.
    private struct OneFile: HTTPMiddleware {
        let path: String

        func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
            guard request.head.path == path else { throw TransportError(.notConnected, phase: .connect, request: request) }
            return try await next.send(request)
        }
    }

    @Test func theOrderScreenShowsMoreAndExports() async throws {
        try await withServer { (server: URL) async throws in
            let screen = await OrderScreen.Screen(
                client: OrderScreen.client(server), polling: PollingPolicy(backoff: .constant(.milliseconds(5)), jitter: .none))
            // Two concurrent calls read one page.
            async let first: Void = screen.showMore()
            async let second: Void = screen.showMore()
            _ = await (first, second)
            #expect(await screen.orders.map(\.id) == Array(1...10))
            await screen.delete(OrderScreen.Order(id: 3, item: ""))
            while await screen.hasMore { await screen.showMore() }
            await screen.showMore()
            #expect(await screen.orders.map(\.id) == [1, 2] + Array(4...25))
            await screen.export()
            #expect(await screen.message == "The export is ready.")
            #expect(await screen.exportProgress == nil)
        }
    }

    @Test func theOrderScreenNamesTheFailure() async throws {
        let stub = StubTransport(
            Stub(.get, "/orders").responds(.status(.unauthorized)),
            Stub(.delete, "/orders/{id}").responds(
                .offline, .failure(TransportError(.cannotConnect, phase: .connect, request: nil, delivery: .notSent))),
            Stub(.post, "/jobs").responds(.status(.accepted, headers: [.location: "/jobs/1"])),
            Stub(.get, "/jobs/1").responds(.json(["state": "failed", "progress": 0.5] as JSONValue)))
        let screen = await OrderScreen.Screen(
            client: APIClient(stub.server("https://a.example")), polling: PollingPolicy(backoff: .constant(.milliseconds(5)), jitter: .none)
        )
        await screen.showMore()
        #expect(await screen.message == "Sign in again.")
        #expect(await screen.hasMore)
        await screen.delete(OrderScreen.Order(id: 1, item: "tea"))
        #expect(await screen.message == "This device is offline. Connect this device to a network, then try again.")
        await screen.delete(OrderScreen.Order(id: 1, item: "tea"))
        #expect(await screen.message == "Could not connect to the server. Check the network connection, or try again later.")
        await screen.export()
        #expect(await screen.message == "The export failed.")
        #expect(await screen.exportProgress == nil)
    }

    @Test func theUploadFormShowsItsProgress() async throws {
        try await withServer { (server: URL) async throws in
            try await withFile(String(repeating: "x", count: 400_000)) { (photo: URL) async throws in
                try await withFile("It failed.") { (log: URL) async throws in
                    let draft = UploadForm.Draft(title: "Twice", photo: photo, log: log)
                    let length = try #require(try draft.form.body().length)
                    let fractions = Mutex<[Double]>([])
                    let uploader = await UploadForm.Uploader(client: UploadForm.client(server)) { value in
                        fractions.withLock { $0.append(value) }
                    }
                    await uploader.send(draft)
                    let sent = UploadForm.Report(id: 1, bytes: Int(length))
                    #expect(await uploader.state == .sent(sent))
                    let seen = fractions.withLock { $0 }
                    #expect(seen.first == 0 && seen.last == 1 && seen == seen.sorted(), "\(seen)")
                    try FileManager.default.removeItem(at: log)
                    await uploader.send(draft)
                    #expect(await uploader.state == .failed("One of the files can't be read."))
                    try Data().write(to: log)
                }
            }
        }
    }

    @Test func theUploadFormSendsItsParts() async throws {
        let transport = StubTransport(Stub(.post, "/reports").responds(.json(["id": 1, "bytes": 2], status: .created)))
        try await withFile("pixels") { (photo: URL) async throws in
            let uploader = await UploadForm.Uploader(client: APIClient(HTTPStack(transport).server("https://a.example")))
            await uploader.send(UploadForm.Draft(title: "Zürich", photo: photo, log: photo))
            #expect(await uploader.state == .sent(UploadForm.Report(id: 1, bytes: 2)))
            let parts = try #require(transport.requests.first).parts
            #expect(parts.map(\.name) == ["title", "photo", "log"])
            #expect(parts.map(\.fileName) == [nil, photo.lastPathComponent, "today.log"])
            #expect(parts.map { String(decoding: $0.body, as: UTF8.self) } == ["Zürich", "pixels", "pixels"])
        }
    }

    @Test func theUploadFormWarnsIfAReportMayHaveArrived() async throws {
        let transport = StubTransport(Stub(.post, "/reports").responds(.connectionLost, .offline))
        try await withFile("pixels") { (photo: URL) async throws in
            let uploader = await UploadForm.Uploader(client: APIClient(HTTPStack(transport).server("https://a.example")))
            let draft = UploadForm.Draft(title: "Zürich", photo: photo, log: photo)
            await uploader.send(draft)
            let lost =
                "The connection to the server was lost. Check the network connection, then try again. "
                + "The server may have processed the request already."
            #expect(await uploader.state == .failed(lost))
            await uploader.send(draft)
            #expect(await uploader.state == .failed("This device is offline. Connect this device to a network, then try again."))
        }
    }
}

/// A body of one chunk, after which nothing comes until the reader is cancelled.
private final class StalledBody: BodySource {
    private let chunk: Mutex<Data?>
    private let onWait: @Sendable () -> Void

    init(_ chunk: Data, onWait: @escaping @Sendable () -> Void) {
        self.chunk = Mutex(chunk)
        self.onWait = onWait
    }

    func next() async throws -> Data? {
        if let chunk = chunk.withLock({ $0.take() }) { return chunk }
        onWait()
        try await Task.sleep(for: .seconds(3600))
        return nil
    }

    func abandon() {}
}
