#if SWIFT_NIO && MockServer
import ErrandCore
import Foundation
import TestSupport
import Testing

@testable import ErrandNIO

extension NIOTransportTests {
    /// Streams that end before their requests do, and connections that may be lost.
    @Suite(.timeLimit(.minutes(5))) struct HTTP2CancelTests {
        /// A window that is smaller than the body: the rest waits.
        private static let small = [H2Frame.settings([(3, 1), (4, 1000)]), .settingsAck]

        private func get(_ transport: NIOTransport, _ server: FrameServer) async throws -> String {
            String(decoding: try await transport.send(server.request()).body.collect(), as: UTF8.self)
        }

        private func post(_ transport: NIOTransport, _ server: FrameServer) async throws -> Response {
            try await transport.send(server.request(.post, body: .data(Data(repeating: 1, count: 100_000))))
        }

        /// The stream is reset. The server allows only one stream, which is then free for the next request.
        @Test func aBodyThatWaitsIsResetWhenTheServerRefusesIt() async throws {
            try await FrameServer.with(
                opening: Self.small,
                responding: { frame in
                    guard frame.stream == 1 else { return FrameServer.ok(frame.stream, "next") }
                    return [H2Frame.headers(1, H2Frame.status("413"), ends: true)].together
                },
                configure: { $0.maxConnectionsPerOrigin = 1 }
            ) { transport, server in
                let response = try await post(transport, server)
                #expect(response.status.code == 413)
                let next = try await get(transport, server)
                #expect(next == "next")
                #expect(server.codes(of: 3) == [8])
                #expect(server.server.acceptedConnections == 1)
            }
        }

        /// A server that has accepted the request, and takes nothing more of it, keeps the stream for some seconds.
        @Test func aBodyThatMakesNoProgressAfterItsResponseIsReset() async throws {
            try await FrameServer.with(
                opening: Self.small, responding: { FrameServer.ok($0.stream) },
                configure: {
                    $0.maxConnectionsPerOrigin = 1
                    $0.restTimes = .init(withoutProgress: .seconds(1))
                }
            ) { transport, server in
                let response = try await post(transport, server)
                #expect(response.status == .ok)
                #expect(server.codes(of: 3) == [])
                _ = try await get(transport, server)
                #expect(server.codes(of: 3) == [8])
                #expect(server.server.acceptedConnections == 1)
            }
        }

        /// The server accepts the request first and reads it then: all of it arrives.
        @Test(arguments: [Duration.seconds(60), .zero])
        func aBodyThatWasAcceptedIsSentToItsEnd(idleTimeout: Duration) async throws {
            let received = Watched(0)
            try await FrameServer.with(
                opening: Self.small,
                responding: { frame in
                    if frame.type == 1 {
                        return [H2Frame.headers(frame.stream, ends: true), .windowUpdate(frame.stream, by: 99_000)].together
                            + [.pause(milliseconds: 20)] + [H2Frame.windowUpdate(0, by: 99_000)].together
                    }
                    if frame.type == 0 { received.change { $0 += frame.payload.count } }
                    return []
                }, all: true,
                configure: { $0.idleTimeout = idleTimeout }
            ) { transport, server in
                let response = try await post(transport, server)
                #expect(response.status == .ok)
                try await received.wait("the whole body") { $0 == 100_000 }
                #expect(server.codes(of: 3) == [])
                await eventually { transport.openConnections.allSatisfy { $0.exchanges == 0 } }
            }
        }

        /// The connection may be lost: the server is asked, and if it does not respond, another connection is used.
        @Test func aConnectionThatIsSilentUntilACancellationIsAbandoned() async throws {
            let heads = Watched(0)
            try await FrameServer.with(responding: { frame in
                heads.change { $0 += 1 }
                return heads.value == 2 ? [] : FrameServer.ok(frame.stream, "next")
            }) { transport, server in
                // The settings of the server have come before the request that is cancelled.
                _ = try await get(transport, server)
                let task = Task { try await get(transport, server) }
                try await heads.wait("the request") { $0 == 2 }
                task.cancel()
                _ = await task.result
                try await server.frames.wait("a ping") { frames in frames.contains { $0.type == 6 } }
                #expect(server.codes(of: 3) == [8])
                try await server.noConnectionIsOpen()
                let next = try await get(transport, server)
                #expect(next == "next")
                #expect(server.server.acceptedConnections == 2)
            }
        }

        /// The stream counts until the server has responded to the ping.
        @Test func aConnectionThatRespondsToThePingIsKept() async throws {
            try await FrameServer.with(
                opening: [.maxStreams(1), .settingsAck],
                responding: { frame in
                    if frame.type == 6, frame.flags == 0 { return [H2Frame(type: 6, flags: 1, payload: frame.payload)].together }
                    return frame.type == 1 && frame.stream != 3 ? FrameServer.ok(frame.stream, "next") : []
                }, all: true, configure: { $0.maxConnectionsPerOrigin = 1 }
            ) { transport, server in
                // The settings of the server have come before the request that is cancelled.
                _ = try await get(transport, server)
                let task = Task { try await get(transport, server) }
                try await server.frames.wait("the request") { frames in frames.contains { $0.type == 1 && $0.stream == 3 } }
                task.cancel()
                _ = await task.result
                let next = try await get(transport, server)
                #expect(next == "next")
                #expect(server.server.acceptedConnections == 1)
                #expect(server.frames.value.filter { $0.type == 6 }.count == 1)
            }
        }

        /// The kept connection may have passed the request on, and the next one can't be opened.
        @Test func aRequestThatMayHaveBeenSentIsNotReportedAsNotSent() async throws {
            let heads = Watched(0)
            let addresses = Watched<[IPAddress]>([try IPAddress("127.0.0.1")])
            try await FrameServer.with(
                responding: { frame in
                    heads.change { $0 += 1 }
                    return heads.value == 2 ? [.close] : FrameServer.ok(frame.stream, "ok")
                },
                configure: { $0.resolver = StubResolver { _ in addresses.value } }
            ) { transport, server in
                let request = try Request(.get, url: "https://localhost:\(server.server.port)/").within(.seconds(10))
                _ = try await transport.send(request).body.collect()
                // Nobody listens there.
                let other = try IPAddress("127.0.0.2")
                addresses.change { $0 = [other] }
                let failure = try await transportError { try await transport.send(request) }
                #expect(failure.code == .cannotConnect && failure.delivery == .unknown, "\(failure)")
                #expect(heads.value == 2)
            }
        }

        /// First a connection that was idle is lost; then the server says that it did not process the request. Each is a reason of its own.
        @Test func aStaleConnectionDoesNotUseUpTheRepetitionAfterARefusal() async throws {
            let heads = Watched(0)
            try await FrameServer.with(responding: { frame in
                heads.change { $0 += 1 }
                return switch heads.value {
                case 2: [.close]
                case 3: [H2Frame.goAway(last: 0)].together
                default: FrameServer.ok(frame.stream, "ok")
                }
            }) { transport, server in
                for _ in 0..<2 {
                    let body = try await get(transport, server)
                    #expect(body == "ok")
                }
                #expect(heads.value == 4)
                #expect(server.server.acceptedConnections == 3)
            }
        }
    }
}
#endif
