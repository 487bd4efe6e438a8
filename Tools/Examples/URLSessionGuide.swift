import Errand
import ErrandTesting
import Foundation
import Logging

/// The samples of a guide to URLSession with async/await, rewritten with Errand.
///
/// On Apple's platforms, `HTTPStack.default` sends each request with `URLSession`. On Linux, a test passes a stack over
/// `URLSessionTransport`.
///
/// For `cachePolicy`, see `OfflineFeed.swift`. For lists in pages, see `OrderScreen.swift`. Not in Errand yet: downloads that resume,
/// background sessions and WebSockets.
struct URLSessionGuide: Sendable {
    var stack = HTTPStack.default

    struct Article: Decodable, Sendable, Equatable {
        var articleId: Int
        var title: String
        var publishedAt: Date
    }

    struct Note: Codable, Sendable, Equatable {
        var id: Int
        var text: String
    }

    // MARK: - Requests

    // data(from:) with a URL
    func data(from url: URL) async throws -> Data {
        try await stack.send(Request(.get, url: url)).body.collect()
    }

    // A URLRequest with a method, a field, a body and a timeout
    func configuredRequest(to server: URL) async throws -> HTTPResponse.Status {
        var request = try Request(.post, url: server.appending(path: "notes"))
        request.headers[.contentType] = "application/json"
        request.body = .data(try JSONEncoder().encode(["text": "Call home"]))
        request.options.timeout = .use(.seconds(30))
        return try await stack.withResponse(to: request) { $0.status }
    }

    // fetch<T: Decodable>, with ISO 8601 dates and snake case; any status but 2xx throws
    func articles(_ server: URL) async throws -> [Article] {
        try await client(server).get("/articles")
    }

    // upload(for:fromFile:), which reads the file while the request is sent
    func upload(_ file: URL, to server: URL) async throws -> String {
        try await client(server).put("/upload", body: .file(file))
    }

    // bytes(for:) and the lines of the bytes
    func lines(_ server: URL) async throws -> [String] {
        var lines: [String] = []
        let response = try await stack.send(Request(.get, url: server.appending(path: "lines")))
        for try await line in response.body.lines { lines.append(line) }
        return lines
    }

    // download(for:) to a file, with progress
    func download(_ server: URL, to file: URL, showing progress: @escaping @Sendable (Double) -> Void) async throws -> Int64 {
        let request = try Request(.get, url: server.appending(path: "download"), query: ["bytes": 300_000])
        return try await stack.download(request, to: file) { progress($0.fraction ?? 0) }.bytes
    }

    // MARK: - A client

    // A client with a base URL, a decoder and a configured session: timeouts by phase and fields for all requests
    func client(_ server: URL) -> APIClient {
        APIClient(
            stack
                .phaseTimeouts(connect: .seconds(10), idleRead: .seconds(30))
                .timeout(.seconds(300))
                .server(server, headers: [.acceptLanguage: "en"]),
            json: JSONCoding(keys: .snakeCase))
    }

    // Endpoints as values: method, path, query and the type of the result
    enum Notes {
        static func page(_ page: Int) -> Endpoint<[Note]> { .get("/notes", query: ["page": page]) }
        static func add(_ text: String) -> Endpoint<Note> { .post("/notes", body: .json(["text": text])) }
        static func delete(_ id: Int) -> Endpoint<Void> { .delete("/notes/\(id, "id")") }
    }

    func notes(_ server: URL) async throws -> [Note] {
        let client = client(server)
        let added = try await client.value(Notes.add("Water the plants"))
        try await client.value(Notes.delete(added.id))
        return try await client.value(Notes.page(1))
    }

    // A client of closures: previews and tests replace one function at a time
    struct NotesClient: Sendable {
        var all: @Sendable () async throws -> [Note]
        var add: @Sendable (_ text: String) async throws -> Note

        static func live(_ api: APIClient) -> NotesClient {
            NotesClient(all: { try await api.value(Notes.page(1)) }, add: { try await api.value(Notes.add($0)) })
        }
    }

    func closures(_ server: URL) async throws -> Note {
        try await NotesClient.live(client(server)).add("Read a book")
    }

    // MARK: - Middleware

    // Your own middleware: the guide's RequestMiddleware
    struct BearerToken: HTTPMiddleware {
        let token: @Sendable () async throws -> String

