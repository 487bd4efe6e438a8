#if NIO && MockServer
import ErrandCore
import ErrandNIO
import TestSupport
import Testing

extension NIOTransportTests {
    /// How exchanges wait for a connection.
    @Suite(.timeLimit(.minutes(5))) struct PoolTests {
        @Test func eachDeadlineEndsItsOwnWait() async throws {
            let isOpen = Watched(false)
            let server = try RawServer.answering { connection, _, _ in
                while !isOpen.value { connection.pause(milliseconds: 5) }
                try connection.respond(body: Data("ok".utf8))
            }
            defer { server.stop() }
            try await withNIO {
                $0.maxConnectionsPerOrigin = 1
            } _: { transport in
                let request = try Request(.get, url: server.url())
                let first = Task { try await transport.send(request).body.collect() }
                try await server.counts.wait { $0.requests == 1 }
                let patient = Task { try await transport.send(request.within(.seconds(100))).body.collect() }
                while transport.waitingExchanges.isEmpty { await Task.yield() }
                let phases = try await withThrowingTaskGroup(of: ExchangePhase.self) { group in
                    for timeout in [90, 30, 60] {
                        group.addTask {
                            let limited = request.within(.milliseconds(timeout))
                            return try await transportError { try await transport.send(limited) }.phase
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(phases == [.queue, .queue, .queue])
                isOpen.change { $0 = true }
                #expect(try await first.value == Data("ok".utf8))
                #expect(try await patient.value == Data("ok".utf8))
                #expect(server.counts.value.requests == 2)
            }
        }

        /// Twenty tasks use the one connection without a pause. Another origin would wait until its deadline.
        @Test func aBusyOriginLetsAnotherIn() async throws {
            let (busy, other) = (try okServer(), try okServer())
            defer {
                busy.stop()
                other.stop()
            }
            try await withNIO {
                $0.maxConnections = 1
            } _: { transport in
                let (request, rare) = (try Request(.get, url: busy.url()), try Request(.get, url: other.url()))
                let data = try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<20 {
                        group.addTask {
                            while !Task.isCancelled { _ = try? await transport.send(request).body.collect() }
                        }
                    }
                    try await busy.counts.wait { $0.requests > 40 }
                    let data = try await transport.send(rare.within(.seconds(20))).body.collect()
                    group.cancelAll()
                    return data
                }
                #expect(data == Data("ok".utf8))
            }
        }

        private func okServer() throws -> RawServer {
            try RawServer.answering { connection, _, _ in try connection.respond(body: Data("ok".utf8)) }
        }
    }
}
#endif
