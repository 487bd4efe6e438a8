#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import ErrandTesting
import Foundation
import NIOCore
import NIOPosix
import TestSupport
import Testing

extension NIOTransportTests {
    /// What the errors of connecting and of a full pool say.
    @Suite(.timeLimit(.minutes(5))) struct ConnectErrorTests {
        private let setting = "the limit connectTimeout is 400 ms, set by NIOTransport.Configuration"

        private func failure(
            _ url: String, _ limits: PhaseTimeouts? = nil, deadline: Duration? = nil,
            _ configure: (inout NIOTransport.Configuration) throws -> Void
        ) async throws -> TransportError? {
            try await withNIO(configure) { transport in try await failure(transport, url, limits, deadline: deadline) }
        }

        private func failure(
            _ transport: NIOTransport, _ url: String, _ limits: PhaseTimeouts? = nil, deadline: Duration? = nil
        ) async throws -> TransportError? {
            var request = try Request(.get, url: url)
            if let limits { request.options.phaseTimeouts = .use(limits) }
            request.deadline = deadline.map { Deadline(after: $0) }
            let limited = request
            let error = await #expect(throws: TransportError.self) { try await HTTPStack(transport).send(limited) }
            #expect(error?.code == .timedOut)
            return error
        }

        // MARK: - The limits for connecting

        @Test func aLimitThatPassesDuringTheLookupNamesTheHost() async throws {
            let resolver = StubResolver { _ in try await untilCancelled() }
            let url = "http://x.example/"
            let during = ", during the lookup of 'x.example'"
            let own = try await failure(url) {
                $0.resolver = resolver
                $0.connectTimeout = .milliseconds(400)
            }
            #expect(own?.message == setting + during)
            #expect(own?.phase == .connect)
            let limit = try await failure(url, PhaseTimeouts(connect: .milliseconds(60))) { $0.resolver = resolver }
            #expect(limit?.message == "the limit connect is 60 ms, set by request.options.phaseTimeouts" + during)
            #expect(limit?.phase == .connect)
            let deadline = try await failure(url, deadline: .milliseconds(60)) { $0.resolver = resolver }
            #expect(deadline?.message == "the deadline of the request passed" + during)
        }

        @Test func aLimitThatPassesDuringTheConnectNamesTheAddresses() async throws {
            let hanging = try HangingPort()
            let port = hanging.port
            let own = try await failure("http://127.0.0.1:\(port)/") { $0.connectTimeout = .milliseconds(400) }
            #expect(own?.message == setting + ", during the TCP connect to 127.0.0.1:\(port)")
            let limit = try await failure("http://x.example:\(port)/", PhaseTimeouts(connect: .seconds(1))) {
                $0.resolver = StubResolver("127.0.0.2", "127.0.0.1")
            }
            let addresses = "127.0.0.2:\(port): connection refused; 127.0.0.1:\(port): no response"
            #expect(
                limit?.message == "the limit connect is 1 s, set by request.options.phaseTimeouts, during the TCP connect to " + addresses)
        }

        @Test func aLimitThatPassesDuringTheHandshakeNamesTheAddress() async throws {
            let server = try RawServer { $0.waitForEnd() }
            defer { server.stop() }
            let during = ", during the TLS handshake with 127.0.0.1:\(server.port)"
            let own = try await failure(server.url("/", scheme: "https")) {
                // Without the roots of the system, nothing has to be read.
                $0.tls.uncheckedHostsForTesting = .loopback
                $0.connectTimeout = .milliseconds(400)
            }
            #expect(own?.message == setting + during)
            #expect(own?.phase == .connect)
            let deadline = try await failure(server.url("/", scheme: "https"), deadline: .milliseconds(400)) {
                $0.tls.uncheckedHostsForTesting = .loopback
            }
            #expect(deadline?.message == "the deadline of the request passed" + during)
        }

