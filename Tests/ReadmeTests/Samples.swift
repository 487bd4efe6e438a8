import Errand
import ErrandTesting
import Foundation

// The samples of the README, to the letter: `ReadmeTests` holds each block of it against this file.

struct Repository: Decodable, Sendable {
    var name: String
    var pushedAt: Date?
}

enum Repositories {
    static func list(of owner: String, page: Int = 1) -> Endpoint<[Repository]> {
        .get("/orgs/\(owner, "owner")/repos", query: ["page": page])  // a value can't escape its segment
    }
}

// swift-format-ignore
let github = APIClient(
    .default                                // the transport, with redirects followed and gzip decoded
        .retry(.standard)                   // idempotent requests only, full jitter, Retry-After
        .validateStatus()                   // 2xx, or an error with the head, the body and the problem's details
        .timeout(.seconds(30))              // to the last byte, waits and retries included
        .server("https://api.github.com", headers: [.accept: "application/vnd.github+json"]),
    json: JSONCoding(keys: .snakeCase)
)

// swift-format-ignore
func names() async throws -> [String] {
    do {
        return try await github.value(Repositories.list(of: "apple")).map(\.name)
    } catch let error as StatusError where error.status == .notFound {
        return []
    } catch let failure as any RequestFailure where failure.delivery == .notSent {
        return ["try again: \(failure)"]    // what, where, after how long; never a secret
    }
}

// swift-format-ignore
func lines(of stack: HTTPStack) async throws {
    let response = try await stack.send(Request(.get, "/lines"))
    for try await line in response.body.lines { print(line) }          // empty lines are kept
}

// swift-format-ignore
func backUp(_ archive: URL, as name: String, to stack: HTTPStack) async throws -> HTTPResponse.Status {
    let upload = try Request(.put, "/backups/\(name, "name")", body: .file(archive))    // read while it is sent
    let answer = try await stack.withResponse(to: upload) { response in response.status }
    return answer
}

func stubbed() async throws {
    let stub = StubTransport(Stub(.get, "/users/{id}").responds(.json(["name": "Ada"])))
    let client = APIClient(stub.server("https://a.example"))
    let user: [String: String] = try await client.get("/users/7")
    assert(user == ["name": "Ada"] && stub.requests.map(\.path) == ["/users/7"])
}

func named(_ stack: HTTPStack) -> HTTPStack {
    struct UserAgent: HTTPMiddleware {
        let name: String

        func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
            var request = request
            request.head.headerFields[.userAgent] = name
            return try await next.send(request)
        }
    }

    let named = stack.wrapped(by: UserAgent(name: "Notes/1.0"))
    return named
}

// swift-format-ignore
func resilient(_ transport: some HTTPSender) -> HTTPStack {
    let resilient = transport
        .concurrencyLimit(6)                // per origin, by priority; freed when the exchange ends on the wire
        .rateLimit(.perSecond(50, burst: 10))   // and what RateLimit and Retry-After say
        .circuitBreaker()                       // an origin that fails is left alone for a while
        .hedge()                                // what is slower than usual is sent once more, within a budget
        .coalesce()                             // equal requests in flight at the same time share one exchange
        .retry()
    return resilient
}

// swift-format-ignore
func seen(_ transport: some HTTPSender, by sink: some EventSink) -> HTTPStack {
    let seen = transport
        .metrics()                              // http.client.request.duration and the others, by OpenTelemetry's names
        .trace()                                // a span for each attempt, with its traceparent sent along
        .redirect()
        .retry()
        .events(to: sink)                       // every step of a call, in an order that has a grammar
        .profile()                              // response.metadata.profile: where the time went, as a tree
    return seen
}
