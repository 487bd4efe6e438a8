#if MockServer && SWIFT_NIO
import ErrandNIO
import ErrandCore
import ErrandMockServer
import Foundation
import TestSupport
import Testing

extension MockServerTests {
    /// The responses, and the requests that the server keeps.
    @Suite
    struct MockResponseTests {
        @Test func queuedResponsesComeFirstAndInOrder() async throws {
            try await withMockServer { server in
                server.dispatch { request in request.path == "/b" ? nil : .text("first dispatcher") }
                server.dispatch { _ in .text("second dispatcher") }
                server.enqueue(.status(.serviceUnavailable), .json(["id": 7]))
                try await withNIO { transport in
                    let first = try await transport.whole(Request(.get, url: server.url("/a")))
                    #expect(first.response.status == .serviceUnavailable)
                    #expect(first.body.isEmpty)
                    let second = try await transport.whole(Request(.get, url: server.url("/a")))
                    #expect(second.body == Data(#"{"id":7}"#.utf8))
                    #expect(second.response.headers[.contentType] == "application/json")
                    #expect(second.response.headers[.contentLength] == "8")
                    #expect(try await transport.text(server.url("/a")) == "first dispatcher")
                    #expect(try await transport.text(server.url("/b")) == "second dispatcher")
                }
            }
        }

        @Test func bodiesInJSONAreWrittenAndReadAsAClientDoes() async throws {
            struct Order: Codable, Sendable, Equatable {
                var itemName: String
                var placedAt: Date
            }
            let order = Order(itemName: "tea", placedAt: Date(timeIntervalSince1970: 1_795_264_560))
            let snakeCase = JSONCoding(keys: .snakeCase)
            try await withMockServer { server in
                server.enqueue(.json(order), .json(order, coding: snakeCase))
                try await withNIO { transport in
                    let first = try await transport.whole(
                        Request(.post, url: server.url("/a"), body: .data(JSONCoding.standard.encode(order))))
                    #expect(try JSONCoding.standard.decode(Order.self, from: first.body) == order)
                    let second = try await transport.whole(Request(.post, url: server.url("/b"), body: .data(snakeCase.encode(order))))
                    #expect(try snakeCase.decode(Order.self, from: second.body) == order)
                    #expect(try server.requests[0].json(as: Order.self) == order)
                    #expect(try server.requests[0].json(as: JSONValue.self)["placedAt"].stringValue == "2026-11-21T12:36:00Z")
                    #expect(try server.requests[1].json(coding: snakeCase) == order)
                }
            }
        }

        @Test func aRequestWithoutAResponseIsNamed() async throws {
            try await withMockServer { server in
                server.dispatch { _ in nil }
                try await withNIO { transport in
                    let (response, body) = try await transport.whole(Request(.delete, url: server.url("/who?x=y")))
                    #expect(response.status == .notFound)
                    #expect(String(decoding: body, as: UTF8.self).contains("DELETE /who?x=y"))
                    #expect(server.requests.map(\.path) == ["/who"])
                }
            }
        }

        @Test func aDispatcherThatThrowsIsAServerError() async throws {
            try await withMockServer { server in
                server.dispatch { _ in throw TestError() }
                try await withNIO { transport in
                    let (response, body) = try await transport.whole(Request(.get, url: server.url()))
                    #expect(response.status == .internalServerError)
                    #expect(String(decoding: body, as: UTF8.self).contains("TestError"))
                }
            }
        }

