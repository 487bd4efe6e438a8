#if SWIFT_NIO && MockServer
internal import Errand
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

extension TransportTests {
    /// A cancelled caller always gets a `CancellationError` immediately, and its exchange in progress is given up.
    @Suite
    struct CancellationTests {
        /// Cancels, and expects the task to end long before what it waits for.
        private func cancel(_ task: Task<some Sendable, any Error>, sourceLocation: SourceLocation = #_sourceLocation) async {
            let started = ContinuousClock.now
            task.cancel()
            await #expect(throws: CancellationError.self, sourceLocation: sourceLocation) { _ = try await task.value }
            #expect(ContinuousClock.now - started < .seconds(20), sourceLocation: sourceLocation)
        }

        @Test(arguments: TestedTransport.allCases) func aTaskThatIsCancelledBeforehandSendsNothing(by tested: TestedTransport) async throws
        {
            let server = try RawServer { $0.waitForEnd() }
            defer { server.stop() }
            try await tested.run { transport in
                let mayBegin = Watched(false)
                let task = Task {
                    _ = try? await mayBegin.wait { $0 }
                    return try await transport.send(Request(.get, url: server.url()))
                }
                await cancel(task)
                #expect(server.counts.value.accepted == 0)
            }
        }

        @Test(arguments: TestedTransport.allCases) func aCallIsCancelledWhileConnecting(by tested: TestedTransport) async throws {
            let hanging = try HangingPort()
            // Shutdown waits for what still connects.
            try await tested.run {
                $0.connectTimeout = .seconds(1)
            } _: { transport in
                let sink = RecordingEventSink()
                let request = try Request(.get, url: "http://127.0.0.1:\(hanging.port)/").telling(sink)
                let task = Task { try await transport.send(request) }
                try await sink.wait(for: .start)
                if ClientSockets.areKnown {
                    try await poll("a connection under way", value: { try ClientSockets.count(to: hanging.port, in: .connecting) }) {
                        $0 > 0
                    }
                }
                await cancel(task)
            }
        }

        @Test(arguments: TestedTransport.allCases) func aCallIsCancelledInTheHandshake(by tested: TestedTransport) async throws {
            let server = try RawServer { connection in
                _ = try connection.read()
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await tested.run {
                $0.connectTimeout = .seconds(1)
            } _: { transport in
                let task = Task { try await transport.send(Request(.get, url: server.url(scheme: "https"))) }
                try await server.counts.wait { $0.bytesRead > 0 }
                await cancel(task)
            }
        }

        @Test(arguments: TestedTransport.allCases) func aCallIsCancelledInTheQueue(by tested: TestedTransport) async throws {
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
                let sink = RecordingEventSink()
                let request = try Request(.get, url: server.url()).telling(sink)
                let second = Task { try await transport.send(request) }
                try await sink.wait(for: .start)
                await cancel(second)
                #expect(server.counts.value.accepted == 1)
                await cancel(first)
                try await server.counts.wait("the connection to be closed") { $0.open == 0 }
            }
        }

        @Test(arguments: TestedTransport.allCases) func aCallIsCancelledBeforeTheHead(by tested: TestedTransport) async throws {
            let server = try RawServer { connection in
                try connection.readHead()
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await tested.run { transport in
                let task = Task { try await transport.send(Request(.get, url: server.url())) }
                try await server.counts.wait { $0.requests == 1 }
                await cancel(task)
                try await server.counts.wait("the server to see it") { $0.seenEnds == 1 && $0.open == 0 }
            }
        }

        @Test(arguments: [false, true], TestedTransport.allCases)
        func aCallIsCancelledWhileReadingTheBody(isLarge: Bool, by tested: TestedTransport) async throws {
            let server = try RawServer { connection in
                try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
                if isLarge { try connection.write(Data(count: 90_000_000)) } else { try connection.write("begun") }
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await tested.run { transport in
                let hasBegun = Watched(false)
                let task = Task {
                    let response = try await transport.send(Request(.get, url: server.url()))
                    for try await _ in response.body { hasBegun.change { $0 = true } }
                }
                try await hasBegun.wait { $0 }
                await cancel(task)
                try await server.counts.wait("the server to see it") { $0.seenEnds == 1 && $0.open == 0 }
            }
        }

        /// Read in another task than the one that sent: the reader's cancellation counts.
        @Test(arguments: TestedTransport.allCases) func aReaderInAnotherTaskIsCancelled(by tested: TestedTransport) async throws {
            let server = try RawServer { connection in
                try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun")
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await tested.run { transport in
                let response = try await transport.send(Request(.get, url: server.url()))
                let hasBegun = Watched(false)
                let task = Task {
                    for try await _ in response.body { hasBegun.change { $0 = true } }
                }
                try await hasBegun.wait { $0 }
                await cancel(task)
                #expect(try await response.end().failure is CancellationError)
                try await server.counts.wait("the server to see it") { $0.seenEnds == 1 && $0.open == 0 }
            }
        }

        @Test(arguments: TestedTransport.allCases) func anUploadIsCancelledWithoutAReadingServer(by tested: TestedTransport) async throws {
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
                let task = Task { try await transport.send(Request(.put, url: server.url(), body: body)) }
                _ = try await source.producedAtRest()
                await cancel(task)
                try await source.progress.wait("the source to be given up") { $0.isAbandoned }
                mayEnd.change { $0 = true }
                try await server.counts.wait("the server to see it") { $0.seenEnds == 1 && $0.open == 0 }
            }
        }

        /// A source that says at its cancellation that it is at its end, as `AsyncStream` does: what was sent must not pass for all.
        @Test(arguments: [ScriptedBodySource.Ending.stall, .stallThenEnd], TestedTransport.allCases)
        func anUploadIsCancelledWhileItsSourceIsSilent(then: ScriptedBodySource.Ending, by tested: TestedTransport) async throws {
            let wholeBodies = Watched(0)
            let server = try RawServer { connection in
                let request = try connection.readHead()
                _ = try connection.readBody(of: request)
                wholeBodies.change { $0 += 1 }
            }
            defer { server.stop() }
            try await tested.run { transport in
                for round in 1...20 {
                    let source = ScriptedBodySource(["first"], then: then)
                    let task = Task { try await transport.send(Request(.put, url: server.url(), body: .stream { _ in source })) }
                    try await source.reachedEnding.wait()
                    await cancel(task)
                    try await source.abandonments.wait { $0 > 0 }
                    try await server.counts.wait("the server to see it") { $0.seenEnds == round && $0.open == 0 }
                }
                #expect(wholeBodies.value == 0)
            }
        }
    }
}
#endif
