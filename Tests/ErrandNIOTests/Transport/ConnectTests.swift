#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import ErrandTesting
import Foundation
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

extension NIOTransportTests {
    /// Names, addresses and sockets.
    @Suite(.timeLimit(.minutes(5))) struct ConnectTests {
        private func text(_ transport: NIOTransport, _ url: String) async throws -> String {
            let data = try await transport.send(Request(.get, url: url).within(.seconds(20))).body.collect()
            return String(decoding: data, as: UTF8.self)
        }

        private func failure(_ transport: NIOTransport, _ url: String) async -> TransportError? {
            await #expect(throws: TransportError.self) { try await text(transport, url) }
        }

        // MARK: - Addresses

        @Test func theNextAddressIsTriedWhenOneRefuses() async throws {
            let server = try await PeerServer(host: "127.0.0.1", port: 0)
            try await withNIO {
                $0.resolver = StubResolver("127.0.0.2", "127.0.0.1")
            } _: { transport in
                let sink = RecordingEventSink()
                var request = try Request(.get, url: "http://x.example:\(server.port)/").within(.seconds(20))
                request.options.eventSink = sink
                _ = try await transport.send(request).body.collect()
                let peers = sink.events.compactMap(\.connection?.peerAddress)
                #expect(peers == ["127.0.0.1"])
            }
            try await server.stop()
        }

        @Test func aHangingAddressIsOvertaken() async throws {
            let hanging = try HangingPort()
            let server = try await PeerServer(host: "127.0.0.2", port: hanging.port)
            try await withNIO {
                $0.resolver = StubResolver("127.0.0.1", "127.0.0.2")
            } _: { transport in
                let start = ContinuousClock.now
                let text = try await text(transport, "http://x.example:\(hanging.port)/")
                let elapsed = start.duration(to: .now)
                #expect(text != "")
                #expect(elapsed > .milliseconds(200), "not before the delay of an attempt")
                #expect(elapsed < .seconds(9), "before the limit for connecting")
            }
            try await server.stop()
        }

        @Test func overridesGoAroundTheNameServers() async throws {
            let server = try await PeerServer(host: "127.0.0.1", port: 0)
            let overrides = try HostOverrides(["api.example:\(server.port):127.0.0.1"])
            try await withNIO {
                $0.resolver = overrides
            } _: { transport in
                let text = try await text(transport, "http://api.example:\(server.port)/")
                #expect(text == "127.0.0.1")
            }
            try await server.stop()
        }

        @Test func aKnownHostIsLookedUpAgainOnlyAfterAFailure() async throws {
            let base = StubResolver("127.0.0.1")
            let resolver = base.cached()
            let server = try await PeerServer(host: "127.0.0.1", port: 0)
            let url = "http://x.example:\(server.port)/"
            try await withNIO {
                $0.resolver = resolver
                $0.maxConnectionAge = .zero
            } _: { transport in
                for _ in 0..<3 { _ = try await text(transport, url) }
                #expect(base.asked.value.count == 1)
                try await server.stop()
                let error = await failure(transport, url)
                #expect(error?.code == .cannotConnect)
                #expect(resolver.count == 0)
                _ = await failure(transport, url)
                #expect(base.asked.value.count == 2)
            }
        }

        @Test func theErrorOfAnUnknownHostNamesTheHost() async throws {
            try await withNIO { transport in
                let error = await failure(transport, "http://nowhere.invalid/")
                #expect(error?.code == .cannotFindHost)
                #expect(error?.message.hasPrefix("'nowhere.invalid'") == true)
                let isOwn = error?.underlying is HostNotFoundError
                #expect(isOwn)
            }
        }

        @Test func connectionsComeFromTheLocalAddress() async throws {
            let server = try await PeerServer(host: "127.0.0.1", port: 0)
            let url = "http://x.example:\(server.port)/"
            try await withNIO {
                $0.resolver = StubResolver("::1", "127.0.0.1")
                $0.localAddress = IPAddress(octets: [127, 0, 0, 9] as [UInt8])
            } _: { transport in
                let text = try await text(transport, url)
                #expect(text == "127.0.0.9")
            }
            let other = try IPAddress("192.0.2.77")
            try await withNIO {
                $0.resolver = StubResolver("127.0.0.1")
                $0.localAddress = other
            } _: { transport in
                let error = await failure(transport, url)
                #expect(error?.code == .cannotConnect)
                #expect(error?.message == "127.0.0.1:\(server.port): address not available on this machine (localAddress is 192.0.2.77)")
            }
            try await withNIO {
                $0.resolver = StubResolver("::1")
                $0.localAddress = other
            } _: { transport in
                let error = await failure(transport, url)
                #expect(error?.message == "'x.example' has no address of the same address family as localAddress (192.0.2.77)")
            }
            try await server.stop()
        }

        // MARK: - Giving up

        @Test(arguments: [true, false]) func aCancelledRequestDoesNotWaitForItsHost(_ isHeeded: Bool) async throws {
            let mayRespond = Watched(false)
            let wasCancelled = Watched(false)
            let resolver = StubResolver { _ in
                if isHeeded {
                    do {
                        try await mayRespond.wait { $0 }
                    } catch {
                        wasCancelled.change { $0 = true }
                        throw error
                    }
                } else {
                    // A resolver that goes on, whatever happens.
                    await Task { _ = try? await mayRespond.wait { $0 } }.value
                }
                return [try IPAddress("127.0.0.1")]
            }
            try await withNIO {
                $0.resolver = resolver
            } _: { transport in
                let sink = RecordingEventSink()
                var request = try Request(.get, url: "http://x.example/")
                request.options.eventSink = sink
                let sent = request
                let call = Task { try await transport.send(sent) }
                try await resolver.asked.wait("the lookup") { $0.count == 1 }
                let waiting = transport.waitingExchanges
                #expect(waiting == ["http://x.example": 1])
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
                #expect(sink.kinds == [.start, .dnsStart, .dnsEnd, .end])
                let left = transport.waitingExchanges
                #expect(left == [:])
                if isHeeded { try await wasCancelled.wait("the cancellation of the lookup") { $0 } }
            }
            mayRespond.change { $0 = true }
        }

        @Test func theDeadlineIncludesTheLookup() async throws {
            let resolver = StubResolver { _ in try await untilCancelled() }
            try await withNIO {
                $0.resolver = resolver
                $0.connectTimeout = .milliseconds(80)
            } _: { transport in
                var request = try Request(.get, url: "http://x.example/")
                request.deadline = Deadline(after: .milliseconds(40))
                for limited in [request, try Request(.get, url: "http://x.example/")] {
                    let error = await #expect(throws: TransportError.self) { try await transport.send(limited) }
                    #expect(error?.code == .timedOut)
                    #expect(error?.phase == .connect)
                    #expect(error?.delivery == .notSent)
                }
            }
        }

        @Test(.enabled(if: ClientSockets.areKnown, "\(ClientSockets.unknown)"))
        func aCancelledRequestFreesItsSocket() async throws {
            let hanging = try HangingPort()
            let port = hanging.port
            let before = try ClientSockets.count(to: port)
            try await withNIO { transport in
                let call = Task { try await transport.send(Request(.get, url: "http://127.0.0.1:\(port)/")) }
                try await poll("the socket", value: { try ClientSockets.count(to: port) }) { $0 == before + 1 }
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
                try await poll("the end of the socket", value: { try ClientSockets.count(to: port) }) { $0 == before }
            }
        }

        @Test func shuttingDownEndsALookup() async throws {
            let resolver = StubResolver { _ in try await untilCancelled() }
            var configuration = NIOTransport.Configuration()
            configuration.resolver = resolver
            let transport = try NIOTransport(configuration)
            let call = Task { try await transport.send(Request(.get, url: "http://x.example/")) }
            try await resolver.asked.wait("the lookup") { $0.count == 1 }
            try await transport.shutdown()
            let error = await #expect(throws: TransportError.self) { try await call.value }
            #expect(error?.code == .shutDown)
        }

        @Test func anUnawaitedLookupEnds() async throws {
            let ended = Watched(0)
            let resolver = StubResolver { _ in
                defer { ended.change { $0 += 1 } }
                try await untilCancelled()
            }
            try await withNIO {
                $0.resolver = resolver
                $0.maxConnectionsPerOrigin = 1
            } _: { transport in
                for _ in 0..<300 {
                    var request = try Request(.get, url: "http://x.example/")
                    request.options.phaseTimeouts = .use(PhaseTimeouts(connect: .nanoseconds(1)))
                    let sent = request
                    await #expect(throws: TransportError.self) { try await transport.send(sent) }
                }
                try await poll("all lookups to end", upTo: .seconds(3), value: { (resolver.asked.value.count, ended.value) }) { $0 == $1 }
            }
        }

        @Test(.enabled(if: ClientSockets.areKnown, "\(ClientSockets.unknown)"))
        func shuttingDownWaitsForConnectionsThatAreBeingOpened() async throws {
            let hanging = try HangingPort()
            let before = try ClientSockets.count(to: hanging.port)
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
            var configuration = NIOTransport.Configuration()
            configuration.eventLoopGroup = group
            let transport = try NIOTransport(configuration)
            let (calling, connecting) = (transport.executors[0], transport.executors[1])
            let call = Task(executorPreference: connecting) {
                try await transport.preconnect(to: "http://127.0.0.1:\(hanging.port)/", count: 5)
            }
            try await poll("the sockets", value: { try ClientSockets.count(to: hanging.port) }) { $0 == before + 5 }
            let (mayClose, hasReturned) = (Watched(false), Watched(false))
            // The loop can close nothing yet.
            connecting.eventLoop.execute { _ = try? mayClose.waitBlocking { $0 } }
            let shutdown = Task(executorPreference: calling) {
                try await transport.shutdown()
                hasReturned.change { $0 = true }
            }
            // A shutdown that does not wait returns within these steps of its loop.
            for _ in 0..<200 { try await calling.eventLoop.submit {}.get() }
            #expect(!hasReturned.value)
            mayClose.change { $0 = true }
            try await shutdown.value
            #expect(try ClientSockets.count(to: hanging.port) == before)
            await #expect(throws: TransportError.self) { try await call.value }
            try await group.shutdownGracefully()
        }

        @Test func shuttingDownDoesNotWaitForAHandshake() async throws {
            let server = try RawServer { connection in connection.waitForEnd() }
            defer { server.stop() }
            let transport = try NIOTransport(NIOTransport.Configuration())
            let call = Task { try await transport.send(Request(.get, url: "https://127.0.0.1:\(server.port)/")) }
            try await server.counts.wait("the connection") { $0.accepted == 1 }
            let start = ContinuousClock.now
            try await transport.shutdown()
            #expect(ContinuousClock.now - start < .seconds(3))
            let error = await #expect(throws: TransportError.self) { try await call.value }
            #expect(error?.code == .shutDown)
        }

        // MARK: - Unix domain sockets

        @Test func aUnixSocketIsConnectedTo() async throws {
            let folder = try TestFolder("sock")
            let path = folder.file("s")
            let server = try await PeerServer(unixSocketPath: path)
            let resolver = StubResolver()
            try await withNIO {
                $0.unixSocketPath = path
                $0.resolver = resolver
            } _: { transport in
                let sink = RecordingEventSink()
                var request = try Request(.get, url: "http://x.example/").within(.seconds(20))
                request.options.eventSink = sink
                _ = try await transport.send(request).body.collect()
                #expect(Array(sink.kinds.prefix(4)) == [.start, .connectStart, .connectEnd, .connectionAcquired])
            }
            #expect(resolver.asked.value == [])
            try await server.stop()
        }

        @Test func aPathWithoutASocketIsNamed() async throws {
            let folder = try TestFolder("sock")
            let file = try folder.write("text", to: "file")
            let reasons = [
                (folder.file("missing"), "no such file or folder"), (file, "connection refused"),
                (file + "/x", "a part of the path is not a folder"),
            ]
            for (path, reason) in reasons {
                try await withNIO {
                    $0.unixSocketPath = path
                } _: { transport in
                    let error = await failure(transport, "http://x.example/")
                    #expect(error?.code == .cannotConnect)
                    #expect(error?.message == "'\(path)': \(reason)")
                }
            }
        }

        @Test func settingsThatCannotBeUsedAreRefused() throws {
            func error(_ configure: (inout NIOTransport.Configuration) -> Void) -> UnusableSettingError? {
                var configuration = NIOTransport.Configuration()
                configure(&configuration)
                do {
                    _ = try NIOTransport(configuration)
                } catch {
                    return error as? UnusableSettingError
                }
                return nil
            }
            let long = error { $0.unixSocketPath = "/" + String(repeating: "x", count: 103) }
            #expect(long?.description.hasSuffix("has 104 bytes; at most 103 are possible") == true)
            let longest = error { $0.unixSocketPath = "/" + String(repeating: "x", count: 102) }
            #expect(longest == nil)
            let empty = error { $0.unixSocketPath = "" }
            #expect(empty?.description == "the setting unixSocketPath can't be used: it is empty")
            let ended = error { $0.unixSocketPath = "/a\0b" }
            #expect(ended?.description.hasSuffix("contains a NUL, which would end the path") == true)
            let both = error {
                $0.unixSocketPath = "/x"
                $0.localAddress = IPAddress(octets: [127, 0, 0, 1] as [UInt8])
            }
            #expect(both?.setting == "localAddress")
        }

        // MARK: - The end of connections

        @Test func aConnectionIsReportedWhenItCloses() async throws {
            let server = try await PeerServer(host: "127.0.0.1", port: 0)
            let closed = Watched([ClosedConnection]())
            try await withNIO { transport in
                transport.observeClosedConnections(as: "test") { _ in Issue.record("replaced") }
                transport.observeClosedConnections(as: "test") { connection in closed.change { $0.append(connection) } }
                for _ in 0..<3 { _ = try await text(transport, "http://127.0.0.1:\(server.port)/") }
                #expect(closed.value == [])
            }
            let connection = try #require(closed.value.first)
            #expect(closed.value.count == 1)
            #expect(connection.number == 1)
            #expect(connection.origin.description == "http://127.0.0.1:\(server.port)")
            #expect(connection.peerAddress == "127.0.0.1")
            #expect(connection.exchangesStarted == 3)
            #expect(connection.duration > .zero)
            #expect(connection.httpVersion == .http1_1)
            try await server.stop()
        }

        @Test func exchangesThatQueueAreCountedByOrigin() async throws {
            let server = try RawServer.responding { connection, _, _ in connection.waitForEnd() }
            defer { server.stop() }
            try await withNIO {
                $0.maxConnectionsPerOrigin = 1
            } _: { transport in
                let url = server.url()
                let calls = (0..<3).map { _ in Task { try await transport.send(Request(.get, url: url)) } }
                let origin = Origin("http://127.0.0.1:\(server.port)")
                try await poll("two that queue", value: { transport.waitingExchanges }) { $0 == [origin: 2] }
                for call in calls { call.cancel() }
                for call in calls { _ = await call.result }
                let left = transport.waitingExchanges
                #expect(left == [:])
            }
        }
    }
}
#endif
