#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import ErrandTesting
import NIOCore
import NIOPosix
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// Connections are kept, used again, and closed in time.
    @Suite(.timeLimit(.minutes(5))) struct ReuseTests {
        private func whole(_ transport: NIOTransport, _ request: Request) async throws -> Data {
            try await transport.send(request.within(.seconds(10))).body.collect()
        }

        private func expectOK(_ transport: NIOTransport, _ server: RawServer) async throws {
            let data = try await whole(transport, Request(.get, url: server.url()))
            #expect(data == Data("ok".utf8))
        }

        /// A server that closes each connection without a word when the second request comes.
        private func forgetful(_ requests: Watched<[String]>) throws -> RawServer {
            try RawServer { connection in
                let first = try connection.readHead()
                _ = try connection.readBody(of: first)
                let number = connection.number
                requests.change { $0.append("\(number) \(first.method)") }
                try connection.respond(body: Data("ok".utf8))
                let second = try connection.readHead()
                requests.change { $0.append("\(number) \(second.method) lost") }
            }
        }

        @Test func aRequestThatAReusedConnectionLosesIsSentOnceMore() async throws {
            let requests = Watched<[String]>([])
            let server = try forgetful(requests)
            defer { server.stop() }
            try await withNIO { transport in
                try await expectOK(transport, server)
                try await expectOK(transport, server)
            }
            #expect(requests.value == ["1 GET", "1 GET lost", "2 GET"])
        }

        @Test func aOneShotBodyIsNotUsedUpByALostConnection() async throws {
            let server = try RawServer { connection in
                let first = try connection.readHead()
                _ = try connection.readBody(of: first)
                try connection.respond(body: Data("ok".utf8))
                usleep(UInt32.random(in: 0...150))  // for the race: the connection ends before, during or after the next request
            }
            defer { server.stop() }
            let end = ContinuousClock.now + .seconds(1)
            var failures: Set<TransportError.Code> = []
            try await withNIO { transport in
                while ContinuousClock.now < end {
                    _ = try? await whole(transport, Request(.get, url: server.url()))
                    let chunks = AsyncStream<Data> { continuation in
                        continuation.yield(Data("body".utf8))
                        continuation.finish()
                    }
                    do {
                        _ = try await whole(transport, Request(.put, url: server.url(), body: .stream(chunks)))
                    } catch let error as TransportError {
                        failures.insert(error.code)
                    }
                }
            }
            // The request fails only if its own connection was lost after the body was opened.
            #expect(failures.isSubset(of: [.connectionLost]))
        }

        @Test func aPOSTThatMayHaveBeenProcessedIsNotSentOnceMore() async throws {
            let requests = Watched<[String]>([])
            let server = try forgetful(requests)
            defer { server.stop() }
            try await withNIO { transport in
                _ = try await whole(transport, Request(.get, url: server.url()))
                let error = await #expect(throws: TransportError.self) {
                    try await whole(transport, Request(.post, url: server.url(), body: .text("pay")))
                }
                #expect(error?.code == .connectionLost)
                #expect(error?.delivery == .unknown)
            }
            #expect(requests.value == ["1 GET", "1 POST lost"])
        }

        @Test func aPOSTWithAnIdempotencyKeyIsSentOnceMore() async throws {
            let requests = Watched<[String]>([])
            let server = try forgetful(requests)
            defer { server.stop() }
            try await withNIO { transport in
                _ = try await whole(transport, Request(.get, url: server.url()))
                let pay = try Request(.post, url: server.url(), headers: [.custom("Idempotency-Key"): "1"], body: .text("pay"))
                #expect(try await whole(transport, pay) == Data("ok".utf8))
            }
            #expect(requests.value == ["1 GET", "1 POST lost", "2 POST"])
        }

        /// The kept connection may have passed it on, and the next one can't be opened.
        @Test(arguments: [HTTPRequest.Method.get, .put]) func aRequestThatMayHaveBeenSentIsNotReportedAsNotSent(method: HTTPRequest.Method)
            async throws
        {
            let server = try forgetful(Watched([]))
            defer { server.stop() }
            let addresses = Watched<[IPAddress]>([try IPAddress("127.0.0.1")])
            try await withNIO {
                $0.resolver = StubResolver { _ in addresses.value }
            } _: { transport in
                let request = try Request(method, url: "http://a.test:\(server.port)/")
                let data = try await whole(transport, request)
                #expect(data == Data("ok".utf8))
                // Nobody listens there.
                let other = try IPAddress("127.0.0.2")
                addresses.change { $0 = [other] }
                let failure = try await transportError { try await transport.send(request.within(.seconds(10))) }
                #expect(failure.code == .cannotConnect && failure.delivery == .unknown, "\(failure)")
            }
        }

        /// The same, where the next connection is still being opened at the end: at the deadline, or when the transport is shut down.
        @Test(arguments: [true, false]) func aRequestThatMayHaveBeenSentIsNotReportedAsNotSentWhileConnecting(isShutDown: Bool) async throws
        {
            let server = try forgetful(Watched([]))
            defer { server.stop() }
            let isHeld = Watched(false)
            let resolver = StubResolver { _ in
                if isHeld.value { try await untilCancelled() }
                return [try IPAddress("127.0.0.1")]
            }
            try await withNIO {
                $0.resolver = resolver
            } _: { transport in
                let request = try Request(.get, url: "http://a.test:\(server.port)/")
                let data = try await whole(transport, request)
                #expect(data == Data("ok".utf8))
                isHeld.change { $0 = true }
                let second = Task { try await transport.send(request.within(isShutDown ? .seconds(10) : .milliseconds(300))) }
                try await resolver.asked.wait("the second lookup") { $0.count == 2 }
                if isShutDown { try await transport.shutdown() }
                let failure = try await transportError { try await second.value }
                #expect(failure.code == (isShutDown ? .shutDown : .timedOut) && failure.delivery == .unknown, "\(failure)")
            }
        }

        @Test(arguments: [true, false])
        func aConnectionThatWasHeldBackReceivesItsNextResponse(isQueued: Bool) async throws {
            let isHeld = Watched(false)
            let server = try RawServer { connection in
                // The whole response comes before the end of the request. Its end arrives together with the bytes that are too many to be
                // received before they are read.
                let request = try connection.readHead()
                try connection.respond(body: Data(count: 70_000), bodyIsSent: false)
                try connection.write(Data(count: 60_000))
                try isHeld.waitBlocking { $0 }
                try connection.write(Data(count: 10_000))
                _ = try connection.readBody(of: request)
                while true {
                    _ = try connection.readHead()
                    try connection.respond(body: Data("ok".utf8))
                }
            }
            defer { server.stop() }
            try await withNIO {
                $0.maxConnectionsPerOrigin = 1
            } _: { transport in
                let (chunks, input) = AsyncStream<Data>.makeStream()
                input.yield(Data("beginning".utf8))
                let url = server.url()
                let sink = RecordingEventSink()
                let request = try Request(.put, url: url, body: .stream(chunks)).within(.seconds(10)).telling(sink)
                let response = try await transport.send(request)
                try await poll("the first part", value: { sink.events.compactMap(\.bytes).max() ?? 0 }) { $0 >= 60_000 }
                isHeld.change { $0 = true }
                try await server.counts.wait("the response") { $0.bytesWritten > 70_000 }
                let next = Task {
                    if !isQueued {
                        try await poll("the first exchange to end", value: { response.exchange.outcome?.description }) { $0 == "complete" }
                    }
                    return try await transport.send(Request(.get, url: url).within(.seconds(2))).body.collect()
                }
                if isQueued { try await transport.waitForQueue() }
                input.finish()
                #expect(try await next.value == Data("ok".utf8))
                #expect(try await response.body.collect().count == 70_000)
            }
            #expect(server.counts.value.accepted == 1)
        }

        @Test func aNewConnectionThatIsLostIsTheServersFailure() async throws {
            let server = try RawServer { connection in _ = try connection.readHead() }
            defer { server.stop() }
            try await withNIO { transport in
                let error = await #expect(throws: TransportError.self) { try await whole(transport, Request(.get, url: server.url())) }
                #expect(error?.code == .connectionLost)
                #expect(error?.message == "connection closed by the server (127.0.0.1:\(server.port))")
            }
            #expect(server.counts.value.requests == 1)
        }

        @Test func anIdleConnectionIsClosedAfterItsTime() async throws {
            let server = try RawServer.responding { connection, _, _ in try connection.respond(body: Data("ok".utf8)) }
            defer { server.stop() }
            try await withNIO {
                $0.idleTimeout = .milliseconds(50)
            } _: { transport in
                _ = try await whole(transport, Request(.get, url: server.url()))
                try await poll("the idle connection to be closed", value: { transport.openConnections.count }) { $0 == 0 }
                try await expectOK(transport, server)
            }
            #expect(server.counts.value.accepted == 2)
        }

        @Test func theKeepAliveHintOfTheServerIsObeyed() async throws {
            let server = try RawServer.responding { connection, _, _ in
                try connection.respond(fields: ["Keep-Alive: timeout=0"], body: Data("ok".utf8))
            }
            defer { server.stop() }
            try await withNIO { transport in
                _ = try await whole(transport, Request(.get, url: server.url()))
                _ = try await whole(transport, Request(.get, url: server.url()))
            }
            #expect(server.counts.value.accepted == 2)
        }

        @Test func anOldConnectionTakesNoFurtherExchange() async throws {
            let server = try RawServer.responding { connection, _, _ in try connection.respond(body: Data("ok".utf8)) }
            defer { server.stop() }
            try await withNIO {
                $0.maxConnectionAge = .zero
            } _: { transport in
                for _ in 0..<3 { _ = try await whole(transport, Request(.get, url: server.url())) }
            }
            #expect(server.counts.value.accepted == 3)
        }

        @Test func anUnusedConnectionIsClosedAtItsAge() async throws {
            let server = try RawServer.responding { connection, _, _ in try connection.respond(body: Data("ok".utf8)) }
            defer { server.stop() }
            try await withNIO {
                $0.maxConnectionAge = .milliseconds(500)
            } _: { transport in
                let start = ContinuousClock.now
                var lastUse = start
                while lastUse - start < .milliseconds(350) {
                    try await expectOK(transport, server)
                    lastUse = .now
                    try await Task.sleep(for: .milliseconds(20))  // the age is a time of the event loop
                }
                try await poll("the end", upTo: .seconds(5), value: { transport.openConnections.count }) { $0 == 0 }
                #expect(ContinuousClock.now - lastUse < .milliseconds(450))
                try await transport.preconnect(to: server.url())
                try await poll("the end", upTo: .seconds(5), value: { transport.openConnections.count }) { $0 == 0 }
            }
        }

        @Test func anIdleTimeoutOfZeroKeepsNoConnection() async throws {
            let server = try RawServer.responding { connection, _, _ in try connection.respond(body: Data("ok".utf8)) }
            defer { server.stop() }
            try await withNIO {
                $0.idleTimeout = .zero
            } _: { transport in
                for _ in 0..<3 { try await expectOK(transport, server) }
            }
            #expect(server.counts.value.accepted == 3)
        }

        @Test func exchangesBeyondTheBoundQueueAndAreServedInOrder() async throws {
            let server = try RawServer.responding { connection, _, _ in try connection.respond(body: Data("ok".utf8)) }
            defer { server.stop() }
            try await withNIO {
                $0.maxConnectionsPerOrigin = 2
            } _: { transport in
                try await withThrowingTaskGroup(of: Data.self) { group in
                    for _ in 0..<50 { group.addTask { try await whole(transport, Request(.get, url: server.url())) } }
                    for try await data in group { #expect(data == Data("ok".utf8)) }
                }
            }
            #expect(server.counts.value.accepted == 2)
            #expect(server.counts.value.requests == 50)
        }

        @Test func aWaiterThatIsCancelledLeavesTheQueue() async throws {
            try await BusyTransport.with { busy in
                let second = Task { try await whole(busy.transport, busy.request) }
                try await busy.transport.waitForQueue()
                second.cancel()
                await #expect(throws: CancellationError.self) { try await second.value }
                try await busy.respond()
                #expect(busy.server.counts.value.requests == 1)
            }
        }

        @Test func theDeadlineEndsTheWaitForAConnection() async throws {
            let server = try RawServer.responding { connection, _, _ in connection.waitForEnd() }
            defer { server.stop() }
            try await withNIO {
                $0.maxConnectionsPerOrigin = 1
            } _: { transport in
                let first = Task { try await whole(transport, Request(.get, url: server.url())) }
                try await server.counts.wait("the first request") { $0.requests == 1 }
                var late = try Request(.get, url: server.url())
                late.deadline = Deadline(after: .milliseconds(50))
                let request = late
                let error = await #expect(throws: TransportError.self) { try await transport.send(request) }
                #expect(error?.code == .timedOut)
                #expect(error?.delivery == .notSent)
                first.cancel()
                _ = await first.result
            }
        }

        @Test func shuttingDownEndsExchangesAndQueuedRequests() async throws {
            let server = try RawServer.responding { connection, _, _ in connection.waitForEnd() }
            defer { server.stop() }
            var configuration = NIOTransport.Configuration()
            configuration.maxConnectionsPerOrigin = 1
            let transport = try NIOTransport(configuration)
            let tasks = (0..<2).map { _ in Task { try await whole(transport, Request(.get, url: server.url())) } }
            try await server.counts.wait("a request") { $0.requests == 1 }
            try await transport.shutdown()
            for task in tasks {
                let error = await #expect(throws: TransportError.self) { try await task.value }
                #expect(error?.code == .shutDown)
            }
            let error = await #expect(throws: TransportError.self) { try await whole(transport, Request(.get, url: server.url())) }
            #expect(error?.code == .shutDown)
            let open = transport.openConnections.count
            #expect(open == 0)
        }

        @Test func aCallOnItsEventLoopKeepsThreadAndConnection() async throws {
            let server = try RawServer.responding { connection, _, _ in try connection.respond(body: Data("ok".utf8)) }
            defer { server.stop() }
            try await withNIO { transport in
                for executor in transport.executors {
                    try await withTaskExecutorPreference(executor) {
                        for _ in 0..<3 {
                            #expect(executor.eventLoop.inEventLoop)
                            let data = try await whole(transport, Request(.get, url: server.url()))
                            #expect(data == Data("ok".utf8))
                            #expect(executor.eventLoop.inEventLoop)
                        }
                    }
                }
                #expect(server.counts.value.accepted == transport.executors.count)
            }
        }

        @Test func aCallOnAForeignEventLoopUsesTheConnectionsOfTheTransport() async throws {
            let server = try RawServer.responding { connection, _, _ in try connection.respond(body: Data("ok".utf8)) }
            defer { server.stop() }
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let foreign = EventLoopExecutor(group.next())
            let isForeign = Watched<[Bool]>([])
            try await withNIO { transport in
                transport.observeClosedConnections(as: "test") { _ in isForeign.change { $0.append(foreign.eventLoop.inEventLoop) } }
                try await withTaskExecutorPreference(foreign) {
                    try await transport.preconnect(to: server.url())
                    for _ in 0..<2 { try await expectOK(transport, server) }
                }
            }
            #expect(isForeign.value == [false])
            try await group.shutdownGracefully()
        }
    }
}
#endif
