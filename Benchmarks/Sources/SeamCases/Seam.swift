internal import ErrandAPI
public import ErrandCore
internal import ErrandMiddleware
internal import ErrandTelemetry
internal import Foundation
internal import Metrics

/// Calls that measure the cost of the seam, over a transport that returns a whole response immediately.
public struct Seam: Sendable {
    private let stack = HTTPStack(Whole())
    private let client = APIClient(HTTPStack(Whole()).server("https://a.example"))
    private let observed = HTTPStack(Whole()).metrics(factory: NOOPMetricsHandler.instance).trace(tracer: SilentTracer())
        .events(to: Forgetful())
    private let idle = HTTPStack(Whole()).wrappedEightTimes(by: Idle())
    private let request: Request

    public init() throws { request = try Request(.get, url: "https://a.example/users/7") }

    public func send() async throws { _ = try await stack.send(request) }

    /// Sends the request past `metrics`, `trace` and `events`, whose back ends keep nothing.
    public func observe() async throws { _ = try await observed.send(request) }

    /// Sends the request past eight middleware that only call the next one.
    public func sendPastIdle() async throws { _ = try await idle.send(request) }

    public func sendNew() async throws {
        let response = try await stack.send(try Request(.get, url: "https://a.example/users/7"))
        _ = try await response.body.collect()
    }

    public func makeRequest() async throws { _ = try client.request(for: Endpoint<Data>.get("/users/\(7, "id")")) }
    public func data() async throws { _ = try await client.data(Endpoint<Data>.get("/users/\(7, "id")")) }
    public func value() async throws { _ = try await client.value(Endpoint<Whole.User>.get("/users/\(7, "id")")) }
}

/// A middleware that only calls the next one.
public struct Idle: HTTPMiddleware {
    public init() {}
    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response { try await next.send(request) }
}

extension HTTPStack {
    public func wrappedEightTimes(by middleware: some HTTPMiddleware) -> HTTPStack {
        (0..<8).reduce(self) { stack, _ in stack.wrapped(by: middleware) }
    }
}

/// A transport that returns a stored response: status 200, the usual fields of a server, and 1 KB of JSON.
public struct Whole: HTTPTransport {
    public struct User: Decodable, Sendable {
        public let id: Int
        public let name: String
        public let text: String
    }

    public static let body = Data(#"{"id":7,"name":"Ada","text":"\#(String(repeating: "x", count: 990))"}"#.utf8)
    public static let head = HTTPResponse(
        status: .ok,
        headerFields: [
            .date: "Sun, 22 Nov 2026 07:00:00 GMT", .server: "a", .contentType: "application/json", .contentLength: "\(body.count)",
            .eTag: "\"1\"", .cacheControl: "no-cache",
        ])

    public var capabilities: TransportCapabilities { [.deadlines, .phaseEvents] }
    public func send(_ request: Request) async throws -> Response { Response(head: Self.head, data: Self.body, request: request) }
    public func shutdown() async throws {}
}

/// A sink that discards all events.
public struct Forgetful: EventSink {
    public init() {}
    public func record(_ event: ExchangeEvent) {}
}
