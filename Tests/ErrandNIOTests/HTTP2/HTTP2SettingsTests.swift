#if AsyncHTTPClient && MockServer
internal import AsyncHTTPClient
internal import Errand
internal import ErrandMockServer
internal import ErrandTesting
internal import Foundation
internal import Synchronization
internal import TestSupport
internal import Testing

extension AsyncHTTPClientTransportTests {
    /// Frames that a server of HTTP/2 sends, at times when it should and when it should not (RFC 9113).
    @Suite
    struct HTTP2FrameTests {
        private static let hello = [H2Frame.settings(), .settingsAck]

        private func send(by transport: AsyncHTTPClientTransport, to server: FrameServer) async throws -> Response {
            try await transport.send(Request(.get, url: server.url).within(.seconds(10)))
        }

        /// Servers that shut down do this. The connection was never one that a request could use.
        @Test(arguments: [true, false])
        func aGoodbyeTogetherWithTheSettingsIsAFailureOfTheCallAlone(together: Bool) async throws {
            let frames = Self.hello + [.goAway()]
            try await FrameServer.with(opening: (together ? frames.together : frames.apart) + [.pause(milliseconds: 100), .close]) {
                transport, server in
                let failure = try await transportError {
                    try await transport.send(Request(.get, url: server.url).within(.milliseconds(600)))
                }
                #expect([.connectionLost, .cannotConnect, .timedOut].contains(failure.code), "\(failure)")
                try await server.noConnectionIsOpen()
            }
        }

        @Test func settingsThatChangeTheLimitTwiceAtOnceDoNoHarm() async throws {
            let frames = Self.hello + [.maxStreams(5), .maxStreams(7), .maxStreams(0x7FFF_FFFF)]
            try await FrameServer.with(opening: frames.together) { transport, server in
                for _ in 0..<3 {
                    let response = try await send(by: transport, to: server)
                    #expect(response.status == .ok)
                }
                #expect(server.server.acceptedConnections == 1)
            }
        }

        /// An unused connection hears of new limits; the next requests use it.
        @Test func aLimitThatChangesWhileNothingIsSentDoesNoHarm() async throws {
            let answer: @Sendable (H2Frame) -> [ByteAction] = { frame in
                FrameServer.ok(frame.stream) + [.pause(milliseconds: 20)] + [H2Frame.maxStreams(3 + frame.stream)].together
                    + [H2Frame.maxStreams(2 + frame.stream)].together
            }
            try await FrameServer.with(opening: Self.hello.together, answering: answer) { transport, server in
                for _ in 0..<4 {
                    #expect(try await send(by: transport, to: server).status == .ok)
                    try await Task.sleep(for: .milliseconds(60))
                }
                #expect(server.server.acceptedConnections == 1)
            }
        }

        /// Values are taken in their order, so the last one counts (RFC 9113, 6.5.3).
        @Test func ofALimitThatIsThereTwiceTheLastOneCounts() async throws {
            try await FrameServer.with(opening: [H2Frame.settings([(3, 0), (3, 5)]), .settingsAck].together) { transport, server in
                for _ in 0..<2 {
                    let response = try await send(by: transport, to: server)
                    #expect(response.status == .ok)
                }
                #expect(server.server.acceptedConnections == 1)
            }
        }

        @Test func aServerThatAllowsNoStreamsIsAFailureAtOnce() async throws {
            try await FrameServer.with(opening: [.maxStreams(0), .settingsAck].together) { transport, server in
                let failure = try await transportError { try await send(by: transport, to: server) }
                #expect(failure.code == .cannotConnect, "\(failure)")
                #expect(failure.delivery == .notSent)
                #expect(server.server.acceptedConnections == 1)
                try await server.noConnectionIsOpen()
            }
        }

