#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import ErrandMockServer
import TestSupport
import Testing

extension NIOTransportTests {
    /// Limits and windows that a server of HTTP/2 changes, at times when it should and when it should not (RFC 9113).
    @Suite(.timeLimit(.minutes(5))) struct HTTP2SettingsTests {
        private static let hello = [H2Frame.settings(), .settingsAck]

        private func send(by transport: NIOTransport, to server: FrameServer) async throws -> Response {
            try await transport.send(Request(.get, url: server.url).within(.seconds(10)))
        }

        /// Servers that shut down do this. The connection was never one that a request could use.
        @Test func aGoAwayTogetherWithTheSettingsFailsOnlyTheCall() async throws {
            try await FrameServer.with(opening: Self.hello + [.goAway()]) { transport, server in
                let failure = try await transportError { try await send(by: transport, to: server) }
                #expect([.connectionLost, .cannotConnect].contains(failure.code) && failure.delivery == .notSent, "\(failure)")
                try await server.noConnectionIsOpen()
            }
        }

        /// An unused connection hears of new limits; the next requests use it.
        @Test func aLimitThatChangesOnAnIdleConnectionDoesNoHarm() async throws {
            let respond: @Sendable (H2Frame) -> [ByteAction] = { frame in
                FrameServer.ok(frame.stream) + [.pause(milliseconds: 20)] + [H2Frame.maxStreams(3 + frame.stream)].together
                    + [H2Frame.maxStreams(2 + frame.stream)].together
            }
            try await FrameServer.with(opening: Self.hello, responding: respond) { transport, server in
                for count in 1...4 {
                    #expect(try await send(by: transport, to: server).status == .ok)
                    try await server.frames.wait("the settings to be accepted") { frames in
                        frames.count { $0.type == 4 && $0.flags == 1 } == 1 + 2 * count
                    }
                }
                #expect(server.server.acceptedConnections == 1)
            }
        }

        /// Values are taken in their order, so the last one counts (RFC 9113, 6.5.3).
        @Test func theLastOfTwoLimitsCounts() async throws {
            try await FrameServer.with(opening: [H2Frame.settings([(3, 0), (3, 5)]), .settingsAck]) { transport, server in
                for _ in 0..<2 {
                    let response = try await send(by: transport, to: server)
                    #expect(response.status == .ok)
                }
                #expect(server.server.acceptedConnections == 1)
            }
        }

        /// Requests go over another connection then. That one is kept: the limit may rise again.
        @Test func aLimitThatFallsToZeroLeavesTheConnection() async throws {
            let respond: @Sendable (H2Frame) -> [ByteAction] = { frame in
                [H2Frame.maxStreams(0)].together + [.pause(milliseconds: 20)] + FrameServer.ok(frame.stream)
            }
            try await FrameServer.with(opening: Self.hello, responding: respond) { transport, server in
                for count in 1...3 {
                    let response = try await send(by: transport, to: server)
                    #expect(response.status == .ok)
                    #expect(server.server.acceptedConnections == count)
                }
            }
        }

        // MARK: Windows

        /// The WINDOW_UPDATE is for a stream whose request is still being sent (RFC 9113, 6.9 and 6.9.1).
        @Test(arguments: [0, 0x7FFF_FFFF] as [UInt32])
        func anInvalidWindowUpdateEndsTheExchange(increment: UInt32) async throws {
            let respond: @Sendable (H2Frame) -> [ByteAction] = { [H2Frame.windowUpdate($0.stream, by: increment)].together }
            try await FrameServer.with(opening: Self.hello, responding: respond) { transport, server in
                let body = RequestBody.stream(length: nil) { _ in ScriptedBodySource(["first"], then: .stall) }
                let failure = try await transportError {
                    try await transport.send(Request(.post, url: server.url, body: body).within(.seconds(10)))
                }
                #expect([.connectionLost, .invalidResponse].contains(failure.code), "\(failure)")
            }
        }
    }
}
#endif
