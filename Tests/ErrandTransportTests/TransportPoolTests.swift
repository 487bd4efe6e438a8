#if SWIFT_NIO && MockServer
internal import Errand
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

extension TransportTests {
    /// Connections are kept, shared and let go.
    @Suite
    struct TransportPoolTests {
        @Test(.enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)), arguments: TestedTransport.allCases)
        func consecutiveRequestsShareAConnection(by tested: TestedTransport) async throws {
            let nginx = try await NginxServer.shared()
            try await tested.run { transport in
                var connections: [String?] = []
                for count in 1...5 {
                    let response = try await transport.send(Request(.get, url: nginx.url("/300k")))
                    #expect(try await response.body.collect() == NginxServer.middle)
                    #expect(response.headers[.connectionRequests] == "\(count)")
                    connections.append(response.headers[.connectionNumber])
                }
                #expect(Set(connections).count == 1)
                #expect(connections[0] != nil)
            }
        }

        @Test(.enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)), arguments: TestedTransport.allCases)
        func aServerThatClosesAfterEachRequestIsServedByNewConnections(by tested: TestedTransport) async throws {
            let nginx = try await NginxServer.shared()
            try await tested.run { transport in
                var connections: Set<String?> = []
                for _ in 0..<10 {
                    let response = try await transport.send(Request(.get, url: nginx.url("/small", .once)))
                    #expect(try await response.body.collect() == NginxServer.small)
                    connections.insert(response.headers[.connectionNumber])
                }
                #expect(connections.count == 10)
            }
        }

        @Test(arguments: [1, 3], TestedTransport.allCases)
        func noMoreConnectionsThanAllowedAreOpened(limit: Int, by tested: TestedTransport) async throws {
            let mayRespond = Watched(false)
            let server = try RawServer.responding { connection, _, _ in
                try mayRespond.waitBlocking { $0 }
                try connection.respond(body: Data("ok".utf8))
            }
            defer { server.stop() }
            try await tested.run {
                $0.maxConnections = limit
            } _: { transport in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<12 {
                        group.addTask {
                            let response = try await transport.send(Request(.get, url: server.url()))
                            #expect(try await response.body.collect().count == 2)
                        }
                    }
                    try await server.counts.wait("as many requests as there may be connections") { $0.requests == limit }
                    mayRespond.change { $0 = true }
                    try await group.waitForAll()
                }
                #expect(server.counts.value.accepted == limit)
                #expect(server.counts.value.requests == 12)
            }
        }

        @Test(.enabled(if: ClientSockets.areKnown, Comment(rawValue: ClientSockets.unknown)), arguments: TestedTransport.allCases)
        func aConnectionThatTheServerClosedIsNotUsedAgain(by tested: TestedTransport) async throws {
            let server = try RawServer { connection in
                try connection.readHead()
                try connection.respond(body: Data("\(connection.number)".utf8))
            }
            defer { server.stop() }
            try await tested.run { transport in
                for number in 1...3 {
                    let response = try await transport.send(Request(.get, url: server.url()))
                    #expect(String(decoding: try await response.body.collect(), as: UTF8.self) == "\(number)")
                    try await server.counts.wait { $0.open == 0 }
                    try await poll("the client to see it", value: { try ClientSockets.count(to: server.port) }) { $0 == 0 }
                }
            }
        }

        @Test(arguments: TestedTransport.allCases) func aConnectionThatIsNotUsedIsClosedInTime(by tested: TestedTransport) async throws {
            let server = try RawServer.responding { connection, _, _ in try connection.respond(body: Data("ok".utf8)) }
            defer { server.stop() }
            try await tested.run {
                $0.idleTimeout = .milliseconds(200)
            } _: { transport in
                _ = try await transport.send(Request(.get, url: server.url())).body.collect()
                #expect(server.counts.value.open == 1)
                try await server.counts.wait("the connection to be closed") { $0.open == 0 }
            }
        }

        // MARK: Responses that nobody reads

        @Test(arguments: TestedTransport.allCases) func aSmallResponseEndsUnreadAndFreesItsConnection(by tested: TestedTransport)
            async throws
        {
            let body = Data.seeded(30 * 1024)
            let server = try RawServer.responding { connection, _, _ in try connection.respond(body: body) }
            defer { server.stop() }
            try await tested.run {
                $0.maxConnections = 1
            } _: { transport in
                let first = try await transport.send(Request(.get, url: server.url()))
                #expect(try await first.end().isComplete)
                // Two in one scope, under a limit of one.
                let second = try await transport.send(Request(.get, url: server.url()))
                #expect(try await second.body.collect() == body)
                #expect(try await first.body.collect() == body)
                #expect(server.counts.value.accepted == 1)
            }
        }

        @Test(arguments: TestedTransport.allCases) func anAbandonedLargeResponseFreesItsConnection(by tested: TestedTransport) async throws
        {
            let body = Data(count: 16 * 1024 * 1024)
            let server = try RawServer.responding { connection, _, _ in try connection.respond(body: body) }
            defer { server.stop() }
            try await tested.run {
                $0.maxConnections = 1
            } _: { transport in
                let first = try await transport.send(Request(.get, url: server.url()))
                first.body.abandon()
                #expect(try await first.end().isAbandoned)
                let second = try await transport.send(Request(.get, url: server.url()).within(.seconds(10)))
                #expect(try await second.body.collect() == body)
                #expect(server.counts.value.accepted == 2)
            }
        }

        /// 16 MiB from a server that stands still; none of these reads it to the end.
        enum Leaver: CaseIterable, Sendable {
            case dropsTheResponse, readsHalfAndBreaks, dropsTheIterator, withResponse, withResponseThatThrows, collectsUpToALimit
        }

        @Test(arguments: Leaver.allCases, TestedTransport.allCases)
        func aBodyThatIsNotReadToItsEndLeavesNothing(leaver: Leaver, by tested: TestedTransport) async throws {
            let body = Data(count: 16 * 1024 * 1024)
            let server = try RawServer { connection in
                try connection.readHead()
                try? connection.respond(body: body)
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await tested.run { transport in
                let request = try Request(.get, url: server.url())
                switch leaver {
                case .dropsTheResponse:
                    _ = try await transport.send(request)
                case .readsHalfAndBreaks:
                    let response = try await transport.send(request)
                    var received = 0
                    for try await chunk in response.body {
                        received += chunk.count
                        if received > body.count / 2 { break }
                    }
                    #expect(try await response.end().isAbandoned)
                case .dropsTheIterator:
                    func readOnce(_ body: ResponseBody) async throws {
                        var iterator = body.makeAsyncIterator()
                        _ = try await iterator.next()
                    }
                    let response = try await transport.send(request)
                    try await readOnce(response.body)
                    #expect(try await response.end().isAbandoned)
                case .withResponse:
                    let status = try await transport.withResponse(to: request) { $0.status }
                    #expect(status == .ok)
                case .withResponseThatThrows:
                    await #expect(throws: TestError.self) {
                        try await transport.withResponse(to: request) { _ in throw TestError() }
                    }
                case .collectsUpToALimit:
                    let response = try await transport.send(request)
                    let failure = try await transportError { try await response.body.collect(upTo: 100_000) }
                    #expect(failure.code == .bodyTooLarge)
                }
                try await server.counts.wait("the connection to be closed") { $0.seenEnds > 0 && $0.open == 0 }
                try await poll("no descriptor to be left", value: { try ClientSockets.count(to: server.port) }) { $0 == 0 }
            }
        }
    }
}
#endif
