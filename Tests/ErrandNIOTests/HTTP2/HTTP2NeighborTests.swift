#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// Faults of a server of HTTP/2 while several streams are open: the result of each stream, and the requests that are sent again.
    @Suite(.timeLimit(.minutes(5))) struct HTTP2NeighborTests {
        private func get(_ transport: NIOTransport, _ server: FrameServer) async throws -> String {
            String(decoding: try await transport.send(server.request()).body.collect(), as: UTF8.self)
        }

        /// Opens the connection, and the first stream on it.
        private func warmUp(_ transport: NIOTransport, _ server: FrameServer) async throws { _ = try await get(transport, server) }

        private func heads(_ server: FrameServer) -> [UInt32] { server.frames.value.filter { $0.type == 1 }.map(\.stream) }

        /// The server has processed one of two streams, and finishes it.
        @Test func aGoAwayBetweenTwoStreamsHarmsNoStream() async throws {
            try await FrameServer.with(responding: { frame in
                switch frame.stream {
                case 3: []
                case 5: [H2Frame.goAway(last: 3)].together + [.pause(milliseconds: 20)] + FrameServer.ok(3, "kept")
                default: FrameServer.ok(frame.stream, "again")
                }
            }) { transport, server in
                try await warmUp(transport, server)
                async let first = get(transport, server)
                async let second = get(transport, server)
                let bodies = Set(try await [first, second])
                #expect(bodies == ["kept", "again"])
                #expect(server.server.acceptedConnections == 2)
                #expect(heads(server) == [1, 3, 5, 1])
            }
        }

        @Test func aStreamThatIsRefusedTwiceIsAFailure() async throws {
            try await FrameServer.with(responding: { frame in
                frame.stream == 1 ? FrameServer.ok(1, "fine") : [H2Frame.reset(frame.stream, code: 7)].together
            }) { transport, server in
                try await warmUp(transport, server)
                let failure = try await transportError { try await transport.send(server.request(.post, body: .text("pay"))) }
                #expect(failure.code == .connectionLost && failure.delivery == .notSent, "\(failure)")
                #expect(failure.message.contains("REFUSED_STREAM"), "\(failure)")
                #expect(heads(server).count == 3)
            }
        }

        /// As with HTTP/1.1, the app can read the bytes of a stream only once.
        @Test func aRefusedBodyThatExistsOnceIsNotSentAgain() async throws {
            try await FrameServer.with(
                responding: { frame in
                    frame.type == 0 && frame.stream == 1 ? [H2Frame.reset(1, code: 7)].together : []
                }, all: true
            ) { transport, server in
                let (chunks, feed) = AsyncStream<Data>.makeStream()
                feed.yield(Data("x".utf8))
                feed.finish()
                let body = RequestBody.stream(chunks)
                let failure = try await transportError { try await transport.send(server.request(.post, body: body)) }
                #expect(failure.code == .connectionLost && failure.delivery == .notSent, "\(failure)")
                #expect(heads(server).count == 1)
            }
        }

        /// RFC 9113, section 7: nobody knows whether the request was processed.
        @Test func aServerThatAsksForCalmGetsNoRepetition() async throws {
            try await FrameServer.with(responding: { frame in
                frame.stream == 3 ? [H2Frame.reset(3, code: 11)].together : FrameServer.ok(frame.stream, "fine")
            }) { transport, server in
                try await warmUp(transport, server)
                let failure = try await transportError { try await transport.send(server.request()) }
                #expect(failure.code == .connectionLost && failure.delivery == .unknown, "\(failure)")
                #expect(failure.message.contains("ENHANCE_YOUR_CALM"), "\(failure)")
                let next = try await get(transport, server)
                #expect(next == "fine")
                #expect(heads(server) == [1, 3, 5])
                #expect(server.server.acceptedConnections == 1)
            }
        }

        /// Before the head, or in the body.
        @Test(arguments: [false, true]) func aStalledStreamEndsAtItsDeadlineWhileOthersContinue(hasHead: Bool) async throws {
            try await FrameServer.with(responding: { frame in
                guard frame.stream == 3 else { return FrameServer.ok(frame.stream, "flows") }
                return hasHead ? [H2Frame.headers(3), .data(3, [1], ends: false)].together : []
            }) { transport, server in
                try await warmUp(transport, server)
                let stalled = Task {
                    try await transportError {
                        try await transport.send(Request(.get, url: server.url).within(.milliseconds(400))).body.collect()
                    }
                }
                try await server.frames.wait("the second request") { $0.contains { $0.type == 1 && $0.stream == 3 } }
                for _ in 0..<10 {
                    let body = try await get(transport, server)
                    #expect(body == "flows")
                }
                let failure = try await stalled.value
                #expect(failure.code == .timedOut && failure.delivery != .notSent, "\(failure)")
                try await server.frames.wait("the reset") { $0.contains { $0.type == 3 && $0.stream == 3 && $0.payload.last == 8 } }
                await eventually { transport.openConnections.allSatisfy { $0.exchanges == 0 } }
                #expect(server.server.acceptedConnections == 1)
            }
        }

        /// A server that never sends WINDOW_UPDATE. Bytes that do not fit into the window wait until the deadline.
        @Test func aBlockedUploadEndsAtItsDeadlineWithoutHarmToOthers() async throws {
            try await FrameServer.with(responding: { frame in
                frame.stream == 3 ? [] : FrameServer.ok(frame.stream, "flows")
            }) { transport, server in
                try await warmUp(transport, server)
                let body = RequestBody.data(Data(repeating: 1, count: 200_000))
                let stalled = Task {
                    try await transportError {
                        try await transport.send(Request(.post, url: server.url, body: body).within(.milliseconds(400)))
                    }
                }
                try await server.frames.wait("the window to be full") { Self.bytes($0, of: 3) == 65_535 }
                for _ in 0..<5 {
                    let text = try await get(transport, server)
                    #expect(text == "flows")
                }
                let failure = try await stalled.value
                #expect(failure.code == .timedOut && failure.delivery != .notSent, "\(failure)")
                try await server.frames.wait("the reset") { $0.contains { $0.type == 3 && $0.stream == 3 } }
                let sent = Self.bytes(server.frames.value, of: 3)
                #expect(sent == 65_535)
                await eventually { transport.openConnections.allSatisfy { $0.exchanges == 0 } }
            }
        }

        private static func bytes(_ frames: [H2Frame], of stream: UInt32) -> Int {
            frames.reduce(0) { $0 + ($1.type == 0 && $1.stream == stream ? $1.payload.count : 0) }
        }

        /// One of three streams has its head and a part of its body. The other streams have nothing. A POST is not sent again.
        @Test func aConnectionThatIsClosedEndsAllItsStreams() async throws {
            try await FrameServer.with(
                responding: { frame in
                    switch (frame.type, frame.stream) {
                    case (1, 1): FrameServer.ok(1)
                    case (1, 3): [H2Frame.headers(3), .data(3, [1], ends: false)].together
                    case (0, 7) where frame.flags & H2Frame.endStream != 0: [.close]
                    default: []
                    }
                }, all: true
            ) { transport, server in
                try await warmUp(transport, server)
                let first = try await transport.send(server.request())
                let second = Task { try await transportError { try await transport.send(server.request(.post)) } }
                try await server.frames.wait("the third request") { $0.contains { $0.type == 1 && $0.stream == 5 } }
                let third = try await transportError { try await transport.send(server.request(.post, body: .text("last"))) }
                let inBody = try await transportError { try await first.body.collect() }
                let beforeHead = try await second.value
                for failure in [third, beforeHead] {
                    #expect(failure.code == .connectionLost && failure.delivery == .unknown, "\(failure)")
                }
                #expect(inBody.code == .connectionLost && inBody.delivery != .notSent, "\(inBody)")
                #expect(heads(server) == [1, 3, 5, 7])
                #expect(server.server.acceptedConnections == 1)
            }
        }

        @Test(arguments: [(UInt32(2), "INTERNAL_ERROR"), (7, "REFUSED_STREAM"), (8, "CANCEL"), (11, "ENHANCE_YOUR_CALM")])
        func aResetAfterTheHeadEndsTheBody(code: UInt32, name: String) async throws {
            try await FrameServer.with(responding: { frame in
                frame.stream == 1
                    ? [H2Frame.headers(1), .data(1, [1], ends: false), .reset(1, code: code)].together
                    : FrameServer.ok(frame.stream, "next")
            }) { transport, server in
                let failure = try await transportError { _ = try await transport.send(server.request()).body.collect() }
                #expect(failure.code == .connectionLost && failure.delivery != .notSent, "\(failure)")
                #expect(failure.message.contains(name), "\(failure)")
                let next = try await get(transport, server)
                #expect(next == "next")
                #expect(heads(server) == [1, 3])
            }
        }

        /// SETTINGS take the window away in the middle of an upload, which makes it negative (RFC 9113, section 6.9.2).
        @Test func aShrunkWindowIsObeyed() async throws {
            let total = 200_000
            try await FrameServer.with(
                responding: { frame in
                    switch frame.type {
                    case 0 where frame.flags & H2Frame.endStream != 0: return FrameServer.ok(frame.stream, "whole")
                    case 0 where frame.payload.isEmpty: return []
                    // The window is taken away, and what was sent comes back to it.
                    case 0:
                        let count = UInt32(frame.payload.count)
                        return [H2Frame.settings([(4, 0)]), .windowUpdate(0, by: count), .windowUpdate(frame.stream, by: count)].together
                    // The acknowledgment of what was taken away.
                    case 4 where frame.flags == 1: return [H2Frame.windowUpdate(1, by: 10_000), .windowUpdate(0, by: 10_000)].together
                    default: return []
                    }
                }, all: true
            ) { transport, server in
                let body = RequestBody.data(Data(repeating: 1, count: total))
                let response = try await transport.send(server.request(.post, body: body))
                let text = try await response.body.collect()
                #expect(text == Data("whole".utf8))
                let sent = Self.bytes(server.frames.value, of: 1)
                #expect(sent == total)
                #expect(server.codes(of: 3) == [])
            }
        }

        /// SETTINGS allow fewer streams than are open. The open streams continue, and the next stream waits for the end of all of them.
        @Test func aLowerStreamLimitHarmsNoOpenStream() async throws {
            try await FrameServer.with(
                responding: { frame in
                    switch (frame.type, frame.stream) {
                    case (1, 7): [H2Frame.maxStreams(1)].together
                    case (1, 3), (1, 5): []
                    case (1, _): FrameServer.ok(frame.stream, "fine")
                    // One of the three has been cancelled.
                    case (3, 3): FrameServer.ok(5, "fine") + FrameServer.ok(7, "fine")
                    default: []
                    }
                }, all: true, configure: { $0.maxConnectionsPerOrigin = 1 }
            ) { transport, server in
                try await warmUp(transport, server)
                let first = Task { try await get(transport, server) }
                try await server.frames.wait("a request") { $0.contains { $0.type == 1 && $0.stream == 3 } }
                async let second = get(transport, server)
                async let third = get(transport, server)
                try await server.frames.wait("the settings to be acknowledged") { $0.count { $0.type == 4 && $0.flags == 1 } >= 2 }
                async let fourth = get(transport, server)
                try await poll("a request that waits", value: { transport.waitingExchanges.values.reduce(0, +) }) { $0 == 1 }
                #expect(heads(server) == [1, 3, 5, 7])
                first.cancel()
                let bodies = try await [second, third, fourth]
                #expect(bodies == ["fine", "fine", "fine"])
                await #expect(throws: CancellationError.self) { try await first.value }
                #expect(heads(server) == [1, 3, 5, 7, 9])
                #expect(server.server.acceptedConnections == 1)
            }
        }

        /// The server responds after it has received all requests.
        @Test func aThousandStreamsAreOpenAtATime() async throws {
            let seen = Watched<[UInt32]>([])
            try await FrameServer.with(
                opening: [.maxStreams(1000), .settingsAck],
                responding: { frame in
                    if frame.stream == 1 { return FrameServer.ok(1) }
                    seen.change { $0.append(frame.stream) }
                    return seen.value.count == 1000 ? seen.value.flatMap { FrameServer.ok($0, "\($0)") } : []
                }, configure: { $0.maxConnectionsPerOrigin = 1 }
            ) { transport, server in
                try await warmUp(transport, server)
                let bodies = try await withThrowingTaskGroup(of: String.self) { group in
                    for _ in 0..<1000 { group.addTask { try await get(transport, server) } }
                    return try await group.reduce(into: Set<String>()) { $0.insert($1) }
                }
                #expect(bodies.count == 1000)
                #expect(server.server.acceptedConnections == 1)
            }
        }

        /// Each small body ends while no large body is read.
        @Test(.enabled(if: NghttpdServer.isHere, "\(NghttpdServer.missing)"))
        func unreadLargeBodiesDoNotBlockSmallBodies() async throws {
            let folder = try TestFolder("www")
            try folder.write(Data("small".utf8), to: "small")
            try folder.write(NginxServer.large, to: "large")
            let server = try await NghttpdServer(serving: folder, streams: 250)
            try await withNIO {
                $0.usesHTTP2WithoutTLS = true
                $0.maxConnectionsPerOrigin = 1
            } _: { transport in
                func response(_ path: String) async throws -> Response {
                    try await transport.send(Request(.get, url: server.url(path)).within(.seconds(60)))
                }
                _ = try await response("/small").body.collect()
                var large: [Response] = []
                for _ in 0..<100 {
                    large.append(try await response("/large"))
                    let small = try await response("/small").body.collect()
                    #expect(small == Data("small".utf8))
                }
                #expect(transport.openConnections.map(\.exchanges) == [100])
                // Some are read after all; the others are given up, and release their streams.
                for one in large.prefix(4) {
                    let isWhole = try await one.body.collect() == NginxServer.large
                    #expect(isWhole)
                }
                large = []
                await eventually { transport.openConnections.map(\.exchanges) == [0] }
                let after = try await response("/large").body.collect()
                #expect(after == NginxServer.large)
                #expect(transport.openConnections.map(\.exchangesStarted) == [202])
            }
            try await server.stopped()
        }
    }
}
#endif
