#if NIO && MockServer
import ErrandCore
import ErrandNIO
import Foundation
import Synchronization
import TestSupport
import Testing

extension NIOTransportTests {
    /// A server that refuses streams in the middle of their uploads: each body arrives whole, or not at all.
    @Suite(.timeLimit(.minutes(5))) struct HTTP2RefusedUploadTests {
        /// Refuses every other stream when its first DATA comes, and collects the rest.
        private final class ScriptedRefusals: Sendable {
            private struct State {
                var streams = 0
                /// What was received; `nil` for a stream that is refused.
                var bodies: [UInt32: [UInt8]] = [:]
                var whole: [[UInt8]] = []
            }
            private let state = Mutex(State())

            var bodies: [[UInt8]] { state.withLock { $0.whole } }

            func respond(to frame: H2Frame) -> [ByteAction] {
                state.withLock { state in
                    switch frame.type {
                    case 1:
                        state.streams += 1
                        if state.streams % 2 == 0 { state.bodies[frame.stream] = [] }
                        return []
                    case 0:
                        let window = [H2Frame.windowUpdate(0, by: UInt32(max(1, frame.payload.count)))].together
                        guard var body = state.bodies[frame.stream] else {
                            return frame.payload.isEmpty ? [] : [H2Frame.reset(frame.stream, code: 7)].together + window
                        }
                        body += frame.payload
                        state.bodies[frame.stream] = body
                        guard frame.flags & H2Frame.endStream != 0 else { return window }
                        state.whole.append(body)
                        return window + FrameServer.ok(frame.stream, "ok")
                    default: return []
                    }
                }
            }
        }

        @Test(arguments: [false, true])
        func everyBodyArrivesWhole(hasLength: Bool) async throws {
            let (count, runs) = (500, 250)
            let refusal = ScriptedRefusals()
            try await FrameServer.with(
                opening: [.settings([(3, 100), (4, 0x7FFF_FFFF)]), .windowUpdate(0, by: 0x3FFF_FFFF), .settingsAck],
                responding: { refusal.respond(to: $0) }, all: true
            ) { transport, server in
                for _ in 0..<runs {
                    let body = NumberedPieces.body(count, hasLength: hasLength)
                    let response = try await transport.send(server.request(.post, body: body))
                    #expect(try await response.body.collect() == Data("ok".utf8))
                }
                #expect(server.server.acceptedConnections == 1)
            }
            let expected = NumberedPieces.bytes(count)
            #expect(refusal.bodies.count == runs)
            let corrupt = refusal.bodies.filter { $0 != expected }
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
