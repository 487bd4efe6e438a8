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

// A namespace without a mark: code on other threads awaits it.
enum Drafts {
    static let all: Endpoint<[Article]> = .get("/drafts")
    static func one(_ id: Int) -> Endpoint<Article> { .get("/drafts/\(id, "id")") }
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
nonisolated struct ThreadReportingMiddleware: HTTPMiddleware {
    let note: @Sendable (Bool) -> Void

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        note(Thread.isMainThread)
        return try await next.send(request)
    }
}

/// An option of the app's own. The closure that sets it runs off the main actor, so key and property are marked.
nonisolated enum TenantKey: OptionKey { static var defaultValue: String? { nil } }

nonisolated extension RequestOptions {
    var tenant: String? {
        get { self[TenantKey.self] }
        set { self[TenantKey.self] = newValue }
    }
}

/// A client of closures: each closure runs off the main actor, and returns values that are `Sendable`.
struct ArticlesClient: Sendable {
    var all: @Sendable () async throws -> [Article]
    var add: @Sendable (_ title: String) async throws -> Article
    var delete: @Sendable (_ id: Int) async throws -> Void
    var drafts: @Sendable () async throws -> [Article]

    static func live(_ api: APIClient) -> ArticlesClient {
        ArticlesClient(
            all: { try await api.get("/articles") },
            add: { title in try await api.post("/articles", body: .json(["title": title])) },
            delete: { id in try await api.delete("/articles/\(id, "id")") },
            drafts: { try await api.value(Drafts.all) }
        )
    }
}

/// Typed calls from a class on the main actor, in every form.
final class ArticleEditor {
    private let client: APIClient
    private(set) var title = ""

    init(client: APIClient) { self.client = client }

    func edit(_ id: Int) async throws {
        let article = try await client.get("/articles/\(id, "id")", timeout: .seconds(2), as: Article.self) { $0.tenant = "blue" }
        title = article.title
        try await client.put("/articles/\(id, "id")", body: .json(Article(id: id, title: title + "!")))
        title = try await client.value(Articles.one(id).map(\.title))
        let json = try await client.get("/articles/\(id, "id")", as: JSONValue.self)
        title += json["title"].stringValue ?? ""
        let response = try await client.send(Articles.one(id))
        title += try await response.json(as: Article.self).title
    }
}

@Suite(.timeLimit(.minutes(5))) struct MainActorAppTests {
    @Test func typedCallsOfEveryFormCompileAndRun() async throws {
        let stub = StubTransport(
            Stub(.get, "/articles").responds(.json([Article(id: 1, title: "One")])),
            Stub(.post, "/articles").responds(.json(Article(id: 2, title: "Two"))),
            Stub(.get, "/drafts").responds(.json([Article(id: 3, title: "Three")])),
            Stub(.get, "/drafts/{id}").responds(.json(Article(id: 3, title: "Three"))),
            Stub(.get, "/articles/{id}").responds(.json(Article(id: 1, title: "One"))), Stub().responds(.status(.noContent)))
        let api = APIClient(stub.server("https://a.example"))
        let editor = ArticleEditor(client: api)
        try await editor.edit(1)
        #expect(editor.title == "OneOneOne")
        #expect(stub.requests.first?.request.options.tenant == "blue")
        #expect(try stub.requests[1].json(as: Article.self) == Article(id: 1, title: "One!"))
        let articles = ArticlesClient.live(api)
        #expect(try await articles.all().count == 1)
        #expect(try await articles.add("Two").id == 2)
        try await articles.delete(2)
        #expect(try await articles.drafts().map(\.id) == [3])
        #expect(try await api.value(Drafts.one(3)).id == 3)
    }

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
        let stack = stub.wrapped(by: ThreadReportingMiddleware { continuation.yield($0) }).server("https://a.example")
        _ = try await APIClient(stack).value(Articles.one(1))
        _ = try await stack.send(try Request(.get, "/articles/1"))
        continuation.finish()
        var all: [Bool] = []
        for await isMain in seen { all.append(isMain) }
        #expect(all == [false, false])
    }
}
