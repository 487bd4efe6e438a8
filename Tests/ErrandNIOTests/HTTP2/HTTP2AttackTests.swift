#if NIO && MockServer
import ErrandCore
import ErrandNIO
import ErrandTesting
import Foundation
import NIOHPACK
import TestSupport
import Testing

extension NIOTransportTests {
    /// Servers with bad intentions, and what their neighbors notice.
    @Suite(.timeLimit(.minutes(5))) struct HTTP2AttackTests {
        private func get(_ transport: NIOTransport, _ server: FrameServer) async throws -> String {
            let response = try await transport.send(server.request())
            return String(decoding: try await response.body.collect(), as: UTF8.self)
        }

        private static func literal(_ name: [UInt8], _ value: [UInt8]) -> [UInt8] {
            [0, UInt8(name.count)] + name + [UInt8(value.count)] + value
        }

        /// 103, the head with a field, two pieces with a ping between, trailers.
        private static let conversation: [UInt8] = [
            H2Frame.headers(1, H2Frame.status("103")),
            .headers(1, [0x88] + literal(Array("x-a".utf8), Array("one".utf8))), .data(1, Array("hel".utf8), ends: false), .ping,
            .settings([(3, 50)]), .windowUpdate(0, by: 5), .data(1, Array("lo".utf8), ends: false),
            .headers(1, literal(Array("x-t".utf8), Array("end".utf8)), ends: true),
        ].flatMap(\.bytes)

        private func whole(_ transport: NIOTransport, _ server: FrameServer) async throws -> String {
            let response = try await transport.send(server.request())
            let body = String(decoding: try await response.body.collect(), as: UTF8.self)
            return "\(response.status.code) \(response.headers[.init("x-a")!] ?? "-") \(body)"
        }

        @Test func aConversationIsReadTheSameAtEverySplit() async throws {
            let bytes = Self.conversation
            let turn = Watched(0)
            for split in 0...bytes.count {
                turn.change { $0 = split }
                try await FrameServer.with(answering: { _ in
                    if split == 0 { return bytes.map { .write([$0]) } }
                    return [.write(Array(bytes[..<split])), .pause(milliseconds: 1), .write(Array(bytes[split...]))]
                }) { transport, server in
                    let text = try await whole(transport, server)
                    #expect(text == "200 one hello", "split \(split)")
                }
            }
        }

        enum Break: String, Sendable, CaseIterable { case stall, close, shutDown, cancel }

        @Test(arguments: Break.allCases) func aServerThatStopsAtEveryByteIsLeft(mode: Break) async throws {
            let bytes = Self.conversation
            var slowest = Duration.zero
            for count in 0..<bytes.count {
                try await FrameServer.with(answering: { _ in
                    [.write(Array(bytes[..<count]))] + (mode == .close ? [.close] : [])
                }) { transport, server in
                    let start = ContinuousClock.now
                    let request = try Request(.get, url: server.url).within(.milliseconds(mode == .stall ? 120 : 5000))
                    let task = Task { try await transport.send(request).body.collect() }
                    if mode == .shutDown || mode == .cancel {
                        try await server.frames.wait("the request") { $0.contains { $0.type == 1 } }
                        try await Task.sleep(for: .milliseconds(8))
                        if mode == .cancel { task.cancel() } else { try await transport.shutdown() }
                    }
                    let result = await task.result
                    slowest = max(slowest, ContinuousClock.now - start)
                    switch result {
                    case .success: Issue.record("\(mode) at \(count): success")
                    case .failure(let error as TransportError):
                        let expected: [TransportError.Code] =
                            switch mode {
                            case .stall: [.timedOut]
                            case .close: [.connectionLost, .tls]
                            case .shutDown: [.shutDown]
                            case .cancel: []
                            }
                        #expect(expected.contains(error.code), "\(mode) at \(count): \(error)")
                    case .failure(let error): #expect(mode == .cancel && error is CancellationError, "\(mode) at \(count): \(error)")
                    }
                    if mode == .shutDown || mode == .close { try await server.noConnectionIsOpen() }
                }
            }
            print("RT3 \(mode) slowest \(slowest)")
            #expect(slowest < .seconds(2))
        }

        @Test func aThousandCancelsLeaveNoStreamBehind() async throws {
            let answers = Watched(false)
            try await FrameServer.with(answering: { frame in
                guard answers.value else { return [] }
                return FrameServer.ok(frame.stream, "late")
            }, configure: { $0.maxConnectionsPerOrigin = 1 }) { transport, server in
                let neighbor = Task { try await transport.send(server.request()).body.collect() }
                try await server.frames.wait("the request") { $0.contains { $0.type == 1 } }
                for round in 0..<1000 {
                    let task = Task { try await transport.send(server.request()).body.collect() }
                    if round % 3 == 0 { await Task.yield() }
                    if round % 3 == 1 { try await Task.sleep(for: .microseconds(300)) }
                    task.cancel()
                    let result = await task.result
                    #expect(throws: CancellationError.self) { try result.get() }
                }
                answers.change { $0 = true }
                try await withThrowingTaskGroup(of: String.self) { group in
                    for _ in 0..<99 { group.addTask { try await get(transport, server) } }
                    for try await body in group { #expect(body == "late") }
                }
                #expect(server.server.acceptedConnections == 1)
                neighbor.cancel()
                _ = await neighbor.result
                print("RT3 cancels: HEADERS \(server.frames.value.filter { $0.type == 1 }.count) RST \(server.codes(of: 3).count)")
            }
        }

        private static func residentBytes() -> Int {
            let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
            return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
        }

        /// Frames of one byte, which nobody reads: up to the window of a stream.
        @Test(arguments: [125_000, 250_000, 500_000, 1_000_000]) func piecesOfOneByteTakeLittleMemory(count: Int) async throws {
            let frame = H2Frame.data(1, [1], ends: false).bytes
            try await FrameServer.with(answering: { _ in
                [.write(H2Frame.headers(1).bytes + Array(repeating: frame, count: count).flatMap { $0 })] + H2Frame.ping.bytes.isEmptyActions
            }) { transport, server in
                let before = Self.residentBytes()
                let start = ContinuousClock.now
                let response = try await transport.send(Request(.get, url: server.url).within(.seconds(60)))
                try await server.frames.wait("the pong", upTo: .seconds(60)) { $0.contains { $0.type == 6 && $0.flags == 1 } }
                let time = ContinuousClock.now - start
                let grown = Self.residentBytes() - before
                print("RT3 one-byte frames \(count): \(time), resident +\(grown / 1024) KiB, \(grown / count) bytes for each")
                #expect(time < .seconds(30))
                _ = response
            }
        }

        @Test func limitsThatGoUpAndDownEveryFrameLoseNoResponse() async throws {
            try await FrameServer.with(answering: { frame in
                let flips = [
                    H2Frame.settings([(3, 0), (4, 0), (1, 0)]), .settings([(3, 5), (4, 0x7FFF_FFFF), (1, 4096), (5, 16_384)]),
                    .settings([(3, 1), (4, 65_535)]), .settings([(3, 0x7FFF_FFFF)]),
                ]
                return flips.apart + FrameServer.ok(frame.stream, "ok")
            }, configure: { $0.maxConnectionsPerOrigin = 1 }) { transport, server in
                try await withThrowingTaskGroup(of: String.self) { group in
                    for _ in 0..<10 {
                        group.addTask {
                            for _ in 0..<30 { _ = try await get(transport, server) }
                            return "ok"
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(server.server.acceptedConnections == 1)
            }
        }

        @Test func noStreamsForEverEndsAtTheDeadline() async throws {
            try await FrameServer.with(opening: [.maxStreams(0), .settingsAck]) { transport, server in
                let start = ContinuousClock.now
                var texts: Set<String> = []
                for _ in 0..<5 {
                    do {
                        _ = try await transport.send(Request(.get, url: server.url).within(.milliseconds(300))).body.collect()
                        texts.insert("success")
                    } catch { texts.insert("\(error)") }
                }
                print("RT3 no streams: \(texts) connections \(server.server.acceptedConnections)")
                #expect(ContinuousClock.now - start < .seconds(4))
            }
        }

        @Test func aWindowOfZeroForEverEndsAtTheDeadlineAndNotTheNeighbors() async throws {
            try await FrameServer.with(
                opening: [.settings([(3, 100), (4, 0)]), .settingsAck],
                answering: { $0.flags & 1 == 1 ? FrameServer.ok($0.stream, "get") : [] }
            ) { transport, server in
                _ = try await get(transport, server)
                let failure = try await transportError {
                    try await transport.send(Request(.post, url: server.url, body: .data(Data(count: 100_000))).within(.milliseconds(300)))
                }
                #expect(failure.code == .timedOut, "\(failure)")
                let body = try await get(transport, server)
                #expect(body == "get")
                print("RT3 zero window: connections \(server.server.acceptedConnections), RST \(server.codes(of: 3))")
            }
        }

        @Test func aNegativeWindowDelaysAnUpload() async throws {
            let received = Watched(0)
            try await FrameServer.with(
                answering: { frame in
                    if frame.type == 1 { return [] }
                    guard frame.type == 0 else { return [] }
                    let before = received.value
                    received.change { $0 += frame.payload.count }
                    if frame.flags & 1 == 1 { return FrameServer.ok(frame.stream, "\(received.value)") }
                    if before == 0 {
                        return [H2Frame.settings([(4, 0)])].together + [.pause(milliseconds: 20)]
                            + [H2Frame.windowUpdate(frame.stream, by: 40_000), .windowUpdate(0, by: 1_000_000), .settings([(4, 10)])].apart
                            + [.pause(milliseconds: 20)] + [H2Frame.windowUpdate(frame.stream, by: 0x7000_0000)].together
                    }
                    return []
                }, all: true
            ) { transport, server in
                let response = try await transport.send(server.request(.post, body: .data(Data(repeating: 1, count: 100_000))))
                let body = String(decoding: try await response.body.collect(), as: UTF8.self)
                #expect(body == "100000")
            }
        }

        @Test func tenThousandInterimResponsesCostTheirStreamAlone() async throws {
            try await FrameServer.with(answering: { frame in
                guard frame.stream == 1 else { return FrameServer.ok(frame.stream, "next") }
                return (Array(repeating: H2Frame.headers(1, H2Frame.status("103")), count: 10_000) + [.headers(1, ends: true)]).together
            }) { transport, server in
                let failure = try await transportError { _ = try await transport.send(server.request()).body.collect() }
                #expect(failure.code == .invalidResponse, "\(failure)")
                let body = try await get(transport, server)
                #expect(body == "next" && server.server.acceptedConnections == 1)
            }
        }

        private static let smuggling: [([UInt8], [UInt8])] = [
            (Array("x".utf8), Array("a\r\nb: c".utf8)), (Array("x".utf8), Array("a\nb".utf8)), (Array("x".utf8), Array("a\rb".utf8)),
            (Array("x".utf8), [97, 0, 98]), (Array("x".utf8), Array(" a".utf8)), (Array("x".utf8), Array("a\t".utf8)),
            (Array("x y".utf8), [97]), (Array("x:y".utf8), [97]), (Array("X".utf8), [97]), ([], [97]), (Array("x\r\ny".utf8), [97]),
            ([120, 0], [97]), ([0xFF], [97]), ([0xC3, 0xA9], [97]), (Array(":status".utf8), Array("200".utf8)), (Array(":path".utf8), [97]),
            (Array("connection".utf8), Array("close".utf8)), (Array("transfer-encoding".utf8), Array("chunked".utf8)),
            (Array("keep-alive".utf8), [97]), (Array("proxy-connection".utf8), [97]), (Array("upgrade".utf8), Array("h2c".utf8)),
            (Array("content-length".utf8), Array("+1".utf8)), (Array("content-length".utf8), Array("1, 2".utf8)),
            (Array("content-length".utf8), Array("-1".utf8)), (Array("content-length".utf8), Array("99999999999999999999".utf8)),
            (Array("content-length".utf8), []), (Array("x".utf8), [97, 0x7F]), (Array("x".utf8), [97, 0x1B, 98]),
        ]

        @Test(arguments: [false, true]) func fieldsThatHTTP1CouldNotCarryAreRefused(inTrailers: Bool) async throws {
            for (index, (name, value)) in Self.smuggling.enumerated() {
                try await FrameServer.with(answering: { frame in
                    guard frame.stream == 1 else { return FrameServer.ok(frame.stream, "next") }
                    let field = Self.literal(name, value)
                    if inTrailers { return [H2Frame.headers(1), .data(1, [1], ends: false), .headers(1, field, ends: true)].together }
                    return [H2Frame.headers(1, [0x88] + field, ends: false), .data(1, [1])].together
                }) { transport, server in
                    do {
                        let response = try await transport.send(server.request())
                        _ = try await response.body.collect()
                        print("RT3 field \(index) trailers \(inTrailers) ACCEPTED \(String(decoding: name, as: UTF8.self).debugDescription): \(String(decoding: value, as: UTF8.self).debugDescription)")
                    } catch let error as TransportError {
                        #expect(error.code == .invalidResponse, "\(error)")
                        #expect(!"\(error)".utf8.contains { $0 < 32 }, "\(error)")
                    }
                    let body = (try? await get(transport, server)) ?? "lost"
                    let isKept = body == "next" && server.server.acceptedConnections == 1
                    if !isKept { print("RT3 field \(index) trailers \(inTrailers) costs the connection: \(body) \(server.codes(of: 7))") }
                }
            }
        }

        @Test func hostileRequestsDoNotReachTheServerChanged() async throws {
            try await FrameServer.with { transport, server in
                typealias Change = @Sendable (inout Request) -> Void
                let changes: [(String, Change)] = [
                    ("space", { $0.head.path = "/a b" }), ("crlf", { $0.head.path = "/a\r\nX: y" }), ("nul", { $0.head.path = "/a\0" }),
                    ("fragment", { $0.head.path = "/a#f" }), ("no slash", { $0.head.path = "a" }), ("url", { $0.head.path = "http://b/" }),
                    ("star", { $0.head.path = "*" }), ("empty", { $0.head.path = "" }), ("nil", { $0.head.path = nil }),
                    ("CONNECT", { $0.head.method = .connect }), ("PRI", { $0.head.method = .init("PRI")! }),
                    ("TRACE", { $0.head.method = .trace }), ("userinfo", { $0.head.authority = "joe@\($0.head.authority!)" }),
                    ("authority crlf", { $0.head.authority = "\($0.head.authority!)\r\nx: y" }),
                    ("scheme", { $0.head.scheme = "gopher" }), ("scheme crlf", { $0.head.scheme = "https\r\n" }),
                    ("scheme nil", { $0.head.scheme = nil }),
                    ("host crlf", { $0.headers[.init("Host")!] = "a\r\nb" }), ("host userinfo", { $0.headers[.init("Host")!] = "joe@b" }),
                    ("host empty", { $0.headers[.init("Host")!] = "" }), ("te", { $0.headers[.te] = "gzip, trailers" }),
                    ("connection", { $0.headers[.connection] = "x-a, close"; $0.headers[.init("x-a")!] = "1" }),
                    ("te-encoding", { $0.headers[.transferEncoding] = "chunked" }), ("length", { $0.headers[.contentLength] = "100" }),
                    ("huge", { $0.headers[.init("x-h")!] = String(repeating: "a", count: 1_000_000) }),
                    ("many", { for i in 0..<5000 { $0.headers[.init("x-\(i)")!] = "1" } }),
                    ("upper", { $0.headers[.init("X-UPPER")!] = "1" }),
                ]
                for (name, change) in changes {
                    let before = server.frames.value.count
                    var request = try Request(.get, url: server.url).within(.seconds(3))
                    change(&request)
                    var outcome = "sent"
                    do { _ = try await transport.send(request).body.collect() } catch { outcome = String("\(error)".prefix(160)) }
                    let frames = server.frames.value.dropFirst(before).filter { $0.type == 1 || $0.type == 9 }
                    let first = frames.first.map { "HEADERS \($0.payload.count)" } ?? "nothing"
                    print("RT3 request \(name): \(outcome) | \(first) +\(frames.count) frames | connections \(server.server.acceptedConnections)")
                }
                let body = try await transport.send(server.request()).status
                #expect(body == .ok)
            }
        }

        @Test func aReaderThatNeverReadsDoesNotStopFiveHundredNeighbors() async throws {
            let piece = Array(repeating: UInt8(1), count: 16_000)
            try await FrameServer.with(opening: [.settings([(3, 1000)]), .settingsAck], answering: { frame in
                let count = frame.stream == 1 ? 60 : 4
                return ([H2Frame.headers(frame.stream)] + (0..<count).map { H2Frame.data(frame.stream, piece, ends: $0 == count - 1 && frame.stream > 1) })
                    .together
            }, configure: { $0.maxConnectionsPerOrigin = 1 }) { transport, server in
                let stuck = try await transport.send(server.request())
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<500 { group.addTask { try await transport.send(server.request()).body.collect().count } }
                    for try await count in group { #expect(count == 64_000) }
                }
                #expect(server.server.acceptedConnections == 1)
                _ = stuck
            }
        }

        /// The body of each response is that of its request, whatever the order.
        @Test func streamsThatEndInEveryOrderKeepTheirResponses() async throws {
            let waiting = Watched<[UInt32: [UInt8]]>([:])
            try await FrameServer.with(answering: { frame in
                guard frame.type == 0, !frame.payload.isEmpty else { return [] }
                waiting.change { $0[frame.stream] = frame.payload }
                guard waiting.value.count == 50 else { return [] }
                let all = waiting.value
                waiting.change { $0 = [:] }
                let frames = all.keys.shuffled().map { H2Frame.headers($0) }
                let firsts = all.shuffled().map { H2Frame.data($0.key, Array($0.value.prefix(3)), ends: false) }
                let rests = all.shuffled().map { H2Frame.data($0.key, Array($0.value.dropFirst(3))) }
                return [.write((frames + firsts + rests).flatMap(\.bytes))]
            }, all: true, configure: { $0.maxConnectionsPerOrigin = 1 }) { transport, server in
                for round in 0..<20 {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for number in 0..<50 {
                            group.addTask {
                                let text = "request \(round) \(number)"
                                let response = try await transport.send(server.request(.post, body: .text(text)))
                                let body = String(decoding: try await response.body.collect(), as: UTF8.self)
                                #expect(body == text)
                            }
                        }
                        try await group.waitForAll()
                    }
                }
                #expect(server.server.acceptedConnections == 1)
            }
        }

        /// The head of a request that is longer than a frame goes on in CONTINUATION (RFC 9113, 6.10), or is refused, and costs no neighbor.
        @Test(
            .disabled("NIOHTTP2 ends the connection (UnableToSerializeFrame) for a head of more than 16 KiB as it is compressed"),
            arguments: [12_000, 20_000, 100_000])
        func aLongHeadCostsNoNeighbor(count: Int) async throws {
            try await FrameServer.with(answering: { frame in
                switch frame.stream {
                case 1: []
                case 3: FrameServer.ok(3, "long")
                default: FrameServer.ok(1, "neighbor") + FrameServer.ok(frame.stream, "after")
                }
            }, configure: { $0.maxConnectionsPerOrigin = 1 }) { transport, server in
                let neighbor = Task { try await get(transport, server) }
                try await server.frames.wait("the request") { $0.contains { $0.type == 1 } }
                var request = try server.request()
                // Text that the code of Huffman makes longer: 12,000 bytes become 18,750.
                request.headers[.init("x-long")!] = String(repeating: "X{}~", count: count / 4)
                _ = try? await transport.send(request).body.collect()
                _ = try? await transport.send(Request(.get, url: server.url).within(.seconds(1))).body.collect()
                let body = try await neighbor.value
                #expect(body == "neighbor" && server.server.acceptedConnections == 1)
            }
        }

        @Test func noStreamsForEverWithTwoConnections() async throws {
            try await FrameServer.with(opening: [.maxStreams(0), .settingsAck], configure: { $0.maxConnectionsPerOrigin = 2 }) { transport, server in
                var texts: [String] = []
                for _ in 0..<8 {
                    do {
                        _ = try await transport.send(Request(.get, url: server.url).within(.milliseconds(300))).body.collect()
                        texts.append("success")
                    } catch { texts.append("\(error)") }
                }
                print("RT3 no streams, two connections: \(texts) connections \(server.server.acceptedConnections)")
            }
        }

        @Test func aWrongPongIsASignOfLife() async throws {
            try await FrameServer.with(
                answering: { $0.type == 6 && $0.flags == 0 ? [H2Frame(type: 6, flags: 1, payload: [9, 9, 9, 9, 9, 9, 9, 9])].together : [] },
                all: true, configure: { $0.pingInterval = .milliseconds(100) }
            ) { transport, server in
                let start = ContinuousClock.now
                do {
                    _ = try await transport.send(Request(.get, url: server.url).within(.seconds(2)))
                } catch { print("RT3 wrong pong: \(error) after \(ContinuousClock.now - start)") }
            }
        }
    }
}

extension [UInt8] {
    fileprivate var isEmptyActions: [ByteAction] { [.write(self)] }
}
#endif
