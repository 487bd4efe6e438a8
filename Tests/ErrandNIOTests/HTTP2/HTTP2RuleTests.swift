#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// Servers that break a rule of RFC 9113: each exchange ends soon, with an error that says which, and the server gets the code.
    @Suite(.timeLimit(.minutes(5))) struct HTTP2RuleTests {
        /// The frames that a server sends in response to a GET on stream 1.
        struct Breach: Sendable, CustomTestStringConvertible {
            let rule: String
            let frames: [H2Frame]
            let code: UInt8
            let text: String

            init(_ rule: String, _ frames: [H2Frame], _ code: UInt8, _ text: String) {
                (self.rule, self.frames, self.code, self.text) = (rule, frames, code, text)
            }

            var testDescription: String { rule }
        }

        private static let (protocolError, flowControl, closed, frameSize, compression, calm) = (
            UInt8(1), UInt8(3), UInt8(5), UInt8(6), UInt8(9), UInt8(11)
        )
        private static let open = H2Frame(type: 1, stream: 1, payload: [0x88])
        /// A field that enters the table of the compression, with 3,900 bytes, and references to it.
        private static func bomb(_ references: Int) -> [UInt8] {
            [0x88, 0x40, 1, UInt8(ascii: "x"), 0x7F, 0xBD, 0x1D] + Array(repeating: UInt8(ascii: "y"), count: 3900)
                + Array(repeating: 0xBE, count: references)
        }

        private static func padded(_ type: UInt8, _ payload: [UInt8]) -> H2Frame {
            H2Frame(type: type, flags: 0x8 | H2Frame.endHeaders, stream: 1, payload: payload)
        }

        private static let lengths = [
            Breach("RST_STREAM of 3 bytes (6.4)", [H2Frame(type: 3, stream: 1, payload: [0, 0, 0])], frameSize, "length"),
            Breach("PRIORITY of 4 bytes (6.3)", [H2Frame(type: 2, stream: 1, payload: [0, 0, 0, 0])], frameSize, "length"),
            Breach(
                "SETTINGS with ACK and a payload (6.5)", [H2Frame(type: 4, flags: 1, payload: [0, 3, 0, 0, 0, 1])], frameSize, "length"),
            Breach("GOAWAY of 7 bytes (6.8)", [H2Frame(type: 7, payload: Array(repeating: 0, count: 7))], frameSize, "length"),
            Breach("WINDOW_UPDATE of 3 bytes (6.9)", [H2Frame(type: 8, payload: [0, 0, 1])], frameSize, "length"),
        ]

        private static let places = [
            Breach("RST_STREAM on stream 0 (6.4)", [.reset(0, code: 8)], protocolError, "must not be"),
            Breach("PRIORITY on stream 0 (6.3)", [H2Frame(type: 2, payload: [0, 0, 0, 1, 1])], protocolError, "must not be"),
            Breach("SETTINGS on a stream (6.5)", [H2Frame(type: 4, stream: 1)], protocolError, "must not be"),
            Breach(
                "GOAWAY on a stream (6.8)", [H2Frame(type: 7, stream: 1, payload: Array(repeating: 0, count: 8))], protocolError,
                "must not be"),
            Breach("CONTINUATION on stream 0 (6.10)", [H2Frame(type: 9, flags: 4, payload: [0x88])], protocolError, "must not be"),
            Breach("PUSH_PROMISE on stream 0 (6.6)", [.pushPromise(0, promised: 2)], protocolError, "must not be"),
            Breach("HEADERS on an idle stream (5.1)", [.headers(99)], protocolError, "not open"),
            Breach("RST_STREAM on an idle stream (5.1)", [.reset(99, code: 8)], protocolError, "not open"),
            Breach("WINDOW_UPDATE on an idle stream (5.1)", [.windowUpdate(99, by: 1)], protocolError, "not open"),
            Breach("DATA between the parts of a head (6.10)", [open, .data(1, [1])], protocolError, "must not be"),
            Breach("PING between the parts of a head (6.10)", [open, .ping], protocolError, "must not be"),
            Breach("HEADERS between the parts of a head (6.10)", [open, .headers(3)], protocolError, "must not be"),
            Breach(
                "CONTINUATION of another stream (6.10)", [open, H2Frame(type: 9, flags: 4, stream: 3, payload: [])], protocolError,
                "must not be"),
        ]

        private static let values = [
            Breach("SETTINGS_ENABLE_PUSH of 1 (6.5.2)", [.settings([(2, 1)])], protocolError, "SETTINGS_ENABLE_PUSH"),
            Breach("SETTINGS_MAX_FRAME_SIZE of 2^24 (6.5.2)", [.settings([(5, 1 << 24)])], protocolError, "bounds"),
            Breach("GOAWAY with a higher stream than before (6.8)", [.goAway(last: 1), .goAway(last: 3)], protocolError, "second GOAWAY"),
            Breach("DATA whose padding is too long (6.1)", [.headers(1), padded(0, [5, 1])], protocolError, "padding"),
            Breach("HEADERS whose padding is too long (6.2)", [padded(1, [5, 0x88])], protocolError, "padding"),
            Breach("index 0 (RFC 7541, 6.1)", [.headers(1, [0x80])], compression, "can't be read"),
            Breach("a text that does not end (RFC 7541, 5.2)", [.headers(1, [0x88, 0x40, 5, 1])], compression, "can't be read"),
            Breach("a table beyond the limit (RFC 7541, 6.3)", [.headers(1, [0x3F, 0xE1, 0xFF, 3, 0x88])], compression, "can't be read"),
            Breach(
                "an invalid code of Huffman (RFC 7541, 5.2)", [.headers(1, [0x88, 0, 0x84, 255, 255, 255, 255, 0])], compression,
                "can't be read"),
            Breach(
                "a number without end (RFC 7541, 5.1)", [.headers(1, [0x88, 0x7F] + Array(repeating: 0xFF, count: 20))], compression,
                "can't be read"),
        ]

        /// 250 KB of combining marks after `start`, as a literal: `NIOHTTP2Handler` would compare them for 20 s.
        private static func slowText(_ start: String) -> [UInt8] {
            let bytes = Array((start + String(repeating: "\u{300}\u{316}", count: 62_500)).utf8)
            let rest = bytes.count - 127
            return [0x7F, UInt8(0x80 | rest & 0x7F), UInt8(0x80 | rest >> 7 & 0x7F), UInt8(rest >> 14)] + bytes
        }

        /// A section of fields in a frame of HEADERS and frames of CONTINUATION.
        private static func slowFields(_ section: [UInt8]) -> [H2Frame] {
            let parts = stride(from: 0, to: section.count, by: 16_000).map { Array(section[$0..<min($0 + 16_000, section.count)]) }
            return parts.enumerated().map { index, part in
                H2Frame(type: index == 0 ? 1 : 9, flags: index == parts.count - 1 ? 4 : 0, stream: 1, payload: part)
            }
        }

        private static let floods = [
            Breach("PING", Array(repeating: .ping, count: 2001), calm, "control frames"),
            Breach("SETTINGS", Array(repeating: .settings([(3, 10)]), count: 2001), calm, "control frames"),
            Breach("empty SETTINGS", Array(repeating: .settings(), count: 2001), calm, "control frames"),
            Breach(
                "PRIORITY", Array(repeating: H2Frame(type: 2, stream: 1, payload: [0, 0, 0, 3, 1]), count: 2001), calm, "control frames"),
            Breach("empty DATA", [.headers(1)] + Array(repeating: .data(1, [], ends: false), count: 101), calm, "empty frames"),
            Breach("CONTINUATION", [open] + Array(repeating: H2Frame(type: 9, stream: 1), count: 80), calm, "too many frames"),
            Breach("a name of marks", slowFields([0] + slowText(":")), calm, "name is longer"),
            Breach("a status of marks", slowFields([8] + slowText("1")), calm, "':status'"),
            Breach("ALTSVC", Array(repeating: H2Frame(type: 10, stream: 1, payload: [0, 0]), count: 2001), calm, "control frames"),
        ]

        /// RFC 9113, section 5.4.1.
        @Test(arguments: lengths + places + values + floods)
        func aBrokenRuleEndsTheConnection(breach: Breach) async throws {
            try await FrameServer.with(responding: { _ in breach.frames.together }) { transport, server in
                let start = ContinuousClock.now
                let failure = try await transportError {
                    _ = try await transport.send(server.request()).body.collect()
                }
                #expect(ContinuousClock.now - start < .seconds(3))
                #expect(failure.code == .invalidResponse, "\(failure)")
                #expect(failure.message.contains(breach.text), "\(failure)")
                #expect(!failure.message.contains("NIO"), "\(failure)")
                try await server.goAway(breach.code)
                try await server.noConnectionIsOpen()
            }
        }

        /// References to a field of 3,900 bytes: fields of 390,000 bytes cost their stream alone.
        @Test func aCompressionBombEndsOnlyItsStream() async throws {
            try await FrameServer.with(responding: {
                $0.stream == 1 ? [H2Frame.headers(1, Self.bomb(100), ends: true)].together : FrameServer.ok($0.stream, "next")
            }) { transport, server in
                let failure = try await transportError { try await transport.send(server.request()) }
                #expect(failure.code == .invalidResponse, "\(failure)")
                #expect(failure.message.contains("longer than 262144 bytes"), "\(failure)")
                let next = try await transport.send(server.request()).body.collect()
                #expect(next == Data("next".utf8))
                #expect(server.server.acceptedConnections == 1)
            }
        }

        /// Fields of 1,170,000 bytes.
        @Test func aTooLargeCompressionBombEndsTheConnection() async throws {
            try await FrameServer.with(responding: { [H2Frame.headers($0.stream, Self.bomb(300), ends: true)].together }) {
                transport, server in
                let failure = try await transportError { try await transport.send(server.request()) }
                #expect(failure.code == .invalidResponse, "\(failure)")
                #expect(failure.message.contains("longer than 262144 bytes"), "\(failure)")
                try await server.noConnectionIsOpen()
            }
        }

        @Test func theFirstFrameMustBeSettings() async throws {
            try await FrameServer.with(opening: [.ping, .settings()]) { transport, server in
                let failure = try await transportError { try await transport.send(server.request()) }
                #expect(failure.code == .invalidResponse, "\(failure)")
                #expect(failure.message.contains("SETTINGS"), "\(failure)")
                try await server.goAway(Self.protocolError)
                try await server.noConnectionIsOpen()
            }
        }

        /// A server that may send 1 MiB before its response is read.
        @Test func dataBeyondTheWindowEndsTheConnection() async throws {
            let piece = H2Frame.data(1, Array(repeating: 1, count: 16_384), ends: false)
            try await FrameServer.with(responding: { _ in ([H2Frame.headers(1)] + Array(repeating: piece, count: 65)).together }) {
                transport, server in
                let response = try await transport.send(server.request())
                try await server.frames.wait("the end") { $0.contains { $0.type == 7 || $0.type == 3 } }
                let failure = try await transportError { _ = try await response.body.collect() }
                #expect(failure.code == .invalidResponse, "\(failure)")
                #expect(failure.message.contains("window"), "\(failure)")
                #expect(
                    server.codes(of: 3) == [Self.flowControl]
                        || server.frames.value.contains { $0.type == 7 && $0.payload[7] == Self.flowControl })
            }
        }

        /// Frames after the end of a stream (5.1).
        @Test(arguments: [H2Frame.data(1, [1]), .headers(1), .headers(1, ends: true)])
        func aFrameOnAClosedStreamEndsTheConnection(frame: H2Frame) async throws {
            try await FrameServer.with(responding: { FrameServer.ok($0.stream, "ok") + [.pause(milliseconds: 20)] + [frame].together }) {
                transport, server in
                let body = try await transport.send(server.request()).body.collect()
                #expect(body == Data("ok".utf8))
                try await server.goAway(Self.closed)
                try await server.noConnectionIsOpen()
            }
        }

        /// A server that resets each stream makes its client work, and is left. RFC 9113, section 10.5.
        @Test func resetsWithoutEndEndTheConnection() async throws {
            let resets = Array(repeating: H2Frame.reset(1, code: 8), count: 1001)
            try await FrameServer.with(responding: { _ in resets.together }) { transport, server in
                let failure = try await transportError { try await transport.send(server.request()) }
                #expect(failure.code == .connectionLost, "\(failure)")
                try await server.goAway(Self.calm)
                try await server.noConnectionIsOpen()
            }
        }

        /// Frames that break only a rule of their stream (5.4.2), and the code of the RST_STREAM.
        private static let ofStreams = [
            // RFC 9113, section 8.1.1 asks for PROTOCOL_ERROR. `NIOHTTP2Handler` resets the stream by itself, with this code,
            // before any other handler sees the frame.
            Breach("DATA before the head (8.1)", [.data(1, [1])], closed, "state of its stream"),
            Breach("a name in upper case (8.2.1)", [.headers(1, [0x88, 0, 1, 88, 1, 121], ends: true)], protocolError, "lower case"),
            Breach(
                "a field of the connection (8.2.2)", [.headers(1, [0x88, 0, 7] + Array("upgrade".utf8) + [1, 121])], protocolError,
                "upgrade"),
            Breach("an unknown pseudo-field (8.3)", [.headers(1, [0x88, 0, 2, 58, 120, 1, 121])], protocolError, "':x'"),
            Breach("a pseudo-field after a field (8.3)", [.headers(1, [0, 1, 120, 1, 121, 0x88])], protocolError, "':status'"),
            Breach("a pseudo-field of requests (8.3.2)", [.headers(1, [0x88, 0x82])], protocolError, "':method'"),
            Breach("trailers with a pseudo-field (8.1)", [.headers(1), .headers(1, [0x88], ends: true)], protocolError, "':status'"),
            Breach("a control character in a value (8.2.1)", [.headers(1, [0x88, 0, 1, 120, 2, 10, 121])], protocolError, "'x'"),
            Breach("WINDOW_UPDATE by 0 after the request (6.9)", [.windowUpdate(1, by: 0)], protocolError, "window"),
            Breach(
                "WINDOW_UPDATE too far after the request (6.9.1)",
                [.windowUpdate(1, by: 0x7FFF_FFFF), .windowUpdate(1, by: 0x7FFF_FFFF)], flowControl, "window"),
            Breach("101 (8.6)", [.headers(1, H2Frame.status("101"))], protocolError, "101"),
            Breach("interim responses", Array(repeating: .headers(1, H2Frame.status("103")), count: 33), protocolError, "interim"),
        ]

        @Test(arguments: ofStreams)
        func aBrokenRuleOfAStreamEndsOnlyTheStream(breach: Breach) async throws {
            try await FrameServer.with(responding: { $0.stream == 1 ? breach.frames.together : FrameServer.ok($0.stream, "next") }) {
                transport, server in
                let start = ContinuousClock.now
                let failure = try await transportError { _ = try await transport.send(server.request()).body.collect() }
                #expect(ContinuousClock.now - start < .seconds(3))
                #expect(failure.code == .invalidResponse, "\(failure)")
                #expect(failure.message.contains(breach.text), "\(failure)")
                let next = try await transport.send(server.request()).body.collect()
                #expect(next == Data("next".utf8))
                #expect(server.server.acceptedConnections == 1)
                #expect(server.codes(of: 3) == [breach.code])
            }
        }

        /// Windows of a stream on which the client still sends (6.9).
        @Test(arguments: [
            Breach("by 0", [.windowUpdate(1, by: 0)], protocolError, "window"),
            Breach("too far", [.windowUpdate(1, by: 0x7FFF_FFFF)], flowControl, "window"),
        ])
        func anInvalidWindowOfAStreamEndsOnlyTheStream(breach: Breach) async throws {
            try await FrameServer.with(responding: { $0.stream == 1 ? breach.frames.together : FrameServer.ok($0.stream, "next") }) {
                transport, server in
                let body = RequestBody.stream(length: nil) { _ in ScriptedBodySource(then: .stall) }
                let failure = try await transportError { try await transport.send(server.request(.post, body: body)) }
                #expect(failure.code == .invalidResponse, "\(failure)")
                #expect(failure.message.contains(breach.text), "\(failure)")
                let next = try await transport.send(server.request()).body.collect()
                #expect(next == Data("next".utf8))
                #expect(server.codes(of: 3) == [breach.code])
            }
        }

        /// RFC 9113, section 6.5.3 allows to end the connection; a response that comes all the same is as good.
        @Test func settingsThatAreNeverAcknowledgedDoNoHarm() async throws {
            let pieces = Array(repeating: H2Frame.data(1, Array(repeating: 1, count: 16_000), ends: false), count: 4)
            try await FrameServer.with(
                opening: [.settings()],
                responding: { frame in
                    switch (frame.type, frame.stream) {
                    case (1, _): ([H2Frame.headers(1)] + pieces).together
                    // The window of the stream grows, which began with 65,535 bytes.
                    case (8, 1): [H2Frame.data(1, [1])].together
                    default: []
                    }
                }, all: true
            ) { transport, server in
                let body = try await transport.send(server.request()).body.collect()
                #expect(body.count == 64_001)
            }
        }
    }
}
#endif
