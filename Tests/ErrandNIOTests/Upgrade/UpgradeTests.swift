#if SWIFT_NIO && MockServer
import ErrandConformance
import ErrandCore
import ErrandMockServer
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// Connections whose protocol is changed (101), over a server of bytes.
    @Suite(.timeLimit(.minutes(5))) struct UpgradeTests {
        private func request(_ server: RawServer, _ name: String = "websocket") throws -> Request {
            var request = try Request(.get, url: server.url("/chat"), headers: [.custom("Sec-WebSocket-Version"): "13"])
            request.options.upgrade = UpgradeRequest(protocolName: name)
            return request.within(.seconds(10))
        }

        /// A server that accepts the upgrade, and then runs `script`.
        private func server(
            with rest: String = "", _ script: @escaping RawServer.Script = { connection in connection.waitForEnd() }
        ) throws -> RawServer {
            try RawServer { connection in
                _ = try connection.readHead()
                try connection.write(
                    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n\r\n" + rest)
                try script(connection)
            }
        }

        private func stream(_ transport: NIOTransport, _ server: RawServer) async throws -> any DuplexStream {
            try require(try await transport.send(request(server)).upgrade)
        }

        /// Reads `count` bytes.
        private func read(_ count: Int, _ source: any BodySource) async throws -> Data {
            var data = Data()
            while data.count < count, let chunk = try await source.next() { data += chunk }
            return data
        }

        @Test func framesGoBothWays() async throws {
            let seen = Watched<RawRequest?>(nil)
            // A masked text frame "hello" (RFC 6455, section 5.7), and the server's unmasked copy of it.
            let masked: [UInt8] = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]
            let plain: [UInt8] = [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]
            let server = try RawServer { connection in
                let head = try connection.readHead()
                seen.change { $0 = head }
                try connection.write(
                    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
                for _ in 0..<3 {
                    guard try connection.read(exactly: masked.count) == masked else { return }
                    try connection.write(plain)
                }
                connection.waitForEnd()
            }
            defer { server.stop() }
            let sink = RecordingEventSink()
            try await withNIO { transport in
                var request = try self.request(server)
                request.options.eventSink = sink
                let response = try await transport.send(request)
                #expect(response.status.code == 101)
                #expect(response.headers[.custom("Sec-WebSocket-Accept")] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
                #expect(try await response.body.collect().isEmpty)
                let stream = try #require(response.upgrade)
                for _ in 0..<3 {
                    try await stream.write(Data(masked))
                    #expect(try await read(plain.count, stream.incoming) == Data(plain))
                }
                #expect(response.exchange.outcome == nil)
                #expect(transport.openConnections.map(\.exchanges) == [1])
                stream.close()
                try await server.counts.wait("the end of the connection") { $0.seenEnds == 1 }
                try await poll("the pool to forget it", value: { transport.openConnections.count }) { $0 == 0 }
                #expect(response.exchange.outcome?.description == "complete")
                await #expect(throws: TransportError.self) { try await stream.write(Data(masked)) }
            }
            #expect(seen.value?.value("upgrade") == "websocket")
            #expect(seen.value?.value("connection") == "Upgrade")
            #expect(seen.value?.value("sec-websocket-version") == "13")
            #expect(
                sink.kinds == [
                    .start, .connectStart, .connectEnd, .connectionAcquired, .requestHeadSent, .requestSent, .responseHead, .end,
                ])
            #expect(EventGrammar.violations(sink.events, isCall: false) == [])
            #expect(sink.events.last?.failure == nil)
        }

        @Test func bytesRightAfterTheHeadComeFirst() async throws {
            let isFirstRead = Watched(false)
            let server = try self.server(with: "first") { connection in
                try isFirstRead.waitBlocking { $0 }
                try connection.write("second")
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let stream = try await self.stream(transport, server)
                #expect(try await read(5, stream.incoming) == Data("first".utf8))
                isFirstRead.change { $0 = true }
                #expect(try await read(6, stream.incoming) == Data("second".utf8))
                stream.close()
            }
        }

        @Test func anUpgradedConnectionIsNotUsedAgainAndCountsUntilItCloses() async throws {
            let server = try RawServer.responding { connection, request, _ in
                guard request.value("upgrade") != nil else { return try connection.respond(body: Data("ok".utf8)) }
                try connection.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO {
                $0.maxConnectionsPerOrigin = 1
            } _: { transport in
                let stream = try await self.stream(transport, server)
                let other = Task {
                    try await transport.send(Request(.get, url: server.url()).within(.seconds(10))).body.collect()
                }
                try await transport.waitForQueue()
                #expect(server.counts.value.accepted == 1)
                stream.close()
                #expect(try await other.value == Data("ok".utf8))
                #expect(server.counts.value.accepted == 2)
            }
        }

        // MARK: - The end of each direction

        @Test func theEndOfTheServerLeavesTheOtherDirectionOpen() async throws {
            let received = Watched(Data())
            let server = try self.server(with: "bye") { connection in
                connection.finishWriting()
                let bytes = try connection.read(exactly: 4)
                received.change { $0 = Data(bytes) }
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let response = try await transport.send(request(server))
                let stream = try #require(response.upgrade)
                #expect(try await read(100, stream.incoming) == Data("bye".utf8))
                #expect(response.exchange.outcome == nil)
                try await stream.write(Data("last".utf8))
                try await received.wait("the last bytes") { $0 == Data("last".utf8) }
                try await stream.finishWriting()
                try await server.counts.wait("the end of the connection") { $0.seenEnds == 1 }
                try await poll("the exchange to end", value: { response.exchange.outcome?.description }) { $0 == "complete" }
            }
        }

        @Test func theServerCanContinueAfterTheEndOfWriting() async throws {
            let server = try self.server { connection in
                guard connection.waitForEnd() == .closed else { return }
                try connection.write("after your end")
            }
            defer { server.stop() }
            try await withNIO { transport in
                let response = try await transport.send(request(server))
                let stream = try #require(response.upgrade)
                try await stream.write(Data(count: 1_000_000))
                try await stream.finishWriting()
                #expect(try await read(100, stream.incoming) == Data("after your end".utf8))
                try await poll("the exchange to end", value: { response.exchange.outcome?.description }) { $0 == "complete" }
                #expect(server.counts.value.bytesRead > 1_000_000)
                let error = await #expect(throws: TransportError.self) { try await stream.write(Data(count: 1)) }
                #expect(error?.code == .connectionLost)
            }
        }

        @Test func aResetIsAFailureOfBothDirections() async throws {
            let isRead = Watched(false)
            let server = try self.server(with: "four") { connection in
                try isRead.waitBlocking { $0 }
                connection.resetAtEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let response = try await transport.send(request(server))
                let stream = try #require(response.upgrade)
                var read = Data()
                let error = await #expect(throws: TransportError.self) {
                    while let chunk = try await stream.incoming.next() {
                        read += chunk
                        if read.count == 4 { isRead.change { $0 = true } }
                    }
                }
                #expect(read == Data("four".utf8))
                #expect(error?.code == .connectionLost)
                #expect(error?.response?.status.code == 101)
                let failure = await #expect(throws: TransportError.self) { try await stream.finishWriting() }
                #expect(failure?.code == .connectionLost)
                #expect(response.exchange.outcome?.description.hasPrefix("failed") == true)
            }
        }

        // MARK: - Back-pressure

        @Test func anUnreadStreamIsNotReceived() async throws {
            let written = Watched(-1)
            let server = try self.server { connection in
                let count = try connection.write(Data(count: 64_000_000), stallMilliseconds: 300)
                written.change { $0 = count }
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let stream = try await self.stream(transport, server)
                let count = try await written.wait("the server to be held") { $0 >= 0 }
                #expect(count < 32_000_000)
                #expect(try await read(count, stream.incoming).count >= count)
                stream.close()
            }
        }

        @Test func aWriterWaitsForAServerThatDoesNotRead() async throws {
            let mayRead = Watched(false)
            let server = try self.server { connection in
                try mayRead.waitBlocking { $0 }
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let stream = try await self.stream(transport, server)
                let written = Watched(0)
                let writer = Task {
                    for _ in 0..<400 {
                        try await stream.write(Data(count: 100_000))
                        written.change { $0 += 100_000 }
                    }
                    try await stream.finishWriting()
                }
                let held = try await atRest("the writer") { written.value }
                #expect(held < 40_000_000)
                // A write that is cancelled while it waits ends immediately, and the stream continues.
                let cancelled = Task { try await stream.write(Data(count: 1)) }
                cancelled.cancel()
                await #expect(throws: CancellationError.self) { try await cancelled.value }
                mayRead.change { $0 = true }
                try await writer.value
                try await server.counts.wait("all bytes") { $0.bytesRead > 40_000_000 }
                stream.close()
            }
        }

        // MARK: - Refused upgrades

        @Test(arguments: ["Upgrade: h2c", "Upgrade: websocket, h2c", "X: y"])
        func a101WithoutTheProtocolIsAFailure(field: String) async throws {
            let server = try RawServer { connection in
                _ = try connection.readHead()
                try connection.write("HTTP/1.1 101 Switching Protocols\r\n\(field)\r\n\r\n")
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let error = await #expect(throws: TransportError.self) { try await transport.send(request(server)) }
                #expect(error?.code == .invalidResponse)
                #expect(error?.message.contains("'websocket'") == true)
                try await server.counts.wait("the end of the connection") { $0.seenEnds == 1 }
            }
        }

        @Test func anotherStatusIsAnOrdinaryResponse() async throws {
            let server = try RawServer.responding { connection, _, _ in
                try connection.respond("426 Upgrade Required", fields: ["Upgrade: other"], body: Data("no".utf8))
            }
            defer { server.stop() }
            try await withNIO { transport in
                for _ in 0..<2 {
                    let response = try await transport.send(request(server))
                    #expect(response.status.code == 426)
                    #expect(response.upgrade == nil)
                    #expect(try await response.body.collect() == Data("no".utf8))
                }
            }
            #expect(server.counts.value.accepted == 1)
        }

        @Test(arguments: ["", "web socket", "a/b/c", "/13", "a/", "a\r\nb: c"])
        func anInvalidProtocolNameIsNotSent(name: String) async throws {
            let server = try self.server()
            defer { server.stop() }
            try await withNIO { transport in
                let error = await #expect(throws: TransportError.self) { try await transport.send(request(server, name)) }
                #expect(error?.code == .invalidRequest)
                #expect(error?.delivery == .notSent)
            }
            #expect(server.counts.value.accepted == 0)
        }

        @Test func aBodyIsRefused() async throws {
            let server = try self.server()
            defer { server.stop() }
            try await withNIO { transport in
                var withBody = try self.request(server)
                withBody.body = .text("body")
                let request = withBody
                let error = await #expect(throws: TransportError.self) { try await transport.send(request) }
                #expect(error?.code == .invalidRequest)
                #expect(error?.message.contains("body") == true)
            }
        }

        // MARK: - Time, cancellation and shutdown

        @Test func theDeadlineAppliesToTheHandshakeOnly() async throws {
            let hasPassed = Watched(false)
            let server = try self.server { connection in
                try hasPassed.waitBlocking { $0 }
                try connection.write("late")
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let end = ContinuousClock.now + .milliseconds(250)
                let response = try await transport.send(request(server).within(.milliseconds(250)))
                let stream = try #require(response.upgrade)
                // The transport uses the timers of the event loop. A write that ends at the deadline has ended a moment later.
                try await Task.sleep(until: end + .milliseconds(50))
                hasPassed.change { $0 = true }
                #expect(try await read(4, stream.incoming) == Data("late".utf8))
                stream.close()
            }
        }

        @Test func cancellingBeforeThe101ClosesTheConnection() async throws {
            let server = try RawServer { connection in
                _ = try connection.readHead()
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let request = try self.request(server)
                let task = Task { _ = try await transport.send(request) }
                try await server.counts.wait("the request") { $0.requests == 1 }
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                try await server.counts.wait("the end of the connection") { $0.seenEnds == 1 }
            }
        }

        @Test func aResponseThatIsDroppedClosesTheConnection() async throws {
            let server = try self.server(with: "unread")
            defer { server.stop() }
            try await withNIO { transport in
                let exchange = try await transport.send(request(server)).exchange
                try await server.counts.wait("the end of the connection") { $0.seenEnds == 1 }
                try await poll("the exchange to end", value: { exchange.outcome?.description }) { $0 == "abandoned" }
            }
        }

        @Test func incomingBytesKeepTheConnection() async throws {
            let isAlone = Watched(false)
            let server = try self.server { connection in
                try isAlone.waitBlocking { $0 }
                try connection.write("later")
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let incoming = try #require(try await transport.send(request(server)).upgrade?.incoming)
                isAlone.change { $0 = true }
                #expect(try await read(5, incoming) == Data("later".utf8))
                incoming.abandon()
                try await server.counts.wait("the end of the connection") { $0.seenEnds == 1 }
            }
        }

        @Test func aReaderThatIsCancelledClosesTheConnection() async throws {
            let server = try self.server()
            defer { server.stop() }
            try await withNIO { transport in
                let stream = try await self.stream(transport, server)
                let executor = QueueExecutor()
                let reader = Task(executorPreference: executor) { try await stream.incoming.next() }
                await executor.drain()
                reader.cancel()
                await #expect(throws: CancellationError.self) { try await reader.value }
                try await server.counts.wait("the end of the connection") { $0.seenEnds == 1 }
            }
        }

        @Test func shuttingDownEndsTheStream() async throws {
            let server = try self.server()
            defer { server.stop() }
            let transport = try NIOTransport(NIOTransport.Configuration())
            let stream = try await self.stream(transport, server)
            let executor = QueueExecutor()
            let reader = Task(executorPreference: executor) { try await stream.incoming.next() }
            await executor.drain()
            try await transport.shutdown()
            let error = await #expect(throws: TransportError.self) { try await reader.value }
            #expect(error?.code == .shutDown)
            #expect(transport.openConnections.isEmpty)
        }

        // MARK: - TLS

        @Test func framesOverTLSGoBothWaysAndTheEndIsAnnounced() async throws {
            let folder = try TestFolder("authority")
            let authority = try TestAuthority()
            try authority.writeCertificate(toPath: folder.file("authority.pem"))
            let server = try await ByteServer(certificate: authority.certificate(), protocols: ["http/1.1"]) { UpgradingScript() }
            defer { Task { await server.stop() } }
            try await withNIO {
                $0.tls.extraRootsPEMFiles = [folder.file("authority.pem")]
            } _: { transport in
                var request = try Request(.get, url: "https://localhost:\(server.port)/")
                request.options.upgrade = UpgradeRequest(protocolName: "echo")
                let response = try await transport.send(request.within(.seconds(10)))
                let stream = try #require(response.upgrade)
                #expect(try await read(7, stream.incoming) == Data("welcome".utf8))
                for text in ["one", "three", "eleven chars"] {
                    try await stream.write(Data(text.utf8))
                    #expect(try await read(text.utf8.count, stream.incoming) == Data(text.utf8))
                }
                try await stream.write(Data("end".utf8))
                #expect(try await read(100, stream.incoming) == Data("bye".utf8))
                try await poll("the exchange to end", value: { response.exchange.outcome?.description }) { $0 == "complete" }
                try await poll("the pool to forget it", value: { transport.openConnections.count }) { $0 == 0 }
            }
            await server.stop()
        }
    }
}

/// Accepts an upgrade with bytes right after the head, sends back what it receives, and closes the connection after "end".
private final class UpgradingScript: ByteScript {
    private var isUpgraded = false
    private var head: [UInt8] = []

    func opened() -> [ByteAction] { [] }

    func received(_ bytes: [UInt8]) -> [ByteAction] {
        if isUpgraded {
            if bytes == Array("end".utf8) { return [.write(Array("bye".utf8)), .close] }
            return [.write(bytes)]
        }
        head += bytes
        guard head.suffix(4) == [0x0D, 0x0A, 0x0D, 0x0A] else { return [] }
        isUpgraded = true
        return [.write(Array("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\nwelcome".utf8))]
    }
}
#endif
