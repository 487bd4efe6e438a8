import Errand
import ErrandMockServer
import ErrandTesting
import Foundation
import Logging

// The samples of the README, unchanged: `ReadmeTests` compares each sample with this file.

// swift-format-ignore
nonisolated struct Repository: Decodable, Sendable {    // nonisolated: for Xcode 26, see below
    var name: String
    var pushedAt: Date?
}

// swift-format-ignore
enum Repositories {
    static func list(of owner: String, page: Int = 1) -> Endpoint<[Repository]> {
        .get("/orgs/\(owner, "owner")/repos", query: ["page": page])    // the owner is percent-encoded
    }
}

// swift-format-ignore
let github = APIClient(
    .default                                // the transport; follows redirects and decodes gzip
        .retry()                            // idempotent requests only; obeys Retry-After
        .timeout(.seconds(30))              // for the whole call, with all retries and the body
        .server("https://api.github.com", headers: [.accept: "application/vnd.github+json"]),
    json: JSONCoding(keys: .snakeCase)
)

func names() async throws -> [String] {
    do {
        return try await github.value(Repositories.list(of: "apple")).map(\.name)
    } catch let error as StatusError where error.status == .notFound {
        return []
    } catch let failure as any RequestFailure where failure.delivery == .notSent {
        return ["No server got the request: \(failure)"]
    }
}

// swift-format-ignore
@MainActor
final class NoteList {
    private(set) var notes: [Note] = []
    private(set) var message: String?
    private let api: APIClient

    init(api: APIClient) { self.api = api }

    func load() async {
        do {
            notes = try await api.get("/notes")
        } catch is CancellationError {
            // The view has disappeared.
        } catch {
            message = error.localizedDescription    // "Could not connect to the server."
        }
    }
}

// swift-format-ignore
func downloaded(_ id: Int, from api: APIClient, to url: URL) async throws -> DownloadedFile {
    let archive = Endpoint<Void>.get("/archives/\(id, "id")")
    let file = try await api.download(archive, to: url) { progress in
        print(progress)                         // 1048576 of 4194304 bytes (25 %)
    }
    print(file.bytes, file.headers[.eTag] ?? "")
    return file
}

nonisolated struct Photo: Codable, Sendable { var id: Int }

// swift-format-ignore
func uploaded(_ url: URL, to api: APIClient) async throws -> Photo {
    let photo = Endpoint<Photo>.post("/photos", body: .file(url, contentType: "image/jpeg"))
    let uploaded = try await api.upload(photo) { progress in
        print(progress.fraction ?? 0)           // from 0 to 1
    }
    return uploaded
}

func logged(_ stack: HTTPStack) -> HTTPStack {
    let logged = stack.log(to: Logger(label: "app"), curl: true).number()
    // #1 GET https://api.example/notes/7: 200 in 21 ms
    return logged
}

func lines(of stack: HTTPStack) async throws {
    let request = try Request(.get, "/lines", query: ["follow": true])
    let response = try await stack.send(request)
    for try await line in response.body.lines { print(line) }
}

func counted(_ request: Request, by stack: HTTPStack, _ count: @escaping @Sendable (Int) -> Void) async throws -> Response {
    var response = try await stack.send(request)
    response.body = response.body.observed { event in
        if case .chunk(let chunk) = event { count(chunk.count) }
    }
    return response
}

func stubbed() async throws {
    let stub = StubTransport(Stub(.get, "/users/{id}").responds(.json(["name": "Ada"])))
    let client = APIClient(stub.server("https://a.example"))
    let user: [String: String] = try await client.get("/users/7")
    assert(user == ["name": "Ada"] && stub.requests.map(\.path) == ["/users/7"])
}

#if MockServer
func served() async throws {
    let stub = Stub(.get, "/users/{id}").responds(.json(["name": "Ada"]))
    let name = try await withMockServer(serving: [stub]) { server in
        let client = APIClient(HTTPStack.default.server(server.url()))
        return try await client.get("/users/7", as: [String: String].self)["name"]
    }
    assert(name == "Ada")
}
#endif

func named(_ stack: HTTPStack) -> HTTPStack {
    struct Tenant: HTTPMiddleware {
        let name: String

        func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
            var request = request
            request.headers[.custom("X-Tenant")] = name
            return try await next.send(request)
        }
    }

    let named = stack.wrapped(by: Tenant(name: "blue"))
    return named
}

// swift-format-ignore
func resilient(_ transport: some HTTPSender) -> HTTPStack {
    let resilient = transport
        .concurrencyLimit(6)                    // six requests at a time for each origin; the others queue by priority
        .rateLimit(.perSecond(50, burst: 10))   // and no more than the server's RateLimit and Retry-After fields allow
        .circuitBreaker()                       // stops requests to an origin that keeps failing, and tries again later
        .hedge()                                // sends a slow request a second time, and takes the first response
        .coalesce()                             // equal requests at the same time share one exchange
        .retry()
    return resilient
}

// swift-format-ignore
func observed(_ transport: some HTTPSender, by sink: some EventSink) -> HTTPStack {
    let observed = transport
        .metrics()                              // http.client.request.duration and others, as OpenTelemetry names them
        .trace()                                // a span for each attempt, and traceparent in its request
        .redirect()
        .retry()
        .events(to: sink)                       // every step of a call, as a value
        .profile()                              // response.metadata.profile: where the time went
    return observed
}
