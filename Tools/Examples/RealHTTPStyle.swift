import Errand
import ErrandTesting
import Foundation

/// The features of RealHTTP, written with Errand.
///
/// For a cache, see `OfflineFeed.swift`. For reachability, see `URLSessionGuide.swift`. For downloads that resume, see
/// `DownloadList.swift`.
enum RealHTTPStyle {
    struct Note: Codable, Sendable, Equatable {
        var id: Int
        var text: String
    }

    /// The request as the demo server received it.
    struct Echo: Decodable, Sendable, Equatable {
        var method: String
        var target: String
        var headers: [String: String]
        var body: String
    }

    // A client with fields, validators, timeouts and retry for all requests
    static func client(_ server: URL) -> APIClient {
        APIClient(
            .default
                .concurrencyLimit(4)
                .validate(notMaintained)
                .retry(RetryPolicy(maxAttempts: 3, backoff: .exponential(base: .milliseconds(20))))
                .timeout(.seconds(20))
                .server(server, headers: [.userAgent: "Examples/1.0"]))
    }

    // A request in one line
    static func oneLine(_ server: URL) async throws -> [Note] {
        try await client(server).get("/notes")
    }

    // MARK: - Requests

    // A typed method, path, query, fields, and your own field
    static func request() throws -> Request {
        var request = try Request(.post, "/echo", query: ["draft": true])
        request.headers[.contentLanguage] = "en"
        request.headers[.custom("X-Tenant")] = "blue"
        request.body = .text("Hello")
        request.options.timeout = .use(.seconds(5))
        request.options.retry = .off
        return request
    }

    // The query of an existing request: one item is changed, and two items are added
    static func changedQuery(_ server: URL) async throws -> Echo {
        let client = client(server)
        var request = try request()
        request.query.set("draft", false)
        request.query.append("tag", ["a", "b"])
        return try await client.send(request).json(as: Echo.self)
    }

    // MARK: - Bodies

    struct Login: Encodable, Sendable {
        var user: String
        var remember: Bool
    }

    // JSON, forms, text, data, a file and a stream
    static func bodies(_ file: URL) throws -> [EndpointBody] {
        let chunks = AsyncStream<Data> { continuation in
            for text in ["first ", "second"] { continuation.yield(Data(text.utf8)) }
            continuation.finish()
        }
        return [
            .json(["name": "Ada"]),
            .form(["user": "joe", "remember": "true"]),
            .form(Login(user: "joe", remember: true)),
            .text("Hello"),
            .data(Data("bytes".utf8)),
            .file(file, contentType: "text/plain"),
            .raw(.stream(chunks)),
        ]
    }

    static func echo(_ body: EndpointBody, from server: URL) async throws -> Echo {
        try await client(server).post("/echo", body: body)
    }

    // Your own type for a body
    struct CSV: Sendable {
        var rows: [[String]]
        var body: EndpointBody {
            .text(rows.map { $0.joined(separator: ",") + "\r\n" }.joined(), contentType: "text/csv; charset=utf-8")
        }
    }

    // MARK: - Responses

    // fetch() first, decode() later
    static func stepByStep(_ server: URL) async throws -> (HTTPResponse.Status, [Note]) {
        let client = client(server)
        let response = try await client.send(Request(.get, "/notes"))
        return (response.status, try await response.json(as: [Note].self))
    }

    // Without the client: a method of the response decodes the body
    static func decodingResponse(_ server: URL) async throws -> [Note] {
        try await client(server).send(Request(.get, "/notes")).json(as: [Note].self)
    }

    // Your own decoding: HTTPDecodableResponse
    static let lines = Endpoint<[Substring]>(
        .get, "/lines", decoding: ResponseDecoding { data, _, _ in String(decoding: data, as: UTF8.self).split(separator: "\n") })

    // JSON without a type: a missing member is null
    static func anyJSON(_ server: URL) async throws -> (String?, Bool) {
        let json: JSONValue = try await client(server).get("/notes")
        return (json[0]["text"].stringValue, json[0]["author"]["name"].isNull)
    }

