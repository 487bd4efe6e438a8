#if SWIFT_NIO && MockServer
import ErrandConformance
import ErrandCore
import ErrandMiddleware
import ErrandMockServer
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// The steps of opening a connection, as an event sink sees them.
    @Suite(.timeLimit(.minutes(5))) struct ConnectEventTests {
        static let exchange = "connectionAcquired requestHeadSent requestSent responseHead responseBytesReceived end"

        /// Sends a request, and returns its events as words, without repeated progress.
        private func events(
            _ transport: NIOTransport, _ url: String, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws -> (kinds: String, all: [ExchangeEvent], error: (any Error)?) {
            let sink = RecordingEventSink()
            var request = try Request(.get, url: url).within(.seconds(20))
            request.options.eventSink = sink
            var failure: (any Error)?
            do {
                _ = try await transport.send(request).body.collect()
            } catch {
                failure = error
            }
            try await sink.wait(for: .end)
            let violations = EventGrammar.violations(sink.events, isCall: false)
            #expect(violations == [], sourceLocation: sourceLocation)
            var words: [String] = []
            for kind in sink.kinds.dropFirst() where words.last != kind.description { words.append(kind.description) }
            return (words.joined(separator: " "), sink.events, failure)
        }

        @Test func onlyANewConnectionHasConnectingSteps() async throws {
            let server = try RawServer.ok()
            defer { server.stop() }
            let resolver = StubResolver("127.0.0.1")
            try await withNIO {
                $0.resolver = resolver
            } _: { transport in
                let url = "http://service.example:\(server.port)/"
                let first = try await events(transport, url)
                #expect(first.kinds == "dnsStart dnsEnd connectStart connectEnd " + Self.exchange)
                let connection = first.all.compactMap(\.connection).first
                #expect(connection?.peerAddress == "127.0.0.1")
                #expect(connection?.peerPort == server.port)
                let second = try await events(transport, url)
                #expect(second.kinds == Self.exchange)
                let reused = second.all.compactMap(\.connection).first
                #expect(reused?.isReused == true)
            }
            #expect(resolver.asked.value == ["service.example:\(server.port)"])
        }

        @Test func aKnownHostIsNotLookedUp() async throws {
            let server = try RawServer.ok()
            defer { server.stop() }
            let address = try IPAddress("127.0.0.1")
            for (known, isFound) in [([address], true), ([], false), (nil, false)] as [([IPAddress]?, Bool)] {
                try await withNIO {
                    $0.resolver = StubResolver(known: known) { throw HostNotFoundError($0, reason: "looked up") }
                } _: { transport in
                    let found = try await events(transport, "http://service.example:\(server.port)/")
                    #expect((found.error == nil) == isFound)
                    if isFound {
                        #expect(found.kinds == "dnsStart dnsEnd connectStart connectEnd " + Self.exchange)
                    } else {
                        #expect((found.error as? TransportError)?.code == .cannotFindHost)
                    }
                }
            }
        }

        @Test func anAddressIsNotLookedUp() async throws {
            let server = try RawServer.ok()
            defer { server.stop() }
            let resolver = StubResolver()
            try await withNIO {
                $0.resolver = resolver
            } _: { transport in
                let events = try await events(transport, server.url())
                #expect(events.kinds == "connectStart connectEnd " + Self.exchange)
            }
            #expect(resolver.asked.value == [])
        }

        @Test func tlsHasItsOwnStep() async throws {
            let folder = try TestFolder("authority")
            let authority = try TestAuthority()
            try authority.writeCertificate(toPath: folder.file("authority.pem"))
            let stub = Stub().responds(.status(.ok, text: "ok"))
            try await withMockServer(serving: [stub], .tls(try authority.certificate(), protocols: [.http1_1])) { server in
                let url = server.url("/")
                try await withNIO {
                    $0.tls.extraRootsPEMFiles = [folder.file("authority.pem")]
                } _: { transport in
                    let events = try await events(transport, url)
                    #expect(events.kinds.hasSuffix("connectStart connectEnd tlsStart tlsEnd " + Self.exchange))
                }
                // Without the authority, the certificate is refused.
                try await withNIO { transport in
                    let events = try await events(transport, url)
                    #expect(events.kinds.hasSuffix("connectStart connectEnd tlsStart tlsEnd end"))
                    let code = (events.error as? TransportError)?.code
                    #expect(code == .tls)
                }
            }
        }

        @Test func aHandshakeThatHangsEndsWithTheLimitForConnecting() async throws {
            let server = try RawServer { $0.waitForEnd() }
            defer { server.stop() }
            try await withNIO {
                $0.connectTimeout = .milliseconds(150)
                // Reading the roots of the system may take longer.
                $0.tls.uncheckedHostsForTesting = .loopback
            } _: { transport in
                let events = try await events(transport, server.url("/", scheme: "https"))
                #expect(events.kinds == "connectStart connectEnd tlsStart tlsEnd end")
                let error = events.error as? TransportError
                #expect(error?.code == .timedOut)
                #expect(error?.phase == .connect)
            }
        }

        @Test func aLookupEndsWhenAnotherConnectionIsFreeEarlier() async throws {
            let mayRespond = Watched(false)
            let server = try RawServer.ok(when: mayRespond)
            defer { server.stop() }
            let lookups = Watched(0)
            let resolver = StubResolver { _ in
                lookups.change { $0 += 1 }
                if lookups.value > 1 { try await untilCancelled() }
                return [try IPAddress("127.0.0.1")]
            }
            try await withNIO {
                $0.resolver = resolver
            } _: { transport in
                let url = "http://x.example:\(server.port)/"
                let first = Task { try await transport.send(Request(.get, url: url)).body.collect() }
                try await server.counts.wait("the first request") { $0.requests == 1 }
                let second = Task { try await events(transport, url) }
                try await lookups.wait("the second lookup") { $0 == 2 }
                mayRespond.change { $0 = true }
                _ = try await first.value
                let kinds = try await second.value.kinds
                #expect(kinds == "dnsStart dnsEnd " + Self.exchange)
            }
        }

        static let failures: [(String, StubResolver, String)] = [
            ("a reason", StubResolver { throw HostNotFoundError($0, reason: "no such service") }, "'x.example': no such service"),
            ("an unknown name", StubResolver { throw HostNotFoundError($0) }, "'x.example'"),
            ("any other error", StubResolver { _ in throw TestError() }, "'x.example': TestError"),
            ("a cancellation by nobody", StubResolver { _ in throw CancellationError() }, "'x.example': CancellationError"),
            ("no address", StubResolver(), "'x.example': it has no addresses"),
        ]

        @Test(arguments: failures.indices) func aFailedLookupNamesTheHost(_ index: Int) async throws {
            let (name, resolver, message) = Self.failures[index]
            try await withNIO {
                $0.resolver = resolver
            } _: { transport in
                let events = try await events(transport, "http://x.example/")
                #expect(events.kinds == "dnsStart dnsEnd end", "\(name)")
                let error = events.error as? TransportError
                #expect(error?.code == .cannotFindHost, "\(name)")
                #expect(error?.message == message)
                #expect(error?.phase == .connect)
                #expect(error?.delivery == .notSent)
                let hasCause = error?.underlying != nil
                #expect(hasCause)
            }
        }

        @Test func aRefusalNamesEachAddressWithItsReason() async throws {
            let port = try LoopbackPorts.refused()
            let resolver = StubResolver("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6")
            try await withNIO {
                $0.resolver = resolver
            } _: { transport in
                let events = try await events(transport, "http://x.example:\(port)/")
                #expect(events.kinds == "dnsStart dnsEnd connectStart connectEnd end")
                let error = events.error as? TransportError
                #expect(error?.code == .cannotConnect)
                #expect(error?.message == "127.0.0.1:\(port), 127.0.0.2:\(port) and 4 more: connection refused")
            }
            #expect(resolver.discarded.value == ["x.example"])
        }

        @Test func aConnectionThatIsLostIsFollowedByAnExchangeWithItsOwnSteps() async throws {
            let server = try RawServer { connection in
                _ = try connection.readHead()
                try connection.respond(body: Data("ok".utf8))
                _ = try connection.readHead()
            }
            defer { server.stop() }
            try await withNIO {
                $0.resolver = StubResolver("127.0.0.1")
            } _: { transport in
                let url = "http://x.example:\(server.port)/"
                _ = try await events(transport, url)
                let second = try await events(transport, url)
                let sent = "connectionAcquired requestHeadSent requestSent end start "
                #expect(second.kinds == sent + "dnsStart dnsEnd connectStart connectEnd " + Self.exchange)
                let connections = second.all.compactMap(\.connection?.number)
                #expect(connections == [1, 2])
            }
        }

        @Test func aProfileHasThePhasesOfConnecting() async throws {
            let server = try RawServer.ok()
            defer { server.stop() }
            try await withNIO {
                $0.resolver = StubResolver { _ in
                    try await Task.sleep(for: .milliseconds(20))  // a profile is taken by the system's clock
                    return [try IPAddress("127.0.0.1")]
                }
            } _: { transport in
                let profile = CallProfile()
                var request = try Request(.get, url: "http://x.example:\(server.port)/").within(.seconds(20))
                request.options.profile = .use(profile)
                _ = try await transport.profile().send(request).body.collect()
                let phases = profile.timings.exchanges.first?.phases ?? []
                let names = phases.map(\.name)
                #expect(names == ["queue", "dns", "connect", "send", "wait", "receive"])
                let lookup = phases.dropFirst().first?.duration ?? .zero
                #expect(lookup >= .milliseconds(20))
            }
        }

        private func phases(_ profile: CallProfile) -> [String: Duration] {
            let phases = profile.timings.exchanges.first?.phases ?? []
            return Dictionary(phases.map { ($0.name, $0.duration) }, uniquingKeysWith: +)
        }

        private func profiled(_ transport: NIOTransport, _ url: String, _ limits: PhaseTimeouts? = nil) async -> CallProfile {
            let profile = CallProfile()
            do {
                var request = try Request(.get, url: url).within(.seconds(20))
                request.options.profile = .use(profile)
                if let limits { request.options.phaseTimeouts = .use(limits) }
                _ = try await transport.profile().send(request).body.collect()
            } catch {}
            return profile
        }

        @Test func theTimeInTheQueueIsASeparatePhase() async throws {
            try await BusyTransport.with {
                $0.maxConnectionAge = .zero
            } _: { busy in
                let (transport, url) = (busy.transport, busy.server.url())
                // One fails in the queue, the other opens its own connection afterwards.
                let failed = await profiled(transport, url, PhaseTimeouts(queue: .milliseconds(60)))
                let inQueue = phases(failed)
                #expect(Array(inQueue.keys) == ["queue"])
                #expect(inQueue["queue"] ?? .zero >= .milliseconds(60))
                let waiting = Task { await profiled(transport, url) }
                try await transport.waitForQueue()
                try await Task.sleep(for: .milliseconds(60))  // a profile is taken by the system's clock
                try await busy.respond()
                let later = phases(await waiting.value)
                #expect(later.keys.sorted() == ["connect", "queue", "receive", "send", "wait"])
                #expect(later["queue"] ?? .zero >= .milliseconds(60))
            }
        }
    }
}
#endif