        @Test func aRequestIsKeptAsItCame() async throws {
            try await withMockServer { server in
                server.dispatch { request in .text("\(try await request.body().count)") }
                try await withNIO { transport in
                    let request = try Request(
                        .put, url: server.url("/things/7?a=b%20c"), headers: [.contentType: "text/plain", .accept: "a/b"],
                        body: .text("content"))
                    #expect(try await transport.whole(request).body == Data("7".utf8))
                    let kept = try await server.nextRequest()
                    #expect(kept.method == .put)
                    #expect(kept.head.path == "/things/7?a=b%20c")
                    #expect(kept.path == "/things/7")
                    #expect(kept.head.scheme == "http")
                    #expect(kept.head.authority == "127.0.0.1:\(server.port)")
                    #expect(kept.headers[.contentType] == "text/plain")
                    #expect(kept.headers[HTTPField.Name("Host")!] == nil)
                    #expect(kept.body == Data("content".utf8))
                    #expect(kept.bodyBytes == 7)
                    #expect(kept.httpVersion == .http1_1)
                    #expect((kept.connectionIndex, kept.exchangeIndex) == (0, 0))
                    #expect(kept.failure == nil)
                    #expect(kept.serverName == nil)
                    #expect(kept.negotiatedProtocol == nil)
                    #expect("\(kept)" == "PUT /things/7 (HTTP/1.1, connection 0, exchange 0)")
                }
            }
        }

        @Test func indexesShowReusedConnections() async throws {
            try await withMockServer { server in
                server.dispatch { request in request.path == "/last" ? .text("x").with { $0.closesConnection = true } : .text("x") }
                try await withNIO { transport in
                    for path in ["/a", "/last", "/b"] { _ = try await transport.text(server.url(path)) }
                    #expect(server.requests.map(\.connectionIndex) == [0, 0, 1])
                    #expect(server.requests.map(\.exchangeIndex) == [0, 1, 0])
                    #expect(server.acceptedConnectionCount == 2)
                    try await server.waitUntil { $0.openConnections == 1 }
                }
                try await server.waitUntil { $0.openConnections == 0 }
            }
        }

        @Test func theServerWaitsForTheNextRequest() async throws {
            try await withMockServer { server in
                server.dispatch { _ in .status(.ok) }
                try await withNIO { transport in
                    let next = Task { try await server.nextRequest() }
                    _ = try await transport.send(Request(.get, url: server.url("/one")))
                    #expect(try await next.value.path == "/one")
                    _ = try await transport.send(Request(.get, url: server.url("/two")))
                    #expect(try await server.nextRequest().path == "/two")
                    await #expect(throws: MockServer.TimeoutError.self) { try await server.nextRequest(within: .milliseconds(20)) }
                }
            }
        }

        @Test func waitingEndsWithItsTask() async throws {
            try await withMockServer { server in
                let waiting = Task { try await server.nextRequest(within: .seconds(50)) }
                waiting.cancel()
                await #expect(throws: CancellationError.self) { try await waiting.value }
            }
        }

        @Test(arguments: [HTTPRequest.Method.head, .get])
        func aResponseToHeadHasTheLengthOfItsBody(method: HTTPRequest.Method) async throws {
            try await withMockServer { server in
                server.dispatch { _ in .text("four") }
                try await withNIO { transport in
                    for _ in 0..<2 {
                        let (response, body) = try await transport.whole(Request(method, url: server.url()))
                        #expect(response.headers[.contentLength] == "4")
                        #expect(body.count == (method == .head ? 0 : 4))
                    }
                    #expect(server.requests.map(\.connectionIndex) == [0, 0])
                }
            }
        }

        @Test func aStatusWithoutABodyIsSentWithoutABody() async throws {
            try await withMockServer { server in
                server.enqueue(.status(.noContent), .text("x", status: .notModified), .redirect(to: "/there"))
                try await withNIO { transport async throws in
                    #expect(try await transport.whole(Request(.get, url: server.url())).body.isEmpty)
                    #expect(try await transport.whole(Request(.get, url: server.url())).body.isEmpty)
                    let redirect = try await transport.whole(Request(.get, url: server.url()))
                    #expect(redirect.response.status == .found)
                    #expect(redirect.response.headers[.location] == "/there")
                    #expect(server.requests.map(\.connectionIndex) == [0, 0, 0])
                }
            }
        }
    }
}
#endif
