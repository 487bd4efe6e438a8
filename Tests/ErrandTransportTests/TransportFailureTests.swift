#if SWIFT_NIO && MockServer
internal import Errand
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

extension TransportTests {
    /// What goes wrong is told by a code, a phase, and whether the server may have acted.
    @Suite
    struct TransportFailureTests {
        @Test(arguments: TestedTransport.allCases) func anUnknownHostIsNotFound(by tested: TestedTransport) async throws {
            try await tested.run { transport in
                let failure = try await transportError { try await transport.send(Request(.get, url: "http://nowhere.invalid/")) }
                #expect(failure.code == .cannotFindHost)
                #expect(failure.phase == .connect)
                #expect(failure.delivery == .notSent)
                #expect(failure.message.contains("nowhere.invalid"))
                #expect(failure.description == "GET http://nowhere.invalid/: cannot find host: 'nowhere.invalid' (not sent)")
                #expect(failure.request?.url?.host == "nowhere.invalid")
            }
        }

        @Test(arguments: ["127.0.0.1", "localhost"], TestedTransport.allCases)
        func aRefusedPortFailsImmediately(host: String, by tested: TestedTransport) async throws {
            let port = try LoopbackPorts.refused()
            try await tested.run { transport in
                let failure = try await transportError { try await transport.send(Request(.get, url: "http://\(host):\(port)/")) }
                #expect(try #require(failure.elapsed) < .seconds(8))
                #expect(failure.code == .cannotConnect)
                #expect(failure.phase == .connect)
                #expect(failure.delivery == .notSent)
                let address = tested == .nio ? "127.0.0.1:\(port): " : ""
                #expect(failure.message == "\(address)connection refused")
                #expect(failure.description.hasSuffix("/: cannot connect: \(address)connection refused (not sent)"), "\(failure)")
            }
        }

        @Test(arguments: [false, true], TestedTransport.allCases)
        func aConnectionThatEndsBeforeTheHeadIsLost(resets: Bool, by tested: TestedTransport) async throws {
            let server = try RawServer { connection in
                try connection.readHead()
                if resets { connection.resetAtEnd() }
            }
            defer { server.stop() }
            try await tested.run { transport in
                let failure = try await transportError { try await transport.send(Request(.get, url: server.url())) }
                #expect(failure.code == .connectionLost)
                #expect(failure.phase == .response)
                #expect(failure.delivery == .unknown)
                // The transport over SwiftNIO names the address.
                let address = tested == .nio ? " (127.0.0.1:\(server.port))" : ""
                #expect(failure.message == (resets ? "connection reset by the server" : "connection closed by the server") + address)
            }
        }

        @Test(arguments: TestedTransport.allCases) func aConnectionThatEndsWithinTheHeadIsLost(by tested: TestedTransport) async throws {
            let server = try RawServer { connection in
                try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Le")
            }
            defer { server.stop() }
            try await tested.run { transport in
                let failure = try await transportError { try await transport.send(Request(.get, url: server.url())) }
                #expect(failure.code == .connectionLost)
                #expect(failure.delivery == .unknown)
            }
        }

        @Test(arguments: TestedTransport.allCases) func aConnectionThatEndsWhileTheRequestIsSentIsLost(by tested: TestedTransport)
            async throws
        {
            let server = try RawServer(receiveBufferBytes: 64 * 1024) { connection in
                try connection.readHead()
                connection.resetAtEnd()
            }
            defer { server.stop() }
            try await tested.run { transport in
                let source = CountingBodySource(totalBytes: 64 * 1024 * 1024)
                let body = RequestBody.stream(length: 64 * 1024 * 1024) { _ in source }
                let failure = try await transportError { try await transport.send(Request(.put, url: server.url(), body: body)) }
                #expect(failure.code == .connectionLost)
                #expect(failure.delivery == .unknown)
                try await source.progress.wait("the source to be given up") { $0.isAbandoned }
            }
        }

        @Test(
            arguments: pairs(
                [
                    "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nas far as here",
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ne\r\nas far as here\r\n",
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nas far as here",
                ], [false, true]), TestedTransport.allCases)
        func aBrokenBodyFailsAfterItsBytes(_ example: (String, Bool), by tested: TestedTransport) async throws {
            let (octets, resets) = example
            let isRead = Watched(false)
            let server = try RawServer { connection in
                try connection.readHead()
                try connection.write(octets)
                if resets {
                    // A reset may take along what was not read yet.
                    try isRead.waitBlocking { $0 }
                    connection.resetAtEnd()
                }
            }
            defer { server.stop() }
            try await tested.run { transport in
                let response = try await transport.send(Request(.get, url: server.url()))
                var received = Data()
                let failure = try await transportError {
                    for try await chunk in response.body {
                        received.append(chunk)
                        if received.count == 14 { isRead.change { $0 = true } }
                    }
                }
                #expect(String(decoding: received, as: UTF8.self) == "as far as here")
                #expect(failure.code == .connectionLost)
                #expect(failure.phase == .body)
                #expect(failure.delivery == .sent)
                #expect(failure.response?.status == .ok)
                #expect((try await response.end().failure as? TransportError)?.code == .connectionLost)
            }
        }

        /// What had been read ahead is read, and never anything else; the client drops what it had not handed on by then.
        @Test(arguments: TestedTransport.allCases) func theStartOfABrokenLargeBodyIsRead(by tested: TestedTransport) async throws {
            let content = Data.seeded(1_000_000)
            let server = try RawServer { connection in
                try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 6000000\r\n\r\n")
                try connection.write(content)
            }
            defer { server.stop() }
            try await tested.run { transport in
                let response = try await transport.send(Request(.get, url: server.url()))
                try await server.counts.wait { $0.bytesWritten > content.count && $0.open == 0 }
                var received = Data()
                let failure = try await transportError {
                    for try await chunk in response.body { received.append(chunk) }
                }
                #expect(failure.code == .connectionLost)
                #expect(received.count >= 64 * 1024)
                #expect(received == content.prefix(received.count))
            }
        }

        private static let broken = [
            "220 mail.example ESMTP\r\n", "<html>no</html>\r\n\r\n", "\0\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}", "HTTP/1.1 abc OK\r\n\r\n",
            "HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "HTTP/1.1 200 OK\r\nBad Name: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnothing\r\n",
        ]

        @Test(arguments: pairs(broken, TestedTransport.allCases))
        func invalidHTTPIsRefused(_ example: (String, TestedTransport)) async throws {
            let (octets, tested) = example
            let server = try RawServer { connection in
                try connection.readHead()
                try connection.write(octets)
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await tested.run { transport in
                let failure = try await transportError {
                    let response = try await transport.send(Request(.get, url: server.url()).within(.seconds(3)))
                    return try await response.body.collect()
                }
                #expect(failure.code == .invalidResponse, "\(failure)")
                #expect(!failure.message.contains("parser") && !failure.message.contains("constant"), "\(failure)")
                #expect(failure.delivery != .notSent)
                try await server.counts.wait("the connection to be closed") { $0.open == 0 }
            }
        }
    }
}
#endif
