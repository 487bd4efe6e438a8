#if SWIFT_NIO && MockServer
internal import Errand
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

extension TransportTests {
    /// A deadline holds wherever the exchange is, and the failure says where that was.
    @Suite
    struct TransportDeadlineTests {
        private static let limit = Duration.milliseconds(400)

        /// The failure of `body`, which must come at its time.
        private func timeout(
            within limit: Duration = limit, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> some Any
        ) async throws -> TransportError {
            let started = ContinuousClock.now
            let failure = try await transportError(sourceLocation: sourceLocation, body)
            let took = ContinuousClock.now - started
            #expect(failure.code == .timedOut, sourceLocation: sourceLocation)
            #expect(took > limit - .milliseconds(50) && took < limit + .seconds(20), "\(took)", sourceLocation: sourceLocation)
            let elapsed = try #require(failure.elapsed, sourceLocation: sourceLocation)
            #expect(elapsed > limit - .milliseconds(50) && elapsed < limit + .seconds(20), "\(elapsed)", sourceLocation: sourceLocation)
            return failure
        }

        private func expectClosed(_ server: RawServer) async throws {
            try await server.counts.wait("the connection to be closed") { $0.accepted == $0.seenEnds && $0.open == 0 }
        }

        @Test(arguments: TestedTransport.allCases) func anUnacceptedConnectionTimesOut(by tested: TestedTransport) async throws {
            let hanging = try HangingPort()
            // Shutdown waits for what still connects.
            try await tested.run {
                $0.connectTimeout = .seconds(1)
            } _: { transport in
                let request = try Request(.get, url: "http://127.0.0.1:\(hanging.port)/").within(Self.limit)
                let failure = try await timeout { try await transport.send(request) }
                #expect(failure.phase == .connect)
                #expect(failure.delivery == .notSent)
            }
        }

        @Test(arguments: TestedTransport.allCases) func connectingHasItsOwnLimit(by tested: TestedTransport) async throws {
            let hanging = try HangingPort()
            try await tested.run {
                $0.connectTimeout = Self.limit
            } _: { transport in
                let failure = try await timeout { try await transport.send(Request(.get, url: "http://127.0.0.1:\(hanging.port)/")) }
                #expect(failure.phase == .connect)
                #expect(failure.delivery == .notSent)
            }
        }

        @Test(arguments: [true, false], TestedTransport.allCases)
        func aHandshakeWithoutAReplyTimesOut(hasDeadline: Bool, by tested: TestedTransport) async throws {
            let server = try RawServer { $0.waitForEnd() }
            defer { server.stop() }
            try await tested.run {
                $0.connectTimeout = hasDeadline ? .seconds(1) : Self.limit
            } _: { transport in
                var request = try Request(.get, url: server.url(scheme: "https"))
                if hasDeadline { request = request.within(Self.limit) }
                let failure = try await timeout { [request] in try await transport.send(request) }
                #expect(failure.phase == .connect)
                #expect(failure.delivery == .notSent)
            }
        }