        func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
            var request = request
            request.headers[.authorization] = "Bearer \(try await token())"
            return try await next.send(request)
        }
    }

    // Several middleware as a list. A sorted stack puts each layer at its place: the token's layer, which has no rules, is outside of retry
    func welcome(_ server: URL, token: @escaping @Sendable () async throws -> String) async throws -> String {
        let stack = stack.wrapped {
            BearerToken(token: token)
            RetryMiddleware()
            TimeoutMiddleware(.seconds(30))
        }
        return try await APIClient(stack.server(server)).get("/private")
    }

    // A token that is renewed after a 401, once for all calls that wait for it
    func renewedToken(_ server: URL) async throws -> [String] {
        struct Token: Decodable, Sendable { var accessToken: String }
        let session = client(server)
        let tokens = TokenSource(AccessToken("expired")) { _ in
            AccessToken(try await session.post("/token", as: Token.self).accessToken)
        }
        let client = APIClient(stack.authenticate(.bearer(tokens)).server(server))
        async let first: String = client.get("/private")
        async let second: String = client.get("/private")
        return try await [first, second]
    }

    // Retry with exponential backoff: not after a cancellation, nor after a 4xx other than 408 and 429
    func retried(_ server: URL) async throws -> Int {
        let stack = stack.retry(RetryPolicy(maxAttempts: 4, backoff: .exponential(base: .milliseconds(20)))).server(server)
        let response = try await APIClient(stack).response(Endpoint<Void>.get("/busy"))
        return response.metadata.attempts.count + 1
    }

    // waitsForConnectivity: each attempt waits for a network, for at most 30 seconds. taskIsWaitingForConnectivity: a report of each wait
    struct WaitReport: EventSink {
        let isWaiting: @Sendable () -> Void

        func record(_ event: ExchangeEvent) { if event.kind == .networkWaitStart { isWaiting() } }
    }

    func patient(_ server: URL, at gate: NetworkGate, isWaiting: @escaping @Sendable () -> Void) async throws {
        let patient = stack.waitForNetwork(upTo: .seconds(30), at: gate)
            .retry(RetryPolicy(maxAttempts: 10, backoff: .exponential(base: .milliseconds(20))).waitingForNetwork(at: gate))
            .timeout(.seconds(60))
            .events(to: WaitReport(isWaiting: isWaiting))
            .server(server)
        try await APIClient(patient).value(Endpoint<Void>.get("/busy"))
    }

    // NWPathMonitor: a banner for as long as calls wait for a network
    static func banner(at gate: NetworkGate, show: (String?) -> Void) async {
        for await count in gate.waitingCounts() { show(count == 0 ? nil : "Waiting for a network.") }
    }

    // isExpensive and isConstrained: smaller photos if the network is expensive or constrained
    static func photo(_ id: Int, at gate: NetworkGate) -> Endpoint<Data> {
        .get("/photos/\(id, "id")", query: ["size": gate.path.isExpensive || gate.path.isConstrained ? "small" : "large"])
    }

    // Requests in the log: one readable record for each request, without secrets
    func logged(_ server: URL, to logger: Logger) async throws {
        let _: [Note] = try await APIClient(stack.log(to: logger).server(server)).get("/notes")
    }

    // MARK: - Failures

    // One error type for an app, made from the errors of the library
    enum AppError: Error, Equatable {
        case offline
        case unreachable
        case timedOut
        case notFound
        case server(Int)
        case unreadable
        case other(String)

        init(_ error: any Error) {
            self =
                switch error {
                case let error as StatusError where error.status == .notFound: .notFound
                case let error as StatusError: .server(error.status.code)
                case is ResponseDecodingError: .unreadable
                case _ where error.isOffline: .offline
                case _ where error.isConnectivityError: .unreachable
                case _ where error.isTimeout: .timedOut
                default: .other(error.localizedDescription)
                }
        }
    }

    func appError(_ server: URL, at path: PathTemplate) async -> AppError? {
        do {
            let _: [Note] = try await client(server).get(path)
            return nil
        } catch {
            return AppError(error)
        }
    }

    // A sentence for people, to show in an alert
    func alert(_ server: URL) async -> String {
        do {
            let _: Note = try await client(server).get("/notes/999")
            return ""
        } catch {
            return error.localizedDescription
        }
    }

    // The server's own description of an error, as a value
    struct Problem: Decodable, Sendable {
        var title: String
    }

    func problem(_ server: URL) async throws -> [String?] {
        do {
            let _: Note = try await client(server).get("/notes/999")
            return []
        } catch let error as StatusError {
            return [error.problem?.title, try error.json(as: Problem.self).title]
        }
    }

    // Cancelling a task ends its call, with CancellationError
    func cancelled(_ server: URL) async -> Bool {
        let call = Task { try await APIClient(stack.server(server)).value(Endpoint<Void>.get("/slow")) }
        call.cancel()
        do {
            try await call.value
            return false
        } catch {
            return error.isCancellation
        }
    }

    // MARK: - Tests and input

    // A mocked session, in place of a URLProtocol: no global state, so tests run side by side
    static func mocked() async throws -> [Note] {
        let stub = StubTransport(Stub(.get, "/notes").query("page", "2").responds(.json([Note(id: 11, text: "From a stub")])))
        return try await APIClient(stub.server("https://a.example")).value(Notes.page(2))
    }

    // A URL that a person typed or pasted, without force-unwrapping: characters that a URL must not contain are percent-encoded
    static func pasted(_ text: String) throws -> String {
        try Request(.get, pastedURL: text).url?.description ?? ""
    }

    // A path with dynamic input: a value can't leave its segment
    static func safePath(_ name: String) throws -> String? {
        try Request(.get, "/notes/\(name)").head.path
    }
}
