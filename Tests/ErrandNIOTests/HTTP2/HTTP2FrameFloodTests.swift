#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// Frames that are no part of a response, without end.
    @Suite(.timeLimit(.minutes(5))) struct HTTP2FrameFloodTests {
        struct Flood: Sendable, CustomTestStringConvertible {
            let name: String
            let frame: H2Frame

            init(_ name: String, _ frame: H2Frame) { (self.name, self.frame) = (name, frame) }
            var testDescription: String { name }

            /// 40,000 frames at most, with 4 MiB together.
            var bytes: [UInt8] {
                let frame = frame.bytes
                return frame.repeated(min(40_000, (4 << 20) / frame.count))
            }
        }

        static let floods = [
            Flood("an unknown type", H2Frame(type: 0x42, payload: Array(repeating: 0, count: 16_000))),
            Flood("an unknown type, empty", H2Frame(type: 0x42)),
            Flood(
                "GOAWAY",
                H2Frame(type: 7, payload: [0x7F, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0] + Array(repeating: 0, count: 10_000))),
            Flood("WINDOW_UPDATE", .windowUpdate(0, by: 1)),
            Flood("SETTINGS", H2Frame(type: 4, payload: [0x42, 0x42, 0, 0, 0, 0].repeated(2700))),
        ]

        /// Each write ends 5 bytes into the header of a frame.
        private func pieces(_ bytes: [UInt8], of count: Int) -> [ByteAction] {
            stride(from: 0, to: bytes.count, by: count).map { .write(Array(bytes[$0..<min($0 + count, bytes.count)])) }
        }

        @Test(arguments: floods)
        func aFloodEndsTheCall(flood: Flood) async throws {
            let bytes = flood.bytes
            try await FrameServer.with(responding: { _ in [.write(bytes)] }) { transport, server in
                let failure = try await transportError { try await transport.send(server.request(.post)) }
                #expect(failure.code == .invalidResponse, "\(failure)")
                #expect(failure.message.contains("frames that are not part of a response"), "\(failure)")
                #expect(failure.message.contains("ENHANCE_YOUR_CALM"), "\(failure)")
                try await server.noConnectionIsOpen()
            }
        }

        /// Empty DATA is no part of a body: no window bounds it.
        @Test func emptyDataInABodyIsAFlood() async throws {
            let bytes = H2Frame.headers(1).bytes + Flood("", H2Frame(type: 0, stream: 1)).bytes
            try await FrameServer.with(responding: { _ in [.write(bytes)] }) { transport, server in
                let failure = try await transportError {
                    let response = try await transport.send(server.request())
                    return try await response.body.collect()
                }
                #expect(failure.message.contains("too many empty frames"), "\(failure)")
                try await server.noConnectionIsOpen()
            }
        }

        /// Nobody reads the stream: its call was cancelled.
        @Test(arguments: [
            H2Frame.data(1, [], ends: false), .data(1, [0], ends: false), .data(1, Array(repeating: 0, count: 16_000), ends: false),
            .headers(1), .headers(1, [0x88, 0x00, 0x01, 0x61, 0x7F, 0x81, 0x3E] + Array(repeating: 0x61, count: 8192)),
        ])
        func aFloodOnAnAbandonedStreamEndsTheConnection(flood: H2Frame) async throws {
            // 4 MiB, where each frame counts as at least 64 bytes.
            let bytes = flood.bytes.repeated((4 << 20) / max(64, flood.bytes.count))
            try await FrameServer.with(
                responding: { frame in frame.type == 3 ? [.write(bytes)] : [] }, all: true
            ) { transport, server in
                let call = Task { try await transport.send(server.request()) }
                try await server.frames.wait("the request") { $0.contains { $0.type == 1 } }
                call.cancel()
                _ = try? await call.value
                try await server.noConnectionIsOpen()
                #expect(server.codes(of: 3) == [8])
            }
        }

        /// A server that fills the window before it knows of the reset is honest, even if its frames are short.
        @Test(arguments: [100, 16_000]) func theRestOfAWindowIsNotTreatedAsAFlood(size: Int) async throws {
            let frame = H2Frame.data(1, Array(repeating: 0, count: size), ends: false)
            let rest = frame.bytes.repeated((1000 << 10) / size)
            try await FrameServer.with(
                responding: { frame in
                    switch (frame.type, frame.stream) {
                    case (1, 1): [H2Frame.headers(1)].together
                    case (3, 1): [.write(rest)]
                    case (1, _): FrameServer.ok(frame.stream, "next")
                    default: []
                    }
                }, all: true
            ) { transport, server in
                let left = try await transport.send(server.request())
                left.body.abandon()
                let next = try await transport.send(server.request())
                #expect(String(decoding: try await next.body.collect(), as: UTF8.self) == "next")
                #expect(server.server.acceptedConnections == 1)
            }
        }

        /// Nobody sends a request.
        @Test(arguments: floods)
        func aFloodEndsAnIdleConnection(flood: Flood) async throws {
            let bytes = flood.bytes
            let opening = FrameServer.hello.flatMap(\.bytes) + bytes.prefix(5)
            let script = pieces(Array(bytes.dropFirst(5)), of: 64 * flood.frame.bytes.count)
            try await FrameServer.with(writing: [.write(opening)] + script) { transport, server in
                try? await transport.preconnect(to: server.url)
                try await server.noConnectionIsOpen()
            }
        }

        /// The server sends GOAWAY on an idle connection. The connection is closed immediately.
        @Test func aGoAwayClosesAnIdleConnection() async throws {
            try await FrameServer.with(
                responding: { FrameServer.ok($0.stream) + [H2Frame.goAway(last: 1), .goAway(last: 1)].together }
            ) { transport, server in
                #expect(try await transport.send(server.request()).status == .ok)
                try await server.noConnectionIsOpen()
            }
        }

        /// A server that reads little at a time, and allows more for each piece, is honest.
        @Test func windowUpdatesOfALargeUploadAreNotTreatedAsAFlood() async throws {
            let total = 8 << 20
            let received = Watched(0)
            try await FrameServer.with(
                opening: [.settings([(3, 100), (4, 1 << 20)]), .windowUpdate(0, by: 1 << 20), .settingsAck],
                responding: { frame in
                    guard frame.type == 0 else { return [] }
                    received.change { $0 += frame.payload.count }
                    var windows: [H2Frame] = []
                    for start in stride(from: 0, to: frame.payload.count, by: 1024) {
                        let count = UInt32(min(1024, frame.payload.count - start))
                        windows += [.windowUpdate(0, by: count)]
                        if start % 2048 == 0, frame.flags & 1 == 0 {
                            windows += [.windowUpdate(frame.stream, by: min(2048, UInt32(frame.payload.count)))]
                        }
                    }
                    if frame.flags & 1 != 0 { windows += [.headers(frame.stream, ends: true)] }
                    return windows.together
                }, all: true
            ) { transport, server in
                let response = try await transport.send(server.request(.post, body: .data(Data(count: total))))
                #expect(response.status == .ok)
                #expect(received.value == total)
            }
        }
    }
}
#endif
