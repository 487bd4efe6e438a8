#if NIO && MockServer
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
                return Array(repeatElement(frame, count: min(40_000, (4 << 20) / frame.count)).joined())
            }
        }

        static let floods = [
            Flood("an unknown type", H2Frame(type: 0x42, payload: Array(repeating: 0, count: 16_000))),
            Flood("an unknown type, empty", H2Frame(type: 0x42)),
            Flood(
                "GOAWAY",
                H2Frame(type: 7, payload: [0x7F, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0] + Array(repeating: 0, count: 10_000))),
            Flood("WINDOW_UPDATE", .windowUpdate(0, by: 1)),
            Flood("SETTINGS", H2Frame(type: 4, payload: Array(repeatElement([0x42, 0x42, 0, 0, 0, 0], count: 2700).joined()))),
        ]

        /// Each write ends 5 bytes into the header of a frame.
        private func pieces(_ bytes: [UInt8], of count: Int) -> [ByteAction] {
            stride(from: 0, to: bytes.count, by: count).map { .write(Array(bytes[$0..<min($0 + count, bytes.count)])) }
        }

        @Test(arguments: floods)
        func aFloodEndsTheCall(flood: Flood) async throws {
            let bytes = flood.bytes
            try await FrameServer.with(answering: { _ in [.write(bytes)] }) { transport, server in
                let failure = try await transportError { try await transport.send(server.request(.post)) }
                #expect(failure.code == .invalidResponse, "\(failure)")
                #expect(failure.message.contains("frames that are not part of a response"), "\(failure)")
                #expect(failure.message.contains("ENHANCE_YOUR_CALM"), "\(failure)")
                try await server.noConnectionIsOpen()
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

        /// The server says goodbye to an idle connection: it is closed at once.
        @Test func aGoodbyeClosesAnIdleConnection() async throws {
            try await FrameServer.with(
                answering: { FrameServer.ok($0.stream) + [H2Frame.goAway(last: 1), .goAway(last: 1)].together }
            ) { transport, server in
                #expect(try await transport.send(server.request()).status == .ok)
                try await server.noConnectionIsOpen()
            }
        }

        /// A server that reads little at a time, and allows more for each piece, is honest.
        @Test func theWindowsOfALargeUploadAreNoFlood() async throws {
            let total = 8 << 20
            let received = Watched(0)
            try await FrameServer.with(
                opening: [.settings([(3, 100), (4, 1 << 20)]), .windowUpdate(0, by: 1 << 20), .settingsAck],
                answering: { frame in
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
