#if MockServer
internal import ErrandCore
internal import NIOCore
internal import NIOFoundationEssentialsCompat
internal import Synchronization

/// Writes HTTP/1.1 responses octet by octet, because a fault can break a response at any point.
final class HTTP1Wire: ExchangeWire {
    private struct State {
        var isChunked = false
        var slow: (bytes: Int, pause: Duration)?
    }

    private let channel: any Channel
    private let clock: any Clock<Duration>
    private let isLast: Bool
    private let state = Mutex(State())

    /// - Parameter isLast: whether the connection ends after this exchange. If true, the head of the response has `Connection: close`.
    init(_ channel: any Channel, clock: any Clock<Duration>, isLast: Bool) {
        (self.channel, self.clock, self.isLast) = (channel, clock, isLast)
    }

    var majorVersion: Int { 1 }

    func slowDown(bytes: Int, pause: Duration) {
        state.withLock { $0.slow = (bytes, pause) }
    }

    func inform(_ head: HTTPResponse) async throws { try await write(Self.octets(of: head, adding: [])) }

    func start(_ head: HTTPResponse, framing: WireFraming, endsHere: Bool) async throws {
        var added: [(String, String)] = []
        switch framing {
        case .length(let count) where head.headerFields[.contentLength] == nil: added.append(("Content-Length", "\(count)"))
        case .chunked where head.headerFields[.transferEncoding] == nil: added.append(("Transfer-Encoding", "chunked"))
        default: break
        }
        if isLast || framing == .untilClose, head.headerFields[.connection] == nil { added.append(("Connection", "close")) }
        state.withLock { $0.isChunked = framing == .chunked }
        try await write(Self.octets(of: head, adding: added))
    }

    func send(_ data: Data) async throws {
        guard !data.isEmpty else { return }
        guard state.withLock(\.isChunked) else { return try await write(data) }
        var chunk = Data("\(String(data.count, radix: 16))\r\n".utf8)
        chunk.append(data)
        chunk.append(contentsOf: "\r\n".utf8)
        try await write(chunk)
    }

    func sendTruncated(_ data: Data, announcedBytes: Int) async throws {
        try await write(Data("\(String(announcedBytes, radix: 16))\r\n".utf8) + data)
    }

    func end(trailers: HTTPFields?) async throws {
        guard state.withLock(\.isChunked) else { return }
        try await write(Data("0\r\n\((trailers ?? HTTPFields()).lines)\r\n".utf8))
    }

    func sendOctets(_ octets: Data) async throws { try await write(octets) }

    // HTTP/1.1 has no equivalent of GOAWAY, so the exchange closes the connection.
    func goAway(includesStream: Bool, code: UInt32) async throws {}
    func resetStream(code: UInt32) async throws {}

    private func write(_ data: Data) async throws {
        guard let slow = state.withLock(\.slow) else {
            return try await channel.writeAndFlush(ByteBuffer(data: data)).get()
        }
        var rest = data
        while !rest.isEmpty {
            try await clock.sleep(for: slow.pause.bounded)
            try await channel.writeAndFlush(ByteBuffer(data: rest.prefix(slow.bytes))).get()
            rest = rest.dropFirst(slow.bytes)
        }
    }

    private static func octets(of head: HTTPResponse, adding fields: [(String, String)]) -> Data {
        let reason = head.status.reasonPhrase
        let added = fields.map { "\($0.0): \($0.1)\r\n" }.joined()
        return Data("HTTP/1.1 \(head.status.code) \(reason)\r\n".utf8) + Data(head.headerFields.lines.utf8) + Data("\(added)\r\n".utf8)
    }
}

extension HTTPFields {
    fileprivate var lines: String { map { "\($0.name.rawName): \($0.value)\r\n" }.joined() }
}
#endif
