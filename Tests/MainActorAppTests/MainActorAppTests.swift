import Errand
import ErrandTesting
import Foundation
import Testing

// This module's code is on the main actor unless it says otherwise, as Xcode sets up new apps. Models say otherwise: a conformance
// that belongs to the main actor could not be used by the decoding, which runs elsewhere.

nonisolated struct Article: Codable, Sendable, Equatable {
    var id: Int
    var title: String
}

nonisolated enum Articles {
    static func one(_ id: Int) -> Endpoint<Article> { .get("/articles/\(id, "id")") }
    static let all: Endpoint<[Article]> = .get("/articles")
}

/// As a view model is written.
final class ArticleList {
    private(set) var articles: [Article] = []
    private(set) var failure: String?
    private let client: APIClient
    private let stack: HTTPStack  // a stack is a type with a name

    init(stack: HTTPStack) {
        self.stack = stack
        client = APIClient(stack)
    }

    func load() async {
        do {
            articles = try await client.value(Articles.all)
        } catch let error as any RequestFailure {
            failure = error.description
        } catch {
            failure = "cancelled"
        }
    }

    func rawStatus() async throws -> Int { try await stack.send(try Request(.get, "/articles")).status.code }
}

/// Notes where it runs. A middleware belongs to no actor.
nonisolated struct WhereItRuns: HTTPMiddleware {
    let note: @Sendable (Bool) -> Void

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        note(Thread.isMainThread)
        return try await next.send(request)
    }
}

@Suite(.timeLimit(.minutes(5))) struct MainActorAppTests {
    @Test func aViewModelLoadsItsArticles() async {
        let articles = [Article(id: 1, title: "One")]
        let stub = StubTransport(Stub(.get, "/articles").responds(.json(articles)))
        let list = ArticleList(stack: stub.retry().timeout(.seconds(30)).server("https://a.example"))
        await list.load()
        #expect(list.articles == articles)
        #expect(list.failure == nil)
    }

    @Test func aFailureReachesTheViewModel() async throws {
        let stub = StubTransport(Stub().responds(.status(.notFound)))
        let list = ArticleList(stack: stub.server("https://a.example"))
        await list.load()
        #expect(list.failure == "GET https://a.example/articles: status 404 Not Found")
        #expect(try await list.rawStatus() == 404)
    }

    @Test func middlewareNeverRunsOnTheMainActor() async throws {
        let (seen, continuation) = AsyncStream.makeStream(of: Bool.self)
        let stub = StubTransport(Stub().responds(.json(Article(id: 1, title: "One"))))
        let stack = stub.wrapped(by: WhereItRuns { continuation.yield($0) }).server("https://a.example")
        _ = try await APIClient(stack).value(Articles.one(1))
        _ = try await stack.send(try Request(.get, "/articles/1"))
        continuation.finish()
        var all: [Bool] = []
        for await isMain in seen { all.append(isMain) }
        #expect(all == [false, false])
    }
}