        /// The first connection of TLS reads files. That is no part of the step `connect`, and happens on another thread.
        @Test func theTrustedCertificatesAreReadBeforeTheConnect() async throws {
            let server = try RawServer { $0.waitForEnd() }
            defer { server.stop() }
            let threads = NIOSingletons.blockingPoolThreadCountSuggestion
            let (busy, mayEnd) = (Watched(0), Watched(false))
            for _ in 0..<threads {
                NIOThreadPool.singleton.submit { _ in
                    busy.change { $0 += 1 }
                    _ = try? mayEnd.waitBlocking { $0 }
                }
            }
            defer { mayEnd.change { $0 = true } }
            try await busy.wait("all threads") { $0 == threads }
            try await withNIO {
                $0.connectTimeout = .milliseconds(200)
            } _: { transport in
                let sink = RecordingEventSink()
                var request = try Request(.get, url: server.url("/", scheme: "https"))
                request.options.eventSink = sink
                let sent = request
                let error = await #expect(throws: TransportError.self) { try await transport.send(sent) }
                #expect(error?.message.hasSuffix(", while the trusted certificates of the system were read") == true)
                #expect(sink.kinds == [.start, .end])
                mayEnd.change { $0 = true }
            }
            #expect(server.counts.value.accepted == 0)
        }

        // MARK: - A full pool

        @Test(arguments: [false, true]) func theEndOfTheQueueNamesTheLimitThatIsReached(isOfAll: Bool) async throws {
            let server = try RawServer.responding { connection, _, _ in connection.waitForEnd() }
            defer { server.stop() }
            try await withNIO {
                if isOfAll { $0.maxConnections = 1 } else { $0.maxConnectionsPerOrigin = 1 }
            } _: { transport in
                let url = server.url()
                let first = Task { try await transport.send(Request(.get, url: url)) }
                try await server.counts.wait("the first request") { $0.requests == 1 }
                let full =
                    isOfAll
                    ? ": 1 connection in use and 0 being opened to all origins (maxConnections is 1)"
                    : ": 1 connection in use and 0 being opened to http://127.0.0.1:\(server.port) (maxConnectionsPerOrigin is 1)"
                let limit = try await failure(transport, url, PhaseTimeouts(queue: .milliseconds(50)))
                #expect(limit?.message == "the limit queue is 50 ms, set by request.options.phaseTimeouts" + full)
                #expect(limit?.phase == .queue)
                let deadline = try await failure(transport, url, deadline: .milliseconds(50))
                #expect(deadline?.message == "the deadline of the request passed" + full)
                first.cancel()
                _ = await first.result
            }
        }

        /// A higher limit would not help.
        @Test(.enabled(if: ClientSockets.areKnown, Comment(rawValue: ClientSockets.unknown)), arguments: [false, true])
        func theErrorOfAFullPoolNamesTheStepOfItsAttempts(isOfAll: Bool) async throws {
            let hanging = try HangingPort()
            // Those that fill the queue.
            let others = try ClientSockets.count(to: hanging.port)
            let url = "http://127.0.0.1:\(hanging.port)"
            try await withNIO {
                if isOfAll { $0.maxConnections = 1 } else { $0.maxConnectionsPerOrigin = 1 }
            } _: { transport in
                let first = Task { try await transport.send(Request(.get, url: url + "/")) }
                // Its attempt has a place when the second request has none.
                try await poll("the attempt", value: { try ClientSockets.count(to: hanging.port) }) { $0 == others + 1 }
                let error = try await failure(transport, url + "/", PhaseTimeouts(queue: .milliseconds(300)))
                let places =
                    isOfAll
                    ? ": 0 connections in use and 1 being opened to all origins (maxConnections is 1)"
                    : ": 0 connections in use and 1 being opened to \(url) (maxConnectionsPerOrigin is 1)"
                let limit = "the limit queue is 300 ms, set by request.options.phaseTimeouts"
                #expect(error?.message == limit + places + ", during the TCP connect to 127.0.0.1:\(hanging.port)")
                #expect(error?.phase == .queue)
                first.cancel()
                _ = await first.result
            }
        }

        /// The server is silent.
        @Test func aHandshakeOverAUnixSocketNamesThePath() async throws {
            let folder = try TestFolder("sock")
            let path = folder.file("s")
            let server = try await PeerServer(unixSocketPath: path)
            let own = try await failure("https://localhost/") {
                $0.unixSocketPath = path
                $0.tls.uncheckedHostsForTesting = .loopback
                $0.connectTimeout = .milliseconds(400)
            }
            #expect(own?.message == setting + ", during the TLS handshake with '\(path)'")
            try await server.stop()
        }
    }
}
#endif
