#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import NIOCore
import NIOPosix
import TestSupport
import Testing

extension NIOTransportTests {
    /// Many exchanges that end without a connection, one after the other, and what may be said of a request that was written in part.
    @Suite(.timeLimit(.minutes(5))) struct QueueStormTests {
        /// A thread of an event loop has a small stack: each of them must not call the next.
        @Test func requestsThatCannotBeWrittenEndWithoutRecursion() async throws {
            let count = 5000
            try await BusyTransport.with { busy in
                var unwritable = busy.request
                unwritable.head.path = "/a b"
                let (transport, request) = (busy.transport, unwritable)
                let refused = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for _ in 0..<count {
                        group.addTask { try await transportError { try await transport.send(request) }.code == .invalidRequest }
                    }
                    try await transport.waitForQueue(of: count)
                    try await busy.respond()
                    return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(refused == count)
            }
        }

        @Test func connectionsThatFailImmediatelyEndWithoutRecursion() async throws {
            let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            try await withNIO {
                $0.maxConnectionsPerOrigin = 1
                $0.unixSocketPath = "/nowhere/socket"
                $0.eventLoopGroup = loops
            } _: { transport in
                let failed = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for _ in 0..<6000 {
                        group.addTask {
                            try await transportError { try await transport.send(Request(.get, url: "http://a.example/")) }.code
                                == .cannotConnect
                        }
                    }
                    return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(failed == 6000)
            }
            try await loops.shutdownGracefully()
        }

        /// The server has read a part of the head, and then resets the connection.
        @Test(arguments: [false, true]) func aHeadThatWasWrittenInPartMayHaveBeenSent(isReused: Bool) async throws {
            let server = try RawServer(receiveBufferBytes: 8192) { connection in
                if isReused {
                    try connection.readHead()
                    try connection.respond(body: Data("ok".utf8))
                }
                _ = try connection.read(exactly: 65_536)
                connection.resetAtEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                if isReused { _ = try await transport.send(Request(.get, url: server.url())).body.collect() }
                var request = try Request(.post, url: server.url(), body: .text("{}")).within(.seconds(20))
                request.headers[.custom("X-Long")] = String(repeating: "a", count: 16_000_000)
                let long = request
                let error = try await transportError { try await transport.send(long) }
                #expect(error.delivery == .unknown)
                #expect(server.counts.value.accepted == 1)
            }
        }
    }
}
#endif
