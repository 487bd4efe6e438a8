#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import ErrandMockServer
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// Bytes after a response on a connection of HTTP/1.1 belong to no response. They must not become the head of the next response.
    @Suite(.timeLimit(.minutes(5))) struct ResponseMixUpTests {
        /// The beginning of a head that would swallow that of the next response.
        static let poison = "HTTP/1.1 307 X\r\nLocation: http://127.0.0.1:1/steal\r\nX-S: "

        struct Case: Sendable, CustomTestStringConvertible {
            var method = HTTPRequest.Method.get
            let response: String
            var body = "ok"

            var testDescription: String { "\(method) \(response)" }
        }

        static let cases = [
            Case(response: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
            Case(response: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", body: ""),
            Case(response: "HTTP/1.1 204 No Content\r\n\r\n", body: ""),
            Case(response: "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n", body: ""),
            Case(method: .head, response: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", body: ""),
            Case(response: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
            Case(response: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\nX-T: x\r\n\r\n"),
            Case(response: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        ]

        /// Responds to `/image` with `response`, and to others honestly; what was requested, with the number of the connection.
        private func serving(
            _ response: String, after pause: Int = 0, poison: String,
            _ body: (RawServer, Watched<[String]>) async throws -> Void
        ) async throws {
            let asked = Watched<[String]>([])
            let server = try RawServer { connection in
                while true {
                    let request = try connection.readHead()
                    let number = connection.number
                    asked.change { $0.append("\(number) \(request.method) \(request.target)") }
                    if request.target == "/image", pause == 0 {
                        try connection.write(response + poison)
                    } else if request.target == "/image" {
                        try connection.write(response)
                        connection.pause(milliseconds: pause)
                        try connection.write(poison)
                    }
                    _ = try connection.readBody(of: request)
                    if request.target != "/image" { try connection.respond(body: Data("paid".utf8)) }
                }
            }
            defer { server.stop() }
            try await body(server, asked)
        }

        private func pay(_ server: RawServer, by transport: some HTTPTransport) async throws {
            let pay = try Request(.post, url: server.url("/pay"), body: .data(Data("card=4711".utf8))).within(.seconds(5))
            // The pool may give a connection away that has been closed and does not know yet: then nothing was sent.
            let response = try await sendUntilSent(pay, by: transport)
            #expect(response.status == .ok)
            #expect(try await response.body.collect() == Data("paid".utf8))
        }

        @Test(arguments: pairs(cases, [poison, "H", "\r\n", "HTTP/1.1 100 Continue\r\n\r\n"]))
        func bytesAfterAResponseAreNotTheNextResponse(_ example: (Case, String)) async throws {
            let (shown, poison) = example
            try await serving(shown.response, poison: poison) { server, asked in
                try await withNIO {
                    $0.maxConnectionsPerOrigin = 1
                } _: { transport in
                    let image = try Request(shown.method, url: server.url("/image")).within(.seconds(5))
                    let response = try await transport.send(image)
                    #expect(response.headers[.connection] == nil)
                    #expect(String(decoding: try await response.body.collect(), as: UTF8.self) == shown.body)
                    #expect(try await response.end().isComplete)
                    try await pay(server, by: transport)
                    #expect(asked.value == ["1 \(shown.method) /image", "2 POST /pay"])
                }
            }
        }

        /// Another program may see the end of such a response elsewhere.
        @Test(arguments: [
            Case(response: "HTTP/1.1 200 OK\nContent-Length: 2\n\nok"), Case(response: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\nok"),
            Case(response: "HTTP/1.1 103 Early Hints\n\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
            Case(response: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-T: x\n\r\n"),
            Case(method: .head, response: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n", body: ""),
        ])
        func anAmbiguousResponseIsTheLastOfItsConnection(_ shown: Case) async throws {
            try await serving(shown.response, poison: "") { server, asked in
                try await withNIO { transport in
                    let image = try Request(shown.method, url: server.url("/image")).within(.seconds(5))
                    let response = try await transport.send(image)
                    #expect(String(decoding: try await response.body.collect(), as: UTF8.self) == shown.body)
                    try await pay(server, by: transport)
                    #expect(asked.value == ["1 \(shown.method) /image", "2 POST /pay"])
                }
            }
        }

        /// They come in a read of their own, when the connection is back in the pool. On a connection that was used before,
        /// systems hold them back for a while.
        @Test(
            arguments: pairs(
                [poison, "H", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", "HTTP/1.1 408 Request Timeout\r\n\r\n"], [0, 2]))
        func bytesOnAnUnusedConnectionEndTheConnection(_ example: (String, Int)) async throws {
            let (poison, exchangesBefore) = example
            try await serving(Self.cases[0].response, after: 30, poison: poison) { server, asked in
                try await withNIO { transport in
                    for _ in 0..<exchangesBefore { try await pay(server, by: transport) }
                    let response = try await transport.send(Request(.get, url: server.url("/image")).within(.seconds(5)))
                    #expect(try await response.body.collect() == Data("ok".utf8))
                    try await server.counts.wait("the connection to be closed") { $0.open == 0 }
                    try await pay(server, by: transport)
                    #expect(asked.value == Array(repeating: "1 POST /pay", count: exchangesBefore) + ["1 GET /image", "2 POST /pay"])
                }
            }
        }

        /// A request that waits for the only connection gets another one.
        @Test func aQueuedRequestDoesNotGetAPoisonedConnection() async throws {
            try await serving(Self.cases[5].response, poison: Self.poison) { server, asked in
                try await withNIO {
                    $0.maxConnectionsPerOrigin = 1
                } _: { transport in
                    for _ in 0..<20 {
                        async let image = transport.send(Request(.get, url: server.url("/image")).within(.seconds(5))).body.collect()
                        async let paid: Void = pay(server, by: transport)
                        #expect(try await image == Data("ok".utf8))
                        try await paid
                    }
                    let connections = Dictionary(grouping: asked.value) { $0.prefix { $0 != " " } }
                    #expect(connections.values.allSatisfy { $0.filter { $0.hasSuffix("/image") }.count <= 1 && $0.last != nil })
                    #expect(!connections.values.contains { asked in asked.dropLast().contains { $0.hasSuffix("/image") } })
                }
            }
        }

        /// The response, and the bytes after the response, come before the request is complete.
        @Test(arguments: pairs([cases[0], cases[5]], [0, 30]))
        func bytesAfterAnEarlyResponseAreNotTheNextResponse(_ example: (Case, Int)) async throws {
            let (shown, pause) = example
            try await serving(shown.response, after: pause, poison: Self.poison) { server, asked in
                try await withNIO { transport in
                    let source = CountingBodySource(totalBytes: 16 * 1024 * 1024)
                    let body = RequestBody.stream(length: 16 * 1024 * 1024) { _ in source }
                    let response = try await transport.send(Request(.put, url: server.url("/image"), body: body).within(.seconds(10)))
                    #expect(try await response.body.collect() == Data("ok".utf8))
                    #expect(try await response.end().isComplete)
                    try await pay(server, by: transport)
                    #expect(asked.value == ["1 PUT /image", "2 POST /pay"])
                }
            }
        }

        @Test(arguments: [cases[0], cases[2], cases[5]])
        func bytesAfterAResponseOverTLSAreNotTheNextResponse(_ shown: Case) async throws {
            let asked = Watched<[String]>([])
            let server = try await ByteServer(certificate: try TestAuthority().certificate(), protocols: ["http/1.1"]) {
                LineScript { line in
                    asked.change { $0.append(line) }
                    return line.contains("/image") ? shown.response + Self.poison : "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npaid"
                }
            }
            try await withNIO {
                $0.tls.uncheckedHostsForTesting = .loopback
            } _: { transport in
                for round in 1...3 {
                    let image = try await transport.send(Request(.get, url: "https://127.0.0.1:\(server.port)/image").within(.seconds(5)))
                    #expect(String(decoding: try await image.body.collect(), as: UTF8.self) == shown.body)
                    let paid = try await transport.send(Request(.post, url: "https://127.0.0.1:\(server.port)/pay").within(.seconds(5)))
                    #expect(try await paid.body.collect() == Data("paid".utf8))
                    #expect(asked.value.count == 2 * round)
                }
            }
            await server.stop()
        }

        /// Honest responses leave the connection as it is.
        @Test(arguments: cases.filter { $0.method == .get })
        func aWholeResponseKeepsTheConnection(_ shown: Case) async throws {
            try await serving(shown.response, poison: "") { server, asked in
                try await withNIO { transport in
                    for _ in 0..<3 {
                        let response = try await transport.send(Request(.get, url: server.url("/image")).within(.seconds(5)))
                        #expect(String(decoding: try await response.body.collect(), as: UTF8.self) == shown.body)
                    }
                    #expect(asked.value == Array(repeating: "1 GET /image", count: 3))
                }
            }
        }
    }
}

/// Responds to the first line of each head.
private final class LineScript: ByteScript {
    private var text = ""
    private let response: (String) -> String

    init(_ response: @escaping (String) -> String) { self.response = response }

    func opened() -> [ByteAction] { [] }

    func received(_ bytes: [UInt8]) -> [ByteAction] {
        text += String(decoding: bytes, as: UTF8.self)
        var actions: [ByteAction] = []
        while let end = text.range(of: "\r\n\r\n") {
            actions.append(.write(Array(response(text.prefix { $0 != "\r\n" }.description).utf8)))
            text.removeSubrange(..<end.upperBound)
        }
        return actions
    }
}
#endif