    // Metrics of a response, and of each of its exchanges
    static func metrics(_ server: URL) async throws -> String {
        let client = APIClient(HTTPStack.default.profile().server(server))
        return try await client.response(Endpoint<[Note]>.get("/notes")).metadata.profile.map { "\($0)" } ?? ""
    }

    // MARK: - Validators and retries

    struct Maintenance: Error {}

    // A validator can accept a response, fail the call, change the response, or cause a retry
    static let notMaintained = ResponseValidator("not maintained") { _, response, retries in
        switch response.status.code {
        case 418: return .fail(Maintenance())
        case 503 where retries == 0: return .retry(.constant(.milliseconds(10)), atMost: 1)
        case 203:
            var changed = response
            changed.head.status = .ok
            return .accept(changed)
        default: return .next
        }
    }

    static func echoStatus(_ code: Int, from server: URL) async throws -> HTTPResponse.Status {
        try await client(server).response(Endpoint<Void>.get("/status/\(code)")).status
    }

    // After a 503, sends another request, ignores its response, and then sends the first request again
    static func afterAnotherRequest(_ server: URL) async throws -> Int {
        let unlock = ResponseValidator("unlocked") { _, response, retries in
            response.status == .serviceUnavailable && retries == 0
                ? .retryAfterSending(try Request(.get, url: server.appending(path: "busy"))) : .next
        }
        return try await HTTPStack.default.validate(unlock).server(server)
            .withResponse(to: Request(.get, "/busy")) { $0.status.code }
    }

    // Retry strategies: immediate, delayed, exponential, Fibonacci, your own, and a decision that gets the error or the response
    static let strategies: [RetryPolicy] = [
        RetryPolicy(maxAttempts: 3, backoff: .immediate),
        RetryPolicy(maxAttempts: 3, backoff: .constant(.seconds(1)), jitter: .none),
        RetryPolicy(maxAttempts: 5, backoff: .exponential(base: .milliseconds(100), maxDelay: .seconds(10))),
        RetryPolicy(maxAttempts: 5, backoff: .fibonacci(unit: .milliseconds(100))),
        RetryPolicy(maxAttempts: 4, backoff: .custom("linear") { attempt in .milliseconds(100 * attempt) }),
        RetryPolicy.standard.deciding { attempt in
            if case .success(let response) = attempt.result, response.status == .accepted { return .retry(after: .seconds(1)) }
            return .byPolicy
        },
    ]

    // MARK: - cURL

    // cURLDescription of a request with the client's settings, before it is sent
    static func curl(_ server: URL) async throws -> String {
        try await client(server).stack.prepared(request()).curl()
    }

    // cURLDescription of a response
    static func curlOfResponse(_ server: URL) async throws -> String {
        try await client(server).stack.withResponse(to: Request(.get, "/notes")) { try $0.request.curl() }
    }

    // MARK: - Stubs

    // HTTPStubber: match, delay, echo, several responses in order, and the conditions of a slow network
    static func stubbed() async throws -> [String] {
        let stub = StubTransport(
            Stub(.get, "/notes/{id}").query("full", "true").responds(.json(Note(id: 7, text: "Seven")).delayed(by: .milliseconds(5))),
            Stub(.get, "/job").responds(.status(.accepted), .status(.ok, text: "done")),
            Stub(.post, "/echo").responds(.echo),
            conditions: .wiFi)
        let client = APIClient(stub.server("https://a.example"))
        let note: Note = try await client.get("/notes/7", query: ["full": true])
        let echoed: String = try await client.post("/echo", body: .text("hello"))
        try await client.value(Endpoint<Void>.get("/job"))
        let job: String = try await client.get("/job")
        return [note.text, echoed, job]
    }

    // MARK: - Resources in namespaces

    enum API {
        enum Notes {
            static let all: Endpoint<[Note]> = .get("/notes")
            static func one(_ id: Int) -> Endpoint<Note> { .get("/notes/\(id, "id")") }
            static func add(_ text: String) -> Endpoint<Note> { .post("/notes", body: .json(["text": text])) }
        }
    }

    static func namespaces(_ server: URL) async throws -> Bool {
        let client = client(server)
        let added = try await client.value(API.Notes.add("Post a letter"))
        return try await client.value(API.Notes.one(added.id)) == added
    }
}
