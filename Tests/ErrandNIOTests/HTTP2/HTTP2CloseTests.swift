#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// A server that goes silent after the handshake: it never responds to close_notify. No caller waits for that, though NIOSSL
    /// does, for 5 s.
    @Suite(.timeLimit(.minutes(5))) struct HTTP2CloseTests {
        private static let bound = Duration.milliseconds(1500)

        private func duration(_ body: () async throws -> Void) async rethrows -> Duration {
            let start = ContinuousClock.now
            try await body()
            return ContinuousClock.now - start
        }

        @Test func aShutdownAfterATimeoutIsShort() async throws {
            try await FrameServer.with(responding: { _ in [.stopReading] }) { transport, server in
                let request = try Request(.get, url: server.url).within(.milliseconds(300))
                let time = try await duration {
                    let failure = try await transportError { try await transport.send(request) }
                    #expect(failure.code == .timedOut, "\(failure)")
                    try await transport.shutdown()
                }
                #expect(time < Self.bound)
            }
        }

        @Test func aShutdownDuringAStalledUploadIsShort() async throws {
            try await FrameServer.with(
                opening: [.settings([(4, 0x7FFF_FFFF)]), .windowUpdate(0, by: 0x3FFF_FFFF), .settingsAck],
                responding: { _ in [.stopReading] }
            ) { transport, server in
                let request = try Request(.post, url: server.url, body: .data(Data(count: 50 << 20))).within(.milliseconds(300))
                let time = try await duration {
                    let failure = try await transportError { try await transport.send(request) }
                    #expect(failure.code == .timedOut, "\(failure)")
                    try await transport.shutdown()
                }
                #expect(time < Self.bound)
            }
        }

        @Test func aCancelledCallEndsImmediately() async throws {
            try await FrameServer.with(responding: { _ in [.stopReading] }) { transport, server in
                let call = Task { try await transport.send(server.request()) }
                try await server.frames.wait("the request") { $0.contains { $0.type == 1 } }
                let time = try await duration {
                    call.cancel()
                    await #expect(throws: CancellationError.self) { _ = try await call.value }
                    try await transport.shutdown()
                }
                #expect(time < Self.bound)
            }
        }

        @Test(arguments: [true, false])
        func aShutdownAfterAResponseIsShort(isRead: Bool) async throws {
            try await FrameServer.with(responding: {
                (isRead ? FrameServer.ok($0.stream, "ok") : [H2Frame.headers($0.stream)].together) + [.stopReading]
            }) { transport, server in
                let response = try await transport.send(server.request())
                if isRead { #expect(try await response.body.collect() == Data("ok".utf8)) }
                let time = try await duration { try await transport.shutdown() }
                #expect(time < Self.bound)
            }
        }

        /// Nobody waits, and the connection does not stay for 5 s either.
        @Test(arguments: [Duration.zero, .milliseconds(50)])
        func aClosedIdleConnectionIsForgottenSoon(idleTimeout: Duration) async throws {
            try await FrameServer.with(responding: { FrameServer.ok($0.stream, "ok") + [.stopReading] }) {
                $0.idleTimeout = idleTimeout
            } _: { transport, server in
                _ = try await transport.send(server.request()).body.collect()
                let time = await duration { await eventually { transport.openConnections.isEmpty } }
                #expect(time < Self.bound)
            }
        }

        /// A connection that closes is cut off by a shutdown that comes later.
        @Test func aShutdownAfterACloseIsShort() async throws {
            try await FrameServer.with(responding: { FrameServer.ok($0.stream, "ok") + [H2Frame.goAway(last: 1)].together + [.stopReading] }
            ) {
                transport, server in
                _ = try await transport.send(server.request()).body.collect()
                let time = try await duration { try await transport.shutdown() }
                #expect(time < Self.bound)
            }
        }
    }
}
#endif
