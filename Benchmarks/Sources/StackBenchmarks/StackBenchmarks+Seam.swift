import ErrandAPI
import ErrandCore
import ErrandMiddleware
import Foundation

extension StackBenchmarks {
    /// What the seam itself costs: a request through the bare stack, and a typed call, over a transport that has the whole response at once.
    static func measureSeam() async throws -> (send: Figure, typed: Figure, value: Figure) {
        print("\nthe seam, over a transport that returns a whole 200 of 1 KB at once\n")
        let stack = HTTPStack(Whole())
        let request = try Request(.get, url: "https://a.example/users/7")
        let client = APIClient(HTTPStack(Whole()).server("https://a.example"))
        let send = try await measure("stack.send") { _ = try await stack.send(request) }
        _ = try await measure("stack.send of a new request, and its body") {
            let response = try await stack.send(try Request(.get, url: "https://a.example/users/7"))
            _ = try await response.body.collect()
        }
        _ = try await measure("the request of a typed call") { _ = try client.request(for: Endpoint<Data>.get("/users/\(7, "id")")) }
        let typed = try await measure("APIClient.data") { _ = try await client.data(Endpoint<Data>.get("/users/\(7, "id")")) }
        let value = try await measure("APIClient.value of a JSON object") {
            _ = try await client.value(Endpoint<Whole.User>.get("/users/\(7, "id")"))
        }
        _ = try await measure("  of which JSONDecoder") { _ = try JSONDecoder().decode(Whole.User.self, from: Whole.body) }
        return (send, typed, value)
    }
}

/// Has a whole response at hand: a 200 with the fields that a server sends, and 1 KB of JSON.
struct Whole: HTTPTransport {
    struct User: Decodable, Sendable {
        let id: Int
        let name: String
        let text: String
    }

    static let body = Data(#"{"id":7,"name":"Ada","text":"\#(String(repeating: "x", count: 990))"}"#.utf8)
    static let head = HTTPResponse(
        status: .ok,
        headerFields: [
            .date: "Sun, 22 Nov 2026 07:00:00 GMT", .server: "a", .contentType: "application/json", .contentLength: "\(body.count)",
            .eTag: "\"1\"", .cacheControl: "no-cache",
        ])

    var capabilities: Capabilities { [.deadlines, .phaseEvents] }
    func send(_ request: Request) async throws -> Response { Response(head: Self.head, data: Self.body, request: request) }
    func shutdown() async throws {}
}
