import Errand
import ErrandTesting
import Foundation
import Logging

/// The features of danthorpe's swift-networking, written with Errand.
///
/// For `authenticated` and OAuth, see `SignIn.swift`. For `cached`, see `OfflineFeed.swift`.
enum ComposableStyle {
    struct Note: Codable, Sendable, Equatable {
        var id: Int
        var text: String
    }

    // MARK: - Components

    // A network of components. Each component wraps the components above it; print(network) lists all components
    static func network(_ server: URL, logger: Logger) -> HTTPStack {
        HTTPStack.decompressing
            .delay(by: .milliseconds(1))  // Delayed
            .concurrencyLimit(5)  // Throttled
            .coalesce()  // DuplicatesRemoved
            .redirect()
            .retry(.standard)  // Retry
            .validateStatus()  // CheckedStatusCode
            .log(to: logger)  // Logged
            .profile()  // Instrument
            .number()  // Numbered
            .server(server)  // Server
    }

    // Your own component: NetworkingModifier
    struct Greeting: HTTPMiddleware {
        let text: String

        func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
            var request = request
            request.query.set("greeting", text)
            return try await next.send(request)
        }
    }

    // Duplicates removed: equal requests at the same time share one exchange
    static func duplicates(_ server: URL, counting count: @escaping @Sendable () -> Void) async throws -> [Note] {
        // `.default` sorts its layers. The counter of exchanges must be inside `coalesce`, so `inside:` states this position.
        let counting = TransformMiddleware.request("count") { _ in count() }
        let stack = HTTPStack.default.wrapped(by: counting, inside: .coalesce).delay(by: .milliseconds(200)).coalesce().server(server)
        let client = APIClient(stack)
        return try await withThrowingTaskGroup(of: [Note].self) { group in
            for _ in 0..<5 { group.addTask { try await client.get("/notes") } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    // Numbered: the number of the request is in the metadata of its response
    static func numbers(_ network: HTTPStack) async throws -> [Int?] {
        let client = APIClient(network)
        let first = try await client.response(Endpoint<[Note]>.get("/notes"))
        let second = try await client.response(Endpoint<[Note]>.get("/notes"))
        return [first, second].map { $0.metadata.requestNumber }
    }

    // Retry: the stack has an immediate strategy, and one request has its own, constant strategy
    static func retried(_ server: URL) async throws -> Int {
        var request = try Request(.get, "/busy")
        request.options.retry = .use(RetryPolicy(maxAttempts: 4, backoff: .constant(.milliseconds(10))))
        return try await HTTPStack.default.retry(RetryPolicy(backoff: .immediate)).server(server)
            .withResponse(to: request) { $0.metadata.attempts.count }
    }

    // Server: fields, a path, and a host or a base URL, one after the other
    static func servers(_ server: URL) -> HTTPStack {
        HTTPStack.default
            .server(server)
            .server(path: "/notes")
            .server(headers: [.accept: "application/json", .custom("X-Client"): "example"])
    }

    // Server: a host without a scheme, for https; or a host with a separate scheme
    static func hosts() -> [String] {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        return [
            stub.server("api.example"), stub.server("api.example").server(scheme: "http"),
        ].map(\.description)
    }

    // MARK: - Requests

    // A request that uses the types of swift-http-types, with a query item: request.greeting = "Hello World"
    static func greeting() throws -> String {
        var request = try Request(.post, "/echo", headers: [.contentType: "text/plain"])
        request.query.set("greeting", "Hello World")
        return request.debugDescription
    }

    // Request<Body>: a call with the type of its result
    enum Calls {
        static let notes: Endpoint<[Note]> = .get("/notes")

        // The app's own model, made from the server's model
        static let titles: Endpoint<[Title]> = Endpoint<[Note]>.get("/notes").map { $0.map { Title(text: $0.text.uppercased()) } }
    }

    struct Title: Sendable, Equatable {
        var text: String
    }

    // let (value, response) = try await network.value(.notes())
    static func valueAndResponse(_ network: HTTPStack) async throws -> ([Note], HTTPResponse.Status) {
        let response = try await APIClient(network).response(Calls.notes)
        return (response.value, response.status)
    }

    // NetworkingError: the request and the response
    static func failure(_ network: HTTPStack) async throws -> (String?, Int?) {
        do {
            let _: Note = try await APIClient(network).get("/notes/999")
            return (nil, nil)
        } catch let error as any RequestFailure {
            return (error.request?.redactedURL, error.response?.status.code)
        }
    }

    // MARK: - The client of an app: live, for tests and for previews

    struct IPInfo: Codable, Sendable, Equatable {
        var ip: String
    }

    struct IPInfoClient: Sendable {
        var fetch: @Sendable () async throws -> IPInfo

        static func live(_ network: HTTPStack) -> IPInfoClient {
            let client = APIClient(network)
            return IPInfoClient { try await client.get("/ip") }
        }

        static let preview = IPInfoClient { IPInfo(ip: "192.0.2.1") }
    }

    // The live client over a stub, as in a test
    static func tested() async throws -> IPInfo {
        let stub = StubTransport(Stub(.get, "/ip").responds(.json(IPInfo(ip: "192.0.2.7"))))
        return try await IPInfoClient.live(stub.server("https://a.example")).fetch()
    }
}
