#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandMiddleware
import ErrandNIO
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// The transport's own timers for the phases of an exchange.
    @Suite(.timeLimit(.minutes(5))) struct PhaseTests {
        private func failure(
            _ server: RawServer, perOrigin: Int = 256, _ limits: PhaseTimeouts, body: RequestBody = .empty,
            read: @Sendable (Response) async throws -> Void = { _ = try await $0.body.collect() }
        ) async throws -> TransportError? {
            try await withNIO {
                $0.maxConnectionsPerOrigin = perOrigin
            } _: { transport in
                var request = try Request(.put, url: server.url(), body: body)
                request.options.phaseTimeouts = .use(limits)
                let limited = request
                let stack = HTTPStack(transport)
                return await #expect(throws: TransportError.self) { try await read(try await stack.send(limited)) }
            }
        }

        @Test func aSilentServerPassesTheLimitForTheFirstByte() async throws {
            let server = try RawServer { connection in
                _ = try connection.readHead()
                connection.waitForEnd()
            }
            defer { server.stop() }
            let error = try await failure(server, PhaseTimeouts(firstByte: .milliseconds(60)))
            #expect(error?.code == .timedOut)
            #expect(error?.phase == .response)
            let limit = "the limit firstByte is 60 ms, set by request.options.phaseTimeouts"
            #expect(error?.message == "\(limit) (127.0.0.1:\(server.port))")
            #expect(error?.delivery == .unknown)
        }

        @Test func aBodyThatStopsPassesTheLimitBetweenChunks() async throws {
            let server = try RawServer { connection in
                _ = try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour")
                connection.waitForEnd()
            }
            defer { server.stop() }
            let error = try await failure(server, PhaseTimeouts(idleRead: .milliseconds(60)))
            #expect(error?.code == .timedOut)
            #expect(error?.phase == .body)
            #expect(error?.message.contains("idleRead is 60 ms") == true)
            #expect(error?.message.hasSuffix(" (127.0.0.1:\(server.port))") == true)
            #expect(error?.response?.status == .ok)
        }

        @Test func aReaderMayTakeItsTime() async throws {
            let isReadOn = Watched(false)
            let server = try RawServer { connection in
                _ = try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour")
                try isReadOn.waitBlocking { $0 }
                try connection.write("sixsix")
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                var request = try Request(.get, url: server.url())
                request.options.phaseTimeouts = .use(PhaseTimeouts(idleRead: .milliseconds(100)))
                let response = try await HTTPStack(transport).send(request)
                var read = Data()
                for try await chunk in response.body {
                    if read.isEmpty {
                        try await Task.sleep(for: .milliseconds(150))  // longer than the limit, which is a time of the event loop
                        isReadOn.change { $0 = true }
                    }
                    read += chunk
                }
                #expect(read == Data("foursixsix".utf8))
            }
        }

        @Test func aServerThatDoesNotReadPassesTheLimitOfWriting() async throws {
            let mayEnd = Watched(false)
            let server = try RawServer(receiveBufferBytes: 4096) { connection in
                _ = try connection.readHead()
                try mayEnd.waitBlocking { $0 }
            }
            defer {
                mayEnd.change { $0 = true }
                server.stop()
            }
            let error = try await failure(
                server, PhaseTimeouts(idleWrite: .milliseconds(100)), body: .data(Data(count: 30_000_000)))
            #expect(error?.code == .timedOut)
            #expect(error?.phase == .send)
            #expect(error?.message.contains("idleWrite is 100 ms") == true)
        }

        @Test(arguments: [nil, Duration.seconds(30)])
        func aServerThatRespondsAndThenDoesNotReadPassesTheLimitOfWriting(idleRead: Duration?) async throws {
            let mayEnd = Watched(false)
            let server = try RawServer(receiveBufferBytes: 4096) { connection in
                _ = try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour")
                try mayEnd.waitBlocking { $0 }
            }
            defer {
                mayEnd.change { $0 = true }
                server.stop()
            }
            for body in [RequestBody.data(Data(count: 30_000_000)), .stream(length: nil) { _ in CountingBodySource() }] {
                let limits = PhaseTimeouts(idleRead: idleRead, idleWrite: .milliseconds(100))
                let error = try await failure(server, limits, body: body) { response in
                    #expect(response.status == .ok)
                    var read = Data()
                    do {
                        for try await chunk in response.body { read += chunk }
                    } catch {
                        #expect(read == Data("four".utf8))
                        throw error
                    }
                }
                #expect(error?.code == .timedOut)
                #expect(error?.phase == .send)
                #expect(error?.message.contains("idleWrite is 100 ms") == true)
                #expect(error?.response?.status == .ok)
            }
        }

        @Test func aServerThatReadsDuringItsResponsePassesNoLimitOfWriting() async throws {
            let server = try RawServer { connection in
                let request = try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour")
                _ = try connection.readBody(of: request)
                connection.pause(milliseconds: 250)  // longer than the limit, which is a time of the event loop
                try connection.write("sixsix")
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                var request = try Request(.put, url: server.url(), body: .data(Data(count: 5_000_000)))
                request.options.phaseTimeouts = .use(PhaseTimeouts(idleWrite: .milliseconds(150)))
                let data = try await HTTPStack(transport).send(request).body.collect()
                #expect(data == Data("foursixsix".utf8))
            }
        }

        @Test func aBodyMayTakeItsTimeToProduceBytes() async throws {
            let server = try RawServer.responding { connection, _, body in try connection.respond(body: body) }
            defer { server.stop() }
            try await withNIO { transport in
                let slow = AsyncStream<Data> { continuation in
                    Task {
                        for _ in 0..<3 {
                            // Longer than the limit, which is a time of the event loop.
                            try? await Task.sleep(for: .milliseconds(120))
                            continuation.yield(Data("part".utf8))
                        }
                        continuation.finish()
                    }
                }
                var request = try Request(.put, url: server.url(), body: .stream(slow))
                request.options.phaseTimeouts = .use(PhaseTimeouts(idleWrite: .milliseconds(80)))
                let data = try await HTTPStack(transport).send(request).body.collect()
                #expect(data == Data("partpartpart".utf8))
            }
        }

        @Test func theQueueHasItsOwnLimit() async throws {
            let server = try RawServer.responding { connection, _, _ in connection.waitForEnd() }
            defer { server.stop() }
            try await withNIO {
                $0.maxConnectionsPerOrigin = 1
            } _: { transport in
                let url = server.url()
                let first = Task { try await transport.send(Request(.get, url: url)) }
                try await server.counts.wait("the first request") { $0.requests == 1 }
                var request = try Request(.get, url: url)
                request.options.phaseTimeouts = .use(PhaseTimeouts(queue: .milliseconds(50)))
                let limited = request
                let error = await #expect(throws: TransportError.self) { try await HTTPStack(transport).send(limited) }
                #expect(error?.phase == .queue)
                #expect(error?.delivery == .notSent)
                first.cancel()
                _ = await first.result
            }
        }
    }
}
#endif
