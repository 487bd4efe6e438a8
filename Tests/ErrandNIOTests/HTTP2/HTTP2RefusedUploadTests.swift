#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// A server that refuses streams in the middle of their uploads: each body arrives whole, or not at all.
    @Suite(.timeLimit(.minutes(5))) struct HTTP2RefusedUploadTests {
        @Test(arguments: [false, true])
        func everyBodyArrivesWhole(hasLength: Bool) async throws {
            let (count, runs) = (500, 250)
            let refusals = StreamRefusals { $0 % 2 == 0 ? .accepted : .dataRefused }
            try await FrameServer.with(
                opening: [.settings([(3, 100), (4, 0x7FFF_FFFF)]), .windowUpdate(0, by: 0x3FFF_FFFF), .settingsAck],
                responding: { refusals.respond(to: $0) }, all: true
            ) { transport, server in
                for _ in 0..<runs {
                    let body = NumberedPieces.body(count, hasLength: hasLength)
                    let response = try await transport.send(server.request(.post, body: body))
                    #expect(try await response.body.collect() == Data("ok".utf8))
                }
                #expect(server.server.acceptedConnections == 1)
            }
            let expected = NumberedPieces.bytes(count)
            #expect(refusals.whole.count == runs)
            let corrupt = refusals.whole.filter { $0 != expected }
            #expect(corrupt.isEmpty, "\(corrupt.count) of \(runs), the first with \(corrupt.first?.count ?? 0) bytes")
        }

        /// An overloaded server is no attack: each request is refused twice, and fails as one that was not processed.
        @Test func manyRefusalsLeaveTheConnection() async throws {
            try await FrameServer.with(responding: { [H2Frame.reset($0.stream, code: 7)].together }) { transport, server in
                for _ in 0..<15 {
                    try await withThrowingTaskGroup { group in
                        for _ in 0..<50 {
                            group.addTask {
                                let failure = try await transportError { try await transport.send(server.request(.post)) }
                                #expect(failure.delivery == .notSent, "\(failure)")
                                #expect(failure.message.contains("REFUSED_STREAM"), "\(failure)")
                            }
                        }
                        try await group.waitForAll()
                    }
                }
                #expect(server.server.acceptedConnections == 1)
                #expect(server.codes(of: 7).isEmpty)
            }
        }
    }
}
#endif