        @Test(arguments: TestedTransport.allCases) func aQueuedRequestTimesOut(by tested: TestedTransport) async throws {
            let server = try RawServer { connection in
                try connection.readHead()
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await tested.run {
                $0.maxConnections = 1
            } _: { transport in
                let first = Task { try await transport.send(Request(.get, url: server.url())) }
                try await server.counts.wait { $0.requests == 1 }
                let failure = try await timeout { try await transport.send(Request(.get, url: server.url()).within(Self.limit)) }
                #expect(failure.phase == .queue)
                #expect(failure.delivery == .notSent)
                first.cancel()
                await #expect(throws: CancellationError.self) { try await first.value }
            }
        }

        @Test(arguments: [true, false], TestedTransport.allCases)
        func aMissingHeadTimesOut(hasBody: Bool, by tested: TestedTransport) async throws {
            let server = try RawServer { connection in
                let request = try connection.readHead()
                _ = try connection.readBody(of: request)
                try connection.write("HTTP/1.1 200 OK\r\nContent-Le")
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await tested.run { transport in
                let body = hasBody ? RequestBody.data(Data.seeded(200_000)) : .empty
                let request = try Request(.post, url: server.url(), body: body).within(Self.limit)
                let failure = try await timeout { try await transport.send(request) }
                #expect(failure.phase == .response)
                #expect(failure.delivery == .unknown)
                try await expectClosed(server)
            }
        }

        @Test(arguments: TestedTransport.allCases) func anUploadThatIsNotTakenTimesOut(by tested: TestedTransport) async throws {
            let mayEnd = Watched(false)
            let server = try RawServer(receiveBufferBytes: 64 * 1024) { connection in
                try connection.readHead()
                try mayEnd.waitBlocking { $0 }
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await tested.run { transport in
                let source = CountingBodySource(totalBytes: 64 * 1024 * 1024)
                let body = RequestBody.stream(length: 64 * 1024 * 1024) { _ in source }
                let request = try Request(.put, url: server.url(), body: body).within(Self.limit)
                let failure = try await timeout { try await transport.send(request) }
                #expect(failure.phase == .send)
                #expect(failure.delivery == .unknown)
                try await source.progress.wait("the source to be given up") { $0.isAbandoned }
                mayEnd.change { $0 = true }
                try await expectClosed(server)
            }
        }

        @Test(arguments: TestedTransport.allCases) func aSilentSourceTimesOut(by tested: TestedTransport) async throws {
            let server = try RawServer { connection in
                try connection.readHead()
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await tested.run { transport in
                let source = ScriptedBodySource(["first"], then: .stall)
                let request = try Request(.put, url: server.url(), body: .stream { _ in source }).within(Self.limit)
                let failure = try await timeout { try await transport.send(request) }
                #expect(failure.phase == .send)
                #expect(failure.delivery == .unknown)
                try await source.abandonments.wait { $0 > 0 }
                try await expectClosed(server)
            }
        }

        @Test(arguments: TestedTransport.allCases) func aStalledBodyTimesOut(by tested: TestedTransport) async throws {
            let server = try RawServer { connection in
                try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nas far as here")
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await tested.run { transport in
                var received = Data()
                let failure = try await timeout {
                    let response = try await transport.send(Request(.get, url: server.url()).within(Self.limit))
                    for try await chunk in response.body { received.append(chunk) }
                }
                #expect(failure.phase == .body)
                #expect(failure.delivery == .sent)
                #expect(failure.response?.status == .ok)
                #expect(String(decoding: received, as: UTF8.self) == "as far as here")
                try await expectClosed(server)
            }
        }

        /// Each byte comes in time; all of them do not.
        @Test(arguments: TestedTransport.allCases) func aBodyThatDripsTimesOut(by tested: TestedTransport) async throws {
            let server = try RawServer { connection in
                try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                for _ in 0..<1000 {
                    try connection.write("x")
                    connection.pause(milliseconds: 20)
                }
            }
            defer { server.stop() }
            try await tested.run { transport in
                let failure = try await timeout {
                    let response = try await transport.send(Request(.get, url: server.url()).within(Self.limit))
                    return try await response.body.collect()
                }
                #expect(failure.phase == .body)
                try await server.counts.wait { $0.open == 0 }
            }
        }

        /// What nobody reads does not hold a connection past the deadline.
        @Test(arguments: [100 * 1024, 16 * 1024 * 1024], TestedTransport.allCases)
        func aLargeBodyThatIsNotReadEndsAtTheDeadline(least: Int, by tested: TestedTransport) async throws {
            // The transport over SwiftNIO reads up to 256 KiB in one piece, and may have several such pieces before it stops.
            let count = tested == .nio ? max(least, 4 * 1024 * 1024) : least
            let server = try RawServer { connection in
                try connection.readHead()
                try connection.respond(body: Data(count: count))
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await tested.run { transport in
                let started = ContinuousClock.now
                let response = try await transport.send(Request(.get, url: server.url()).within(Self.limit))
                let end = try await response.end()
                #expect(ContinuousClock.now - started < Self.limit + .seconds(20))
                #expect((end.failure as? TransportError)?.code == .timedOut)
                let failure = try await transportError { try await response.body.collect() }
                #expect(failure.code == .timedOut)
            }
        }

        @Test(arguments: TestedTransport.allCases) func aDeadlineThatHasPassedSendsNothing(by tested: TestedTransport) async throws {
            let server = try RawServer { $0.waitForEnd() }
            defer { server.stop() }
            try await tested.run { transport in
                let request = try Request(.get, url: server.url()).within(.zero)
                let alone = try await transportError { try await transport.send(request) }
                let stacked = try await transportError { try await HTTPStack(transport).send(request) }
                for failure in [alone, stacked] {
                    #expect(failure.code == .timedOut)
                    #expect(failure.delivery == .notSent)
                }
                #expect(server.counts.value.requests == 0)
            }
        }

        @Test(arguments: TestedTransport.allCases) func aFutureDeadlineChangesNothing(by tested: TestedTransport) async throws {
            let body = Data.seeded(500_000)
            let server = try RawServer.responding { connection, _, _ in try connection.respond(body: body) }
            defer { server.stop() }
            try await tested.run { transport in
                let stack = transport.timeout(.seconds(1_000_000_000_000))
                for _ in 0..<3 {
                    let response = try await stack.send(Request(.get, url: server.url()))
                    #expect(try await response.body.collect() == body)
                }
                #expect(server.counts.value.accepted == 1)
            }
        }
    }
}
#endif
