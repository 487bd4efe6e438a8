#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandTesting
import Foundation
import NIOCore
import TestSupport
import Testing

@testable import ErrandNIO

@Suite struct RestLimitTests {
    @Test func aRestWithoutProgressIsAbandoned() {
        let start = NIODeadline.uptimeNanoseconds(1)
        var rest = RestLimit(.init(), from: start)
        #expect(rest.due == start + .seconds(5))
        let (first, second) = (rest.continues(at: start + .seconds(5), hasProgress: true), rest.due)
        #expect(first && second == start + .seconds(10))
        let last = rest.continues(at: start + .seconds(10), hasProgress: false)
        #expect(!last)
    }

    @Test func aRestWithLittleProgressIsAbandonedLater() {
        let start = NIODeadline.uptimeNanoseconds(1)
        var rest = RestLimit(.init(), from: start)
        var calls = 0
        while calls < 100, rest.continues(at: rest.due, hasProgress: true) { calls += 1 }
        #expect(calls == 11 && rest.due == start + .seconds(60))
        // The end comes before the next time without progress has passed.
        var late = RestLimit(.init(withoutProgress: .seconds(5), inAll: .seconds(7)), from: start)
        let continues = late.continues(at: start + .seconds(5), hasProgress: true)
        #expect(continues && late.due == start + .seconds(7))
        let short = RestLimit(.init(withoutProgress: .seconds(5), inAll: .seconds(2)), from: start)
        #expect(short.due == start + .seconds(2))
    }
}

extension NIOTransportTests {
    /// The rest of a request whose whole response was received, where nobody reads it.
    @Suite(.timeLimit(.minutes(5))) struct RestTests {
        private static let uploadBytes = 64 * 1024 * 1024

        @Test(arguments: ["memory", "stream", "chunks"])
        func aServerThatHasRespondedAndReadsNothingHoldsNoConnection(body: String) async throws {
            let mayEnd = Watched(false)
            let server = try RawServer(receiveBufferBytes: 64 * 1024) { connection in
                try connection.readHead()
                try connection.respond(body: Data("ok".utf8))
                try mayEnd.waitBlocking { $0 }
            }
            defer {
                mayEnd.change { $0 = true }
                server.stop()
            }
            try await withNIO {
                $0.restTimes = .init(withoutProgress: .milliseconds(200))
                $0.maxConnectionsPerOrigin = 2
            } _: { transport in
                let sources = (0..<5).map { _ in CountingBodySource(totalBytes: Self.uploadBytes) }
                // Each takes the place of another one, which nothing else ends.
                for source in sources {
                    let content: RequestBody =
                        switch body {
                        case "memory": .data(Data(count: Self.uploadBytes))
                        case "stream": .stream(length: Int64(Self.uploadBytes)) { _ in source }
                        default: .stream(length: nil) { _ in source }
                        }
                    let response = try await transport.send(Request(.post, url: server.url(), body: content))
                    #expect(try await response.body.collect() == Data("ok".utf8))
                    #expect(try await response.end().isComplete)
                }
                try await poll("the connections to be closed", value: { transport.openConnections }) { $0.isEmpty }
                #expect(server.counts.value.accepted == 5)
                if body != "memory" {
                    for source in sources { try await source.progress.wait("the source to be given up") { $0.isAbandoned } }
                }
            }
        }

        /// An upload with progress is not ended. In total, the upload takes longer than the limit for a time without progress.
        @Test func aRestThatIsReadSlowlyIsSent() async throws {
            let received = Watched(0)
            let bytes = 8 * 1024 * 1024
            let server = try RawServer(receiveBufferBytes: 64 * 1024) { connection in
                let request = try connection.readHead()
                try connection.respond(body: Data("ok".utf8))
                let body = try connection.readBody(of: request) { if $0 % 8 == 0 { connection.pause(milliseconds: 1) } }
                received.change { $0 = body.count }
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO {
                $0.restTimes = .init(withoutProgress: .milliseconds(500))
            } _: { transport in
                let response = try await transport.send(Request(.post, url: server.url(), body: .data(Data(count: bytes))))
                _ = try await response.body.collect()
                try await received.wait("the whole body") { $0 == bytes }
            }
        }

        @Test func aRestThatIsReadWithoutEndIsAbandoned() async throws {
            let server = try RawServer(receiveBufferBytes: 64 * 1024) { connection in
                try connection.readHead()
                try connection.respond(body: Data("ok".utf8))
                while true {
                    _ = try connection.read(upTo: 64 * 1024)
                    connection.pause(milliseconds: 10)
                }
            }
            defer { server.stop() }
            try await withNIO {
                $0.restTimes = .init(withoutProgress: .seconds(5), inAll: .milliseconds(500))
            } _: { transport in
                let source = CountingBodySource(totalBytes: 1 << 40)
                let response = try await transport.send(Request(.post, url: server.url(), body: .stream(length: nil) { _ in source }))
                #expect(try await response.body.collect() == Data("ok".utf8))
                try await server.counts.wait("the connection to be closed") { $0.accepted == 1 && $0.open == 0 }
            }
        }
    }
}
#endif