        /// Requests go over another connection then.
        @Test func aLimitThatFallsToZeroIsAGoodbye() async throws {
            let answer: @Sendable (H2Frame) -> [ByteAction] = { frame in
                [H2Frame.maxStreams(0)].together + [.pause(milliseconds: 20)] + FrameServer.ok(frame.stream)
            }
            try await FrameServer.with(opening: Self.hello.together, answering: answer) { transport, server in
                for _ in 0..<3 { #expect(try await send(by: transport, to: server).status == .ok) }
                #expect(server.server.acceptedConnections == 3)
                try await server.noConnectionIsOpen()
            }
        }

        /// A server that says goodbye to an unused connection may leave its end to the client.
        @Test func aGoodbyeToAnUnusedConnectionEndsIt() async throws {
            let answer: @Sendable (H2Frame) -> [ByteAction] = { frame in
                FrameServer.ok(frame.stream) + [.pause(milliseconds: 20)] + [H2Frame.goAway(last: frame.stream)].together
            }
            try await FrameServer.with(opening: Self.hello.together, answering: answer) { transport, server in
                for _ in 0..<2 {
                    #expect(try await send(by: transport, to: server).status == .ok)
                    try await server.noConnectionIsOpen()
                }
            }
        }

        /// What an app's own initializer is waited for must not meet a pool that does not know the connection.
        @Test(arguments: [
            [H2Frame.goAway()], [.maxStreams(4), .maxStreams(9)], [.maxStreams(0)], [.ping, .maxStreams(1), .goAway(last: 1)],
        ])
        func framesWaitForASlowInitializer(frames: [H2Frame]) async throws {
            try await FrameServer.with(
                opening: (Self.hello + frames).together,
                configure: {
                    $0.customize = { settings in settings.http2ConnectionDebugInitializer = ByteServer.slowInitializer(milliseconds: 50) }
                }
            ) { transport, server in
                do {
                    let response = try await transport.send(Request(.get, url: server.url).within(.milliseconds(800)))
                    #expect(response.status == .ok)
                } catch let failure as TransportError {
                    #expect([.connectionLost, .timedOut].contains(failure.code), "\(failure)")
                }
            }
        }

        /// Frames without end, for a connection that nobody has asked anything yet, are not kept without end.
        @Test func whatComesBeforeASlowInitializerHasEndedIsBounded() async throws {
            // More than are held back (128), and fewer than SwiftNIO takes for an attack by itself (200).
            let frames = Self.hello + Array(repeating: H2Frame.ping, count: 160)
            try await FrameServer.with(
                opening: frames.together,
                configure: {
                    $0.customize = { settings in settings.http2ConnectionDebugInitializer = ByteServer.slowInitializer(milliseconds: 200) }
                }
            ) { transport, server in
                let failure = try await transportError { try await transport.send(Request(.get, url: server.url).within(.seconds(5))) }
                #expect(failure.delivery == .notSent, "\(failure)")
            }
        }

        // MARK: Push

        @Test func serverPushIsSwitchedOff() async throws {
            let settings = Watched<[[UInt8]]>([])
            let server = try await FrameServer.start {
                FrameScript(opened: { Self.hello.together }) { frame in
                    if frame.type == 4, frame.flags == 0 { settings.change { $0.append(frame.payload) } }
                    return frame.type == 1 ? FrameServer.ok(frame.stream) : []
                }
            }
            try await withAHC {
                $0.tls.extraRootsPEMFiles = [server.authorityFile]
            } _: { transport in
                let response = try await send(by: transport, to: server)
                #expect(response.status == .ok)
            }
            await server.server.stop()
            let first = try #require(settings.value.first)
            let values = stride(from: 0, to: first.count, by: 6).map { Array(first[$0..<$0 + 6]) }
            #expect(values.contains([0, 2, 0, 0, 0, 0]))  // RFC 9113, 6.5.2: SETTINGS_ENABLE_PUSH
        }

        @Test func aPromiseOfAPushEndsTheConnection() async throws {
            let answer: @Sendable (H2Frame) -> [ByteAction] = { frame in
                [H2Frame.pushPromise(frame.stream, promised: 2), .headers(2, ends: true)].together + [.pause(milliseconds: 50)]
                    + FrameServer.ok(frame.stream)
            }
            try await FrameServer.with(opening: Self.hello.together, answering: answer) { transport, server in
                let failure = try await transportError { try await send(by: transport, to: server) }
                #expect([.connectionLost, .invalidResponse].contains(failure.code), "\(failure)")
                try await server.noConnectionIsOpen()
            }
        }

        // MARK: Errors of the connection

        /// RFC 9113, 5.4.1, 6.9 and 6.9.1.
        @Test(arguments: [
            H2Frame(type: 6, payload: [1, 2, 3]), H2Frame(type: 6, stream: 1, payload: Array(repeating: 0, count: 8)),
            .windowUpdate(0, by: 0), .windowUpdate(0, by: 0x7FFF_FFFF),
        ])
        func anErrorOfTheConnectionEndsIt(frame: H2Frame) async throws {
            let answer: @Sendable (H2Frame) -> [ByteAction] = { _ in [frame].together }
            try await FrameServer.with(opening: Self.hello.together, answering: answer) { transport, server in
                let failure = try await transportError { try await send(by: transport, to: server) }
                #expect([.connectionLost, .invalidResponse].contains(failure.code), "\(failure)")
                try await server.noConnectionIsOpen()
            }
        }

        @Test func aWindowUpdateByNothingEndsTheConnection() async throws {
            let answer: @Sendable (H2Frame) -> [ByteAction] = { [H2Frame.windowUpdate($0.stream, by: 0)].together }
            try await FrameServer.with(opening: Self.hello.together, answering: answer) { transport, server in
                let failure = try await transportError { try await send(by: transport, to: server) }
                #expect([.connectionLost, .invalidResponse].contains(failure.code), "\(failure)")
                try await server.noConnectionIsOpen()
            }
        }

        /// Of a stream whose request is still being sent.
        @Test func aWindowThatGrowsBeyondItsLimitEndsTheExchange() async throws {
            let answer: @Sendable (H2Frame) -> [ByteAction] = { [H2Frame.windowUpdate($0.stream, by: 0x7FFF_FFFF)].together }
            try await FrameServer.with(opening: Self.hello.together, answering: answer) { transport, server in
                let body = RequestBody.stream(length: nil) { _ in ScriptedBodySource(then: .hangs) }
                let failure = try await transportError {
                    try await transport.send(Request(.post, url: server.url, body: body).within(.seconds(10)))
                }
                #expect([.connectionLost, .invalidResponse].contains(failure.code), "\(failure)")
                try await server.noConnectionIsOpen()
            }
        }

        // MARK: Responses out of order

        /// A head with 101 means nothing on HTTP/2 (RFC 9113, 8.6), and there is one final head.
        @Test(arguments: [
            [H2Frame.headers(1, H2Frame.status("101")), .headers(1, ends: true)],
            [.headers(1, H2Frame.status("099")), .headers(1, ends: true)],
            [.headers(1), .headers(1), .headers(1, ends: true)], [.data(1, [1]), .headers(1, ends: true)],
        ])
        func aResponseOutOfOrderIsAFailure(frames: [H2Frame]) async throws {
            let opening = Self.hello.together
            try await FrameServer.with(opening: opening, answering: { $0.stream == 1 ? frames.together : FrameServer.ok($0.stream) }) {
                transport, server in
                _ = try await transportError { _ = try await send(by: transport, to: server).body.collect() }
            }
        }
    }
}
#endif
