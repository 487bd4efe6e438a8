#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandMockServer
import ErrandNIO
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// Servers that break the rules of RFC 9112, or use them to the limit. `ResponseParserTests` checks the decisions of the parser. These
    /// tests check the exchange and the connection.
    @Suite(.timeLimit(.minutes(5))) struct HostileServerTests {
        private func get(_ server: RawServer, _ method: HTTPRequest.Method = .get) throws -> Request {
            try Request(method, url: server.url()).within(.seconds(10))
        }

        /// A server that sends the same bytes for each request.
        private func server(_ response: String) throws -> RawServer {
            try RawServer.responding { connection, _, _ in try connection.write(response) }
        }

        /// Sends two requests, one after the other. Returns the status and body of each.
        private func two(_ server: RawServer, _ method: HTTPRequest.Method = .get) async throws -> [String] {
            try await withNIO { transport in
                var found: [String] = []
                for _ in 0..<2 {
                    let response = try await transport.send(get(server, method))
                    found.append("\(response.status.code) \(String(decoding: try await response.body.collect(), as: UTF8.self))")
                }
                return found
            }
        }

        // MARK: - Responses without a body

        @Test(arguments: [
            (HTTPRequest.Method.head, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "200 ", 1),
            (.head, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12345", "200 ", 2),
            (.head, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "200 ", 1),
            (.head, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", "200 ", 2),
            (.get, "HTTP/1.1 204 No Content\r\n\r\n", "204 ", 1),
            (.get, "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nno", "204 ", 2),
            (.get, "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "304 ", 1),
            (.get, "HTTP/1.1 304 Not Modified\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", "304 ", 2),
            // Bytes after the end: the next request must not get them.
            (.get, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", "200 ok", 2),
            (.get, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n\r\n", "200 ok", 2),
            // HTTP/1.0 closes unless it says otherwise.
            (.get, "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "200 ok", 2),
            (.get, "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok", "200 ok", 1),
            (.get, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", "200 ok", 2),
        ])
        func theConnectionIsKeptOnlyIfTheEndIsCertain(
            method: HTTPRequest.Method, response: String, found: String, connections: Int
        ) async throws {
            let server = try self.server(response)
            defer { server.stop() }
            let both = try await two(server, method)
            #expect(both == [found, found])
            #expect(server.counts.value.accepted == connections)
        }

        @Test func anUnrequestedResponseIsNotUsedForTheNextRequest() async throws {
            let readCount = Watched(0)
            let server = try RawServer { connection in
                _ = try connection.readHead()
                try connection.respond(body: Data("first".utf8))
                let number = connection.number
                try readCount.waitBlocking { $0 == number }
                try connection.respond(body: Data("evil".utf8))
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                for _ in 0..<2 {
                    let data = try await transport.send(get(server)).body.collect()
                    #expect(data == Data("first".utf8))
                    readCount.change { $0 += 1 }
                    try await poll("the connection to be closed", value: { transport.openConnections.count }) { $0 == 0 }
                }
            }
            #expect(server.counts.value.accepted == 2)
        }

        @Test func aResponseBeforeTheWholeRequestIsItsResponse() async throws {
            let server = try RawServer { connection in
                // Some servers refuse a client before they read anything.
                try connection.respond("503 Service Unavailable", fields: ["Connection: close"], body: Data("busy".utf8))
                connection.waitForEnd()
            }
            defer { server.stop() }
            let both = try await two(server)
            #expect(both == ["503 busy", "503 busy"])
        }

        // MARK: - Refused responses

        @Test(arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "both Content-Length"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc", "differ"),
            ("HTTP/1.1 200 OK\r\nA: b\rC: d\r\nContent-Length: 0\r\n\r\n", "CR"),
            ("HTTP/1.1 200 OK\r\n A: b\r\nContent-Length: 0\r\n\r\n", "continues no field"),
            ("HTTP/1.1 200 OK\r\nA : b\r\nContent-Length: 0\r\n\r\n", "token"),
            (String(repeating: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", count: 200), "interim responses"),
            ("HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 501) + "\r\n", "more than 500 fields"),
            ("HTTP/1.1 200 OK\r\nA: " + String(repeating: "b", count: 300_000) + "\r\n\r\n", "longer than 262144 bytes"),
        ])
        func anInvalidHeadIsAFailureOfThisExchange(response: String, reason: String) async throws {
            let server = try RawServer { connection in
                _ = try connection.readHead()
                try connection.write(response)
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let error = await #expect(throws: TransportError.self) { try await transport.send(get(server)) }
                #expect(error?.code == .invalidResponse)
                #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
                try await server.counts.wait("the end of the connection") { $0.seenEnds == 1 }
            }
        }

        @Test(arguments: [
            ("2\r\nok\r\nzz\r\n", "hexadecimal"),
            ("2\r\nok\r\nFFFFFFFFFFFFFFFF\r\n", "digits"),
            ("2\r\nok\r\n1;" + String(repeating: "a", count: 5_000) + "\r\n", "chunk size is longer than 4096 bytes"),
            ("2\r\nok\r\n0\r\nA: " + String(repeating: "b", count: 300_000) + "\r\n\r\n", "trailers"),
            ("2\r\nok\r\n0\r\n" + String(repeating: "A: b\r\n", count: 501) + "\r\n", "trailer fields"),
            ("2\r\nok\n", "CR LF"),
        ])
        func anInvalidBodyIsDeliveredUpToTheFault(chunks: String, reason: String) async throws {
            let server = try RawServer { connection in
                _ = try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let response = try await transport.send(get(server))
                var read = Data()
                let error = await #expect(throws: TransportError.self) { for try await chunk in response.body { read += chunk } }
                #expect(read == Data("ok".utf8))
                #expect(error?.code == .invalidResponse)
                #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
                try await server.counts.wait("the end of the connection") { $0.seenEnds == 1 }
            }
        }

        @Test func aHugeChunkIsReadUpToTheEndOfTheConnection() async throws {
            let server = try RawServer { connection in
                _ = try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7FFFFFFFFFFFFFF\r\nbeginning")
            }
            defer { server.stop() }
            try await withNIO { transport in
                let response = try await transport.send(get(server))
                var read = Data()
                let error = await #expect(throws: TransportError.self) { for try await chunk in response.body { read += chunk } }
                #expect(read == Data("beginning".utf8))
                #expect(error?.code == .connectionLost)
            }
        }

        // MARK: - The end of the connection

        @Test func aResetDoesNotEndABodyWithoutALength() async throws {
            let isRead = Watched(false)
            let server = try RawServer { connection in
                _ = try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\n\r\npartial")
                try isRead.waitBlocking { $0 }
                connection.resetAtEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let response = try await transport.send(get(server))
                var read = Data()
                let error = await #expect(throws: TransportError.self) {
                    for try await chunk in response.body {
                        read += chunk
                        isRead.change { $0 = true }
                    }
                }
                #expect(read == Data("partial".utf8))
                #expect(error?.code == .connectionLost)
            }
        }

        @Test func aHugeLengthAllocatesNothing() async throws {
            let server = try RawServer { connection in
                _ = try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nbeginning")
            }
            defer { server.stop() }
            try await withNIO { transport in
                let response = try await transport.send(get(server))
                #expect(response.body.expectedLength == .max)
                let error = await #expect(throws: TransportError.self) { try await response.body.collect(upTo: .max) }
                #expect(error?.code == .connectionLost || error?.code == .bodyTooLarge)
            }
        }

        @Test(arguments: ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"])
        func anEndOverTLSWithoutCloseNotifyIsAFailure(head: String) async throws {
            let folder = try TestFolder("authority")
            let authority = try TestAuthority()
            try authority.writeCertificate(toPath: folder.file("authority.pem"))
            let inner = try await ByteServer(certificate: authority.certificate(), protocols: ["http/1.1"]) {
                OneResponseScript(head + "partial")
            }
            let port = inner.port
            // The connections end between two records, as an attacker would end them.
            let server = try RawServer { connection in try connection.relay(to: port) }
            try await withNIO {
                $0.tls.extraRootsPEMFiles = [folder.file("authority.pem")]
            } _: { transport in
                let request = try Request(.get, url: "https://127.0.0.1:\(server.port)/").within(.seconds(10))
                let response = try await transport.send(request)
                var read = Data()
                let error = await #expect(throws: TransportError.self) {
                    for try await chunk in response.body {
                        read += chunk
                        if read == Data("partial".utf8) { server.stop() }
                    }
                }
                #expect(read == Data("partial".utf8))
                #expect(error?.code == .connectionLost)
                #expect(error?.message.contains("close_notify") == true)
            }
            server.stop()
            await inner.stop()
        }

        @Test func aBodyOverTLSCanLastUntilCloseNotify() async throws {
            let folder = try TestFolder("authority")
            let authority = try TestAuthority()
            try authority.writeCertificate(toPath: folder.file("authority.pem"))
            let server = try await ByteServer(certificate: authority.certificate(), protocols: ["http/1.1"]) {
                OneResponseScript("HTTP/1.1 200 OK\r\n\r\nall of it", closes: true)
            }
            try await withNIO {
                $0.tls.extraRootsPEMFiles = [folder.file("authority.pem")]
            } _: { transport in
                let request = try Request(.get, url: "https://127.0.0.1:\(server.port)/").within(.seconds(10))
                #expect(try await transport.send(request).body.collect() == Data("all of it".utf8))
            }
            await server.stop()
        }
    }
}

/// Sends bytes for the first request.
private final class OneResponseScript: ByteScript {
    private let response: String
    private let closes: Bool
    private var head: [UInt8] = []

    init(_ response: String, closes: Bool = false) { (self.response, self.closes) = (response, closes) }

    func opened() -> [ByteAction] { [] }

    func received(_ bytes: [UInt8]) -> [ByteAction] {
        head += bytes
        guard head.suffix(4) == [0x0D, 0x0A, 0x0D, 0x0A] else { return [] }
        return [.write(Array(response.utf8))] + (closes ? [.close] : [])
    }
}
#endif
