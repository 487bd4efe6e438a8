#if SWIFT_NIO && MockServer
import ErrandConformance
import ErrandCore
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// Frames that a server of HTTP/2 sends, at times when it should and when it should not (RFC 9113).
    @Suite(.timeLimit(.minutes(5))) struct HTTP2FrameTests {
        private func get(_ transport: NIOTransport, _ server: FrameServer) async throws -> String {
            let response = try await transport.send(server.request())
            return String(decoding: try await response.body.collect(), as: UTF8.self)
        }

        // MARK: - The preface

        @Test func theSettingsTurnPushOffAndNameTheLimits() async throws {
            try await FrameServer.with { transport, server in
                let response = try await transport.send(server.request())
                #expect(response.status == .ok)
                #expect(response.metadata.httpVersion == .http2)
                #expect(transport.openConnections.map(\.httpVersion) == [.http2])
                let first = try #require(server.frames.value.first { $0.type == 4 && $0.flags == 0 })
                let values = stride(from: 0, to: first.payload.count, by: 6).map { Array(first.payload[$0..<$0 + 6]) }
                #expect(values.contains([0, 2, 0, 0, 0, 0]))  // RFC 9113, section 6.5.2: SETTINGS_ENABLE_PUSH
                #expect(values.contains([0, 4, 0, 0x10, 0, 0]))  // SETTINGS_INITIAL_WINDOW_SIZE
                #expect(values.contains([0, 6, 0, 0x10, 0, 0]))  // SETTINGS_MAX_HEADER_LIST_SIZE
            }
        }

        @Test func aShutdownSendsGoAway() async throws {
            let frames = try await FrameServer.with { transport, server in
                _ = try await get(transport, server)
                try await transport.shutdown()
                try await server.goAway(0)
                return server.frames.value
            }
            #expect(frames.filter { $0.type == 1 }.count == 1)
        }

        // MARK: - GOAWAY

        @Test func anUnprocessedRequestIsSentOnceMore() async throws {
            let count = Watched(0)
            let sink = RecordingEventSink()
            try await FrameServer.with(responding: { frame in
                count.change { $0 += 1 }
                return count.value == 1 ? [H2Frame.goAway(last: 0)].together : FrameServer.ok(frame.stream, "second")
            }) { transport, server in
                // Also a POST: the server says that it did nothing.
                var request = try server.request(.post, body: .text("pay"))
                request.options.eventSink = sink
                let response = try await transport.send(request)
                #expect(try await response.body.collect() == Data("second".utf8))
                #expect(server.server.acceptedConnections == 2)
            }
            #expect(EventGrammar.violations(sink.events, isCall: false) == [])
            let numbers = sink.events.filter { $0.kind == .connectionAcquired }.map { $0.connection?.number }
            #expect(numbers == [1, 2])
        }

        @Test func aRequestThatIsUnprocessedTwiceFails() async throws {
            try await FrameServer.with(responding: { _ in [H2Frame.goAway(last: 0, code: 11)].together }) { transport, server in
                let failure = try await transportError { try await transport.send(server.request()) }
                #expect(failure.code == .connectionLost)
                #expect(failure.delivery == .notSent)
                #expect(failure.message.contains("ENHANCE_YOUR_CALM"), "\(failure)")
                #expect(server.server.acceptedConnections == 2)
                try await server.noConnectionIsOpen()
            }
        }

        @Test func aProcessedRequestEndsNormallyAndTheConnectionDrains() async throws {
            try await FrameServer.with(responding: { frame in
                [H2Frame.goAway(last: frame.stream)].together + [.pause(milliseconds: 20)] + FrameServer.ok(frame.stream, "late")
            }) { transport, server in
                for _ in 0..<2 {
                    let body = try await get(transport, server)
                    #expect(body == "late")
                }
                #expect(server.server.acceptedConnections == 2)
                try await server.noConnectionIsOpen()
            }
        }

        @Test func anIdleConnectionIsClosedAfterGoAway() async throws {
            try await FrameServer.with(responding: { frame in
                FrameServer.ok(frame.stream) + [.pause(milliseconds: 20)] + [H2Frame.goAway(last: frame.stream)].together
            }) { transport, server in
                _ = try await get(transport, server)
                try await server.noConnectionIsOpen()
                _ = try await get(transport, server)
                #expect(server.server.acceptedConnections == 2)
            }
        }

        // MARK: - RST_STREAM

        @Test func aRefusedStreamIsSentOnceMore() async throws {
            let count = Watched(0)
            try await FrameServer.with(responding: { frame in
                count.change { $0 += 1 }
                return count.value == 1 ? [H2Frame.reset(frame.stream, code: 7)].together : FrameServer.ok(frame.stream, "second")
            }) { transport, server in
                let response = try await transport.send(server.request(.post, body: .text("pay")))
                #expect(try await response.body.collect() == Data("second".utf8))
            }
            #expect(count.value == 2)
        }

        @Test(arguments: [(UInt32(2), "INTERNAL_ERROR"), (8, "CANCEL"), (0, "NO_ERROR"), (99, "0x63")])
        func aResetNamesItsCode(code: UInt32, name: String) async throws {
            try await FrameServer.with(responding: { frame in
                frame.stream == 1 ? [H2Frame.reset(1, code: code)].together : FrameServer.ok(frame.stream, "next")
            }) { transport, server in
                let failure = try await transportError { try await transport.send(server.request()) }
                #expect(failure.code == .connectionLost)
                #expect(failure.message.contains(name), "\(failure)")
                // The connection is as good as before.
                let body = try await get(transport, server)
                #expect(body == "next")
                #expect(server.server.acceptedConnections == 1)
            }
        }

        @Test func aResetWithoutErrorAfterAWholeResponseStopsOnlyTheUpload() async throws {
            try await FrameServer.with(responding: { frame in
                [H2Frame.headers(frame.stream), .data(frame.stream, Array("enough".utf8)), .reset(frame.stream, code: 0)].together
            }) { transport, server in
                let body = RequestBody.stream(length: nil) { _ in ScriptedBodySource(then: .stall) }
                let response = try await transport.send(server.request(.post, body: body))
                #expect(try await response.body.collect() == Data("enough".utf8))
                await eventually { transport.openConnections.map(\.exchanges) == [0] }
            }
        }

        /// The frames' handler writes no CONTINUATION. The values are longer in the code of Huffman, or as long.
        @Test(arguments: [("X{}~", 3_000, false), ("a", 17_000, false), ("\u{E9}", 3_000, false), ("`", 9_000, true)])
        func aRequestWithTooManyFieldsFailsUnsent(text: String, count: Int, isName: Bool) async throws {
            try await FrameServer.with(responding: { frame in
                frame.stream == 1 ? [] : FrameServer.ok(1, "neighbor") + FrameServer.ok(frame.stream, "after")
            }) { transport, server in
                async let neighbor = get(transport, server)
                try await server.frames.wait("the request") { $0.contains { $0.type == 1 } }
                var request = try server.request()
                let many = String(repeating: text, count: count)
                let name = try #require(isName ? HTTPField.Name(many) : .accept)
                request.headers[name] = isName ? "x" : many
                let long = request
                let failure = try await transportError { try await transport.send(long) }
                #expect(failure.code == .invalidRequest && failure.delivery == .notSent)
                #expect(failure.message.contains("more than 16384 bytes"))
                var whole = try server.request()
                whole.headers[.accept] = String(repeating: "a", count: 15_000)
                let after = try await transport.send(whole).body.collect()
                #expect(after == Data("after".utf8))
                #expect(try await neighbor == "neighbor")
                #expect(server.server.acceptedConnections == 1)
            }
        }

        /// Over a kept connection, the head is checked where it is written.
        @Test(arguments: [("PRI", "/"), ("PRI", "*"), ("GET", "/a#b"), ("GET", "/a\u{0}b"), ("GET", "/a b"), ("GET", "/a\r\nb")])
        func anInvalidRequestIsNotSent(method: String, path: String) async throws {
            func refused(_ transport: NIOTransport, _ good: Request) async throws {
                _ = try await transport.send(good).body.collect()
                var request = good
                request.head.method = try #require(HTTPRequest.Method(method))
                request.head.path = path
                let bad = request
                let failure = try await transportError { try await transport.send(bad) }
                #expect(failure.code == .invalidRequest && failure.phase == .request && failure.delivery == .notSent, "\(failure)")
                _ = try await transport.send(good).body.collect()
            }
            try await FrameServer.with { transport, server in
                try await refused(transport, server.request())
                #expect(server.server.acceptedConnections == 1)
                #expect(server.frames.value.filter { $0.type == 1 }.count == 2)
            }
            let server = try RawServer.ok()
            defer { server.stop() }
            try await withNIO { try await refused($0, Request(.get, url: server.url()).within(.seconds(10))) }
            #expect(server.counts.value.requests == 2)
        }

        /// HTTP/1.1 reads such a value as ISO 8859-1.
        @Test func aFieldThatIsNotUTF8IsRepaired() async throws {
            let name = try #require(HTTPField.Name("X"))
            try await FrameServer.with(responding: {
                [H2Frame.headers($0.stream, [0x88, 0, 1, UInt8(ascii: "x"), 3, UInt8(ascii: "a"), 0xE9, UInt8(ascii: "b")], ends: true)]
                    .together
            }) { transport, server in
                let response = try await transport.send(server.request())
                #expect(response.headers[name] == "a\u{FFFD}b")
            }
            let server = try RawServer { connection in
                try connection.readHead()
                try connection.write(Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: a".utf8) + [0xE9] + Array("b\r\n\r\n".utf8))
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let response = try await transport.send(Request(.get, url: server.url()).within(.seconds(10)))
                #expect(response.headers[name] == "a\u{E9}b")
            }
        }

        @Test func aCancelledStreamIsResetAndItsNeighborsContinue() async throws {
            try await FrameServer.with(responding: { frame in
                frame.stream == 1
                    ? [H2Frame.headers(1), .data(1, [1], ends: false)].together
                    : [.pause(milliseconds: 50)] + FrameServer.ok(frame.stream, "neighbor")
            }) { transport, server in
                let first = try await transport.send(server.request())
                async let second = get(transport, server)
                first.body.abandon()
                let neighbor = try await second
                #expect(neighbor == "neighbor")
                try await server.frames.wait("the reset", upTo: .seconds(5)) { frames in
                    frames.contains { $0.type == 3 && $0.stream == 1 && $0.payload.last == 8 }
                }
                #expect(server.server.acceptedConnections == 1)
            }
        }

        // MARK: - Rules of the connection

        private static let errors: [(H2Frame, UInt8)] = [
            (H2Frame(type: 6, payload: [1, 2, 3]), 6), (H2Frame(type: 6, stream: 1, payload: Array(repeating: 0, count: 8)), 1),
            (.windowUpdate(0, by: 0), 1), (.windowUpdate(0, by: 0x7FFF_FFFF), 3), (.pushPromise(1, promised: 2), 1),
            (.data(0, [1]), 1), (.headers(0), 1), (.data(99, [1]), 1), (.headers(2, ends: true), 1),
            (H2Frame(type: 4, payload: [0, 3, 0, 0, 0]), 6), (.settings([(2, 2)]), 1), (.settings([(4, 0x8000_0000)]), 3),
            (.settings([(5, 1)]), 1), (H2Frame(type: 0, stream: 1, payload: [1], declaredLength: 0xFF_FFFF), 6),
            (H2Frame(type: 1, flags: 4, stream: 1, payload: [0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), 9),
            (H2Frame(type: 9, flags: 4, stream: 1, payload: [0x88]), 1),
        ]

        /// Each ends soon, with an error, and with the code that RFC 9113 asks for.
        @Test(arguments: errors)
        func aConnectionErrorEndsTheConnection(frame: H2Frame, code: UInt8) async throws {
            try await FrameServer.with(responding: { _ in [frame].together }) { transport, server in
                let start = ContinuousClock.now
                let failure = try await transportError { try await transport.send(server.request()) }
                #expect(ContinuousClock.now - start < .seconds(3))
                #expect(failure.code == .invalidResponse, "\(failure)")
                try await server.goAway(code)
                try await server.noConnectionIsOpen()
            }
        }

        @Test func aServerWithoutHTTP2IsAnError() async throws {
            let server = try RawServer.responding { connection, _, _ in try connection.write("HTTP/1.1 400 Bad Request\r\n\r\n") }
            defer { server.stop() }
            try await withNIO {
                $0.usesHTTP2WithoutTLS = true
            } _: { transport in
                let failure = try await transportError { try await transport.send(Request(.get, url: server.url()).within(.seconds(3))) }
                // It may close the connection before its response is read.
                #expect([.invalidResponse, .connectionLost].contains(failure.code), "\(failure)")
                #expect(failure.code == .connectionLost || failure.message.contains("may not know HTTP/2"), "\(failure)")
            }
        }

        /// Fields far beyond the limit are not read. Therefore, the state of the compression is lost.
        @Test func fieldsFarBeyondTheLimitEndTheConnection() async throws {
            // A field without indexing: x, with 1,000 bytes.
            let field: [UInt8] = [0, 1, UInt8(ascii: "x"), 127, 0xE9, 0x06] + Array(repeating: UInt8(ascii: "y"), count: 1000)
            try await FrameServer.with(
                responding: { [H2Frame.headers($0.stream, [0x88] + field, ends: true)].together },
                configure: { $0.responseLimits.headBytes = 200 }
            ) { transport, server in
                let failure = try await transportError { try await transport.send(server.request()) }
                #expect(failure.code == .invalidResponse)
                #expect(failure.message.contains("longer than 200 bytes"), "\(failure)")
                try await server.noConnectionIsOpen()
            }
        }

        @Test func tooManyFieldsEndOnlyTheirStream() async throws {
            let field: [UInt8] = [0, 1, UInt8(ascii: "x"), 1, UInt8(ascii: "y")]
            try await FrameServer.with(
                responding: {
                    [H2Frame.headers($0.stream, [0x88] + ($0.stream == 1 ? field + field + field : field), ends: true)].together
                },
                configure: { $0.responseLimits.fieldCount = 2 }
            ) { transport, server in
                let failure = try await transportError { try await transport.send(server.request()) }
                #expect(failure.code == .invalidResponse)
                _ = try await get(transport, server)
                #expect(server.server.acceptedConnections == 1)
            }
        }

        // MARK: - Malformed responses

        private static let malformed: [[H2Frame]] = [
            [H2Frame.headers(1, H2Frame.status("101"), ends: true)], [.headers(1, H2Frame.status("099"), ends: true)],
            [.headers(1, H2Frame.status("103"), ends: true)], [.headers(1), .headers(1), .headers(1, ends: true)],
            [.headers(1, [], ends: true)], [.headers(1, [0x88, 0x88], ends: true)],
            // content-length: 5
            [.headers(1, [0x88, 0x0F, 0x0D, 0x01, 0x35]), .data(1, [1])],
            [.headers(1, [0x88, 0x0F, 0x0D, 0x01, 0x35]), .data(1, [1, 2, 3, 4, 5, 6])],
        ]

        /// Each of these frames ends only its stream.
        @Test(arguments: malformed)
        func aMalformedResponseEndsOnlyItsStream(frames: [H2Frame]) async throws {
            try await FrameServer.with(responding: { $0.stream == 1 ? frames.together : FrameServer.ok($0.stream, "next") }) {
                transport, server in
                let failure = try await transportError { _ = try await transport.send(server.request()).body.collect() }
                #expect(failure.code == .invalidResponse, "\(failure)")
                let body = try await get(transport, server)
                #expect(body == "next")
                #expect(server.server.acceptedConnections == 1)
                #expect(server.codes(of: 3) == [1] || server.codes(of: 3) == [])
            }
        }

        @Test func tooManyMalformedResponsesEndTheConnection() async throws {
            try await FrameServer.with(responding: { [H2Frame.headers($0.stream, [], ends: false)].together }) { transport, server in
                var last = ""
                for _ in 0..<101 {
                    let failure = try await transportError { try await transport.send(server.request()) }
                    last = failure.message
                }
                #expect(last.contains("ENHANCE_YOUR_CALM"), "\(last)")
                try await server.goAway(11)
                #expect(server.server.acceptedConnections == 1)
            }
        }

        // MARK: - Limits

        @Test func requestsWaitForAStreamThatTheServerAllows() async throws {
            try await FrameServer.with(
                opening: [.maxStreams(2), .settingsAck], responding: { [.pause(milliseconds: 5)] + FrameServer.ok($0.stream) },
                configure: { $0.maxConnectionsPerOrigin = 1 }
            ) { transport, server in
                _ = try await get(transport, server)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<12 { group.addTask { _ = try await get(transport, server) } }
                    try await group.waitForAll()
                }
                #expect(server.server.acceptedConnections == 1)
                #expect(server.codes(of: 3) == [])
            }
        }

        @Test func changedSettingsDoNoHarm() async throws {
            try await FrameServer.with(opening: FrameServer.hello + [.maxStreams(5), .maxStreams(0x7FFF_FFFF), .ping]) {
                transport, server in
                for _ in 0..<3 { _ = try await get(transport, server) }
                #expect(server.server.acceptedConnections == 1)
                // The ping has a response.
                try await server.frames.wait("a response to the ping") { $0.contains { $0.type == 6 && $0.flags == 1 } }
            }
        }

        // MARK: - Ping

        @Test func aServerThatDoesNotRespondToAPingIsLost() async throws {
            try await FrameServer.with(responding: { _ in [] }, configure: { $0.pingInterval = .milliseconds(100) }) { transport, server in
                let start = ContinuousClock.now
                let failure = try await transportError { try await transport.send(server.request()) }
                #expect(failure.code == .connectionLost)
                #expect(failure.message.contains("ping"), "\(failure)")
                #expect(ContinuousClock.now - start < .seconds(3))
                try await server.noConnectionIsOpen()
            }
        }

        @Test func aServerThatRespondsToPingsIsKept() async throws {
            let pings = Watched(0)
            try await FrameServer.with(
                responding: { frame in
                    guard frame.type == 6, frame.flags == 0 else { return [] }
                    pings.change { $0 += 1 }
                    let pong = [H2Frame(type: 6, flags: 1, payload: frame.payload)].together
                    return pings.value == 3 ? pong + FrameServer.ok(1, "slow") : pong
                }, all: true, configure: { $0.pingInterval = .milliseconds(100) }
            ) { transport, server in
                let body = try await get(transport, server)
                #expect(body == "slow")
                #expect(server.server.acceptedConnections == 1)
            }
        }

        /// The next request must not wait for a connection that may be lost.
        @Test func aConnectionThatIsSilentUntilATimeoutTakesNoFurtherRequest() async throws {
            let count = Watched(0)
            try await FrameServer.with(responding: { frame in
                count.change { $0 += 1 }
                return count.value == 2 ? [] : FrameServer.ok(frame.stream)
            }) { transport, server in
                _ = try await get(transport, server)
                let failure = try await transportError {
                    try await transport.send(Request(.get, url: server.url).within(.milliseconds(150)))
                }
                #expect(failure.code == .timedOut)
                _ = try await get(transport, server)
                #expect(server.server.acceptedConnections == 2)
            }
        }

        @Test func aBodyOverTheWindowIsSentAsTheWindowGrows() async throws {
            let received = Watched(0)
            try await FrameServer.with(
                opening: [.settings([(4, 1000)]), .settingsAck],
                responding: { frame in
                    guard frame.type == 0 else { return [] }
                    received.change { $0 += frame.payload.count }
                    if frame.flags & 1 == 1 { return FrameServer.ok(frame.stream, "\(received.value)") }
                    let count = UInt32(frame.payload.count)
                    return count == 0 ? [] : [H2Frame.windowUpdate(frame.stream, by: count), .windowUpdate(0, by: count)].together
                }, all: true
            ) { transport, server in
                let response = try await transport.send(server.request(.post, body: .data(Data(repeating: 1, count: 100_000))))
                #expect(try await response.body.collect() == Data("100000".utf8))
            }
        }
    }
}
#endif
