import DemoServer
import Errand
import ErrandNIO
import ErrandTesting
import Foundation
import Synchronization
import Testing

/// Envelopes, lists in pages, polling and JSON without a type, over sockets to the demo server.
@Suite(.timeLimit(.minutes(5))) struct APILayerTests {
    struct OrderPage: Decodable, Sendable {
        struct Order: Decodable, Sendable { var id: Int }
        var orders: [Order]
        var nextCursor: String?
    }

    struct Job: Decodable, Sendable { var state: String }

    struct User: Decodable, Sendable, Equatable { var name: String }

    struct Envelope: ResponseEnvelope {
        var code: Int
        var message: String?
        var requestId: String?
        var failure: ServiceError? { code == 0 ? nil : ServiceError(.init(code), message: message ?? "", requestID: requestId) }
    }

    private let list = Endpoint<OrderPage>.get("/orders", query: ["limit": 10])
    private let cursor = NextPage<OrderPage>.cursor(named: "after", \.nextCursor)

    /// Runs `body` with a client of a demo server on a free port, and the targets that it has requested.
    private func withClient(
        envelope: (any ResponseEnvelope.Type)? = nil,
        _ body: @escaping @Sendable (APIClient, @escaping @Sendable () -> [String]) async throws -> Void
    ) async throws {
        let ran: Void? = try await DemoServer.run { port in
            let targets = Targets()
            let stack = HTTPStack.default.transformRequest { targets.add($0) }.server("http://127.0.0.1:\(port)/v1")
            try await body(APIClient(stack, json: JSONCoding(keys: .snakeCase), envelope: envelope)) { targets.all }
        }
        try #require(ran != nil)
    }

    private final class Targets: Sendable {
        private let targets = Mutex<[String]>([])
        var all: [String] { targets.withLock { $0 } }
        func add(_ request: Request) { targets.withLock { $0.append("\(request.method.rawValue) \(request.url?.target ?? "")") } }
    }

    // MARK: Pages

    /// Rows are removed and added while the list is read. No row occurs twice, and each row that stays is in the result.
    @Test(arguments: [false, true]) func aListChangesWhileItIsRead(byLink: Bool) async throws {
        try await withClient { [list, cursor] client, _ in
            var ids: [Int] = []
            for try await order in client.pages(list, next: byLink ? .link() : cursor).elements(\.orders) {
                ids.append(order.id)
                guard ids.count == 10 else { continue }
                for id in [3, 10, 15] { try await client.delete("/orders/\(id, "id")") }
                for _ in 0..<2 { try await client.post("/orders", body: .json(["item": "late"])) }
            }
            #expect(ids == Array(1...14) + Array(16...27))
        }
    }

    @Test func offsetsAndNumbersReachTheEnd() async throws {
        try await withClient { [list] client, targets in
            let ways: [NextPage<OrderPage>] = [.offset(step: 10) { $0.orders.count == 10 }, .number { $0.orders.count == 10 }]
            for way in ways {
                var ids: [Int] = []
                for try await order in client.pages(list, next: way).elements(\.orders) { ids.append(order.id) }
                #expect(ids == Array(1...25))
            }
            #expect(targets().last == "GET /v1/orders?limit=10&page=3" && targets().count == 6)
        }
    }

    @Test func atMostOnePageIsPrefetched() async throws {
        try await withClient { [cursor] client, targets in
            let list = Endpoint<OrderPage>.get("/orders", query: ["limit": 5])
            var pages = client.pages(list, next: cursor, policy: PaginationPolicy(prefetches: true)).makeAsyncIterator()
            #expect(targets().isEmpty)
            for number in 1...5 {
                let page = try await pages.next()
                #expect(page?.value.orders.count == 5)
                let patience = ContinuousClock.now.advanced(by: .seconds(30))
                while targets().count < min(5, number + 1), ContinuousClock.now < patience { try await Task.sleep(for: .milliseconds(5)) }
                try await Task.sleep(for: .milliseconds(50))
                #expect(targets().count == min(5, number + 1))
            }
            let end = try await pages.next()
            #expect(end == nil)
        }
    }

    @Test func aListContinuesAtALaterTime() async throws {
        try await withClient { [list, cursor] client, _ in
            var first = client.pages(list, next: cursor).makeAsyncIterator()
            let saved = try JSONEncoder().encode(try await first.next()?.next)
            let position = try JSONDecoder().decode(PagePosition.self, from: saved)
            var ids: [Int] = []
            for try await order in client.pages(list, next: cursor, from: position).elements(\.orders) { ids.append(order.id) }
            #expect(ids == Array(11...25))
        }
    }

    @Test func loopsAndTooManyPagesAreErrors() async throws {
        try await withClient { [list] client, targets in
            var codes: [PaginationError.Code?] = []
            let policy = PaginationPolicy(maxPages: 3)
            for way in [NextPage<OrderPage> { _ in .query(["after": "10"]) }, .link("first"), .number { _ in true }] {
                do {
                    for try await _ in client.pages(list, next: way, policy: policy) {}
                    codes.append(nil)
                } catch let error as PaginationError {
                    codes.append(error.code)
                }
            }
            #expect(codes == [.loop, nil, .tooManyPages] && targets().count == 6)
        }
    }

    /// The page that is on its way, ahead or not, ends with the task.
    @Test(arguments: [false, true]) func cancellingEndsAList(prefetches: Bool) async throws {
        try await withClient { [list] client, targets in
            let pages = client.pages(
                list, next: NextPage { _ in .url("/v1/slow?seconds=100") }, policy: PaginationPolicy(prefetches: prefetches))
            let task = Task { for try await _ in pages {} }
            while targets().count < 2 { try await Task.sleep(for: .milliseconds(5)) }
            let start = ContinuousClock.now
            task.cancel()
            let result = await task.result
            #expect(throws: CancellationError.self) { try result.get() }
            #expect(start.duration(to: .now) < .seconds(60))
        }
    }

    // MARK: Polling

    @Test func aJobIsFollowedToItsEnd() async throws {
        try await withClient { client, targets in
            let job = try await client.poll(Endpoint<Job>.post("/jobs"), policy: PollingPolicy(backoff: .constant(.milliseconds(10)))) {
                $0.value.state == "done"
            }
            #expect(job.value.state == "done")
            // Accepted, busy, running, not modified, done.
            #expect(targets() == ["POST /v1/jobs"] + Array(repeating: "GET /v1/jobs/1", count: 5))
        }
    }

    @Test func pollingEndsWithItsTimeoutAndItsTask() async throws {
        try await withClient { client, targets in
            let endless = Endpoint<Job>.get("/status/202")
            let policy = PollingPolicy(backoff: .constant(.milliseconds(20)), timeout: .milliseconds(200))
            var code: PollingError.Code?
            do { _ = try await client.poll(endless, policy: policy) } catch let error as PollingError { code = error.code }
            #expect(code == .timedOut && !targets().isEmpty)
            let earlier = targets().count
            let task = Task { try await client.poll(endless) }
            while targets().count == earlier { try await Task.sleep(for: .milliseconds(5)) }
            task.cancel()
            let result = await task.result
            #expect(throws: CancellationError.self) { try result.get() }
        }
    }

    // MARK: Envelopes and JSON

    @Test func anEnvelopeIsUnwrapped() async throws {
        try await withClient(envelope: Envelope.self) { client, _ in
            let user: User = try await client.get("/envelope/user")
            #expect(user == User(name: "Ada"))
            let nobody: User? = try await client.get("/envelope/nothing")
            #expect(nobody == nil)
            try await client.get("/envelope/nothing")
            var missing: ResponseDecodingError?
            do { _ = try await client.get("/envelope/nothing", as: User.self) } catch let error as ResponseDecodingError { missing = error }
            #expect(
                missing.map { "\($0)" }?.contains("the envelope has no 'data', or this member is null; if this") == true,
                "\(missing as Any)")
            var failures: [ServiceError] = []
            do { _ = try await client.get("/envelope/denied", as: User.self) } catch let error as ServiceError { failures.append(error) }
            do { try await client.post("/envelope/orders") } catch let error as ServiceError { failures.append(error) }
            #expect(failures.map(\.code) == [1001, 40_012] && failures.map(\.requestID) == ["r-17", "r-18"])
            #expect(failures.map(\.status) == [.ok, .conflict])
        }
    }

    @Test func anyJSONIsRead() async throws {
        try await withClient { client, _ in
            let articles = try await client.json("/articles")
            #expect(articles[1].title.stringValue == "Two" && articles[at: "/0/article_id"]?.intValue == 1 && articles[7].title == .null)
        }
    }

    // MARK: Formats and servers

    struct Grant: Codable, Sendable, Equatable {
        var accessToken: String
        var expiresIn: Int?
        var scope: [String]
    }

    @Test func formatsGoBothWays() async throws {
        try await withClient { client, _ in
            for grant in [Grant(accessToken: "a b+ä", expiresIn: 60, scope: ["r", "w"]), Grant(accessToken: "", scope: ["x"])] {
                let form = try await client.value(Endpoint<Grant>.post("/mirror", body: .form(grant), decoding: .form))
                let xml = try await client.value(Endpoint<Grant>.post("/mirror", body: .propertyList(grant), decoding: .propertyList))
                let binary = try await client.value(
                    Endpoint<Grant>.post("/mirror", body: .propertyList(grant, format: .binary), decoding: .propertyList))
                let json = try await client.value(Endpoint<Grant>.post("/mirror", body: .json(grant)))
                #expect([form, xml, binary, json].allSatisfy { $0 == grant })
            }
            let text = try await client.post("/mirror", body: .text("ä"), as: String.self)
            let data = try await client.post("/mirror", body: .data(Data([0, 255])), as: Data.self)
            #expect(text == "ä" && data == Data([0, 255]))
            let error = await #expect(throws: ResponseDecodingError.self) {
                try await client.value(Endpoint<Grant>.post("/mirror", body: .form(["access_token": "s3cret"]), decoding: .form))
            }
            let shown = error.map { "\($0)" } ?? ""
            #expect(error?.codingPath == "scope" && !shown.contains("s3cret"), "\(shown)")
            let refused = await #expect(throws: StatusError.self) { try await client.json("/problem") }
            #expect(refused?.problem?.title == "Your credit is too low." && refused?.problem?.extensions["balance"]?.intValue == 3)
        }
    }

    /// Two servers over one transport: each client has its own server, fields and envelope.
    @Test func serversShareTheNetworkStack() async throws {
        try await withTransport(NIOTransport()) { transport in
            let ran: Void? = try await DemoServer.run { port in
                let ran: Void? = try await DemoServer.run { other in
                    let network = transport.timeout(.seconds(20))
                    let shop = APIClient(
                        network.server("http://127.0.0.1:\(port)/v1", headers: [.authorization: "Bearer s3cret"]), envelope: Envelope.self)
                    let plain = APIClient(network.server("http://127.0.0.1:\(other)/v1"))
                    for _ in 0..<3 {
                        let user = try await shop.get("/envelope/user", as: User.self)
                        let echo = try await plain.json("/echo")
                        #expect(user.name == "Ada" && echo.headers.authorization.isNull)
                    }
                    let echo = try await shop.value(Endpoint<JSONValue>.get("/echo", decoding: .json.withoutEnvelope))
                    #expect(echo.headers.authorization == "Bearer s3cret")
                }
                try #require(ran != nil)
            }
            try #require(ran != nil)
        }
    }
}
