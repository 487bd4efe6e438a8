#if MockServer
internal import ErrandCore
internal import ErrandFormats
internal import NIOCore
internal import NIOFoundationEssentialsCompat
internal import NIOHPACK
internal import NIOHTTP2
internal import Synchronization

/// Writes the frames of one HTTP/2 stream.
final class HTTP2Wire: ExchangeWire {
    private let stream: any Channel
    private let connection: any Channel
    private let streamID: HTTP2StreamID
    private let clock: any Clock<Duration>
    private let slow = Mutex<(bytes: Int, pause: Duration)?>(nil)

    init(_ stream: any Channel, id: HTTP2StreamID, on connection: any Channel, clock: any Clock<Duration>) {
        self.stream = stream
        self.streamID = id
        self.connection = connection
        self.clock = clock
    }

    var majorVersion: Int { 2 }

    func slowDown(bytes: Int, pause: Duration) { slow.withLock { $0 = (bytes, pause) } }

    func inform(_ head: HTTPResponse) async throws { try await write(head, endStream: false) }

    func start(_ head: HTTPResponse, framing: WireFraming, endsHere: Bool) async throws {
        var head = head
        if case .length(let count) = framing, head.headerFields[.contentLength] == nil { head.headerFields[.contentLength] = "\(count)" }
        try await write(head, endStream: endsHere)
    }

    func send(_ data: Data) async throws {
        var rest = data
        let slow = slow.withLock { $0 }
        while !rest.isEmpty {
            if let slow { try await clock.sleep(for: slow.pause.bounded) }
            let piece = rest.prefix(slow?.bytes ?? 256 * 1024)
            rest = rest.dropFirst(piece.count)
            try await write(.data(.init(data: .byteBuffer(ByteBuffer(data: piece)))))
        }
    }

    func end(trailers: HTTPFields?) async throws {
        if let trailers, !trailers.isEmpty {
            try await write(.headers(.init(headers: HPACKHeaders(trailers), endStream: true)))
        } else {
            try await write(.data(.init(data: .byteBuffer(ByteBuffer()), endStream: true)))
        }
    }

    func sendTruncated(_ data: Data, announcedBytes: Int) async throws {
        let count = UInt32(min(announcedBytes, 16 * 1024))
        let id = UInt32(Int(streamID))
        // The header of a frame has the length, the type (DATA), the flags and the stream (RFC 9113, section 4.1).
        var frame = Data([UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF), 0, 0])
        frame.append(contentsOf: [UInt8(id >> 24 & 0xFF), UInt8(id >> 16 & 0xFF), UInt8(id >> 8 & 0xFF), UInt8(id & 0xFF)])
        try await sendOctets(frame + data.prefix(Int(count) / 2))
    }

    func sendOctets(_ octets: Data) async throws {
        let connection = connection
        try await connection.eventLoop.flatSubmit {
            do {
                let pipeline = connection.pipeline.syncOperations
                let promise = connection.eventLoop.makePromise(of: Void.self)
                let context = try pipeline.context(handlerType: OctetsHandler.self)
                try pipeline.handler(type: OctetsHandler.self).writeLast(octets, context: context, promise: promise)
                return promise.futureResult
            } catch {
                return connection.eventLoop.makeFailedFuture(error)
            }
        }.get()
    }

    func goAway(includesStream: Bool, code: UInt32) async throws {
        let last = includesStream ? streamID : HTTP2StreamID(max(0, Int(streamID) - 2))
        let payload = HTTP2Frame.FramePayload.goAway(lastStreamID: last, errorCode: HTTP2ErrorCode(networkCode: Int(code)), opaqueData: nil)
        try await connection.writeAndFlush(HTTP2Frame(streamID: .rootStream, payload: payload)).get()
    }

    func resetStream(code: UInt32) async throws { try await write(.rstStream(HTTP2ErrorCode(networkCode: Int(code)))) }

    private func write(_ head: HTTPResponse, endStream: Bool) async throws {
        var fields = HPACKHeaders([(":status", "\(head.status.code)")])
        fields.add(contentsOf: HPACKHeaders(head.headerFields))
        try await write(.headers(.init(headers: fields, endStream: endStream)))
    }

    private func write(_ payload: HTTP2Frame.FramePayload) async throws { try await stream.writeAndFlush(payload).get() }
}

/// A handler between HTTP/2 and the socket. After octets that are not frames, the handler discards all further frames.
final class OctetsHandler: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var isMute = false

    func writeLast(_ octets: Data, context: ChannelHandlerContext, promise: EventLoopPromise<Void>) {
        isMute = true
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(data: octets)), promise: promise)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if isMute { promise?.succeed() } else { context.write(data, promise: promise) }
    }
}

extension HPACKHeaders {
    /// Creates a copy of the fields that leaves out the connection-specific fields of HTTP/1.1
    /// ([RFC 9113, section 8.2.2](https://www.rfc-editor.org/rfc/rfc9113#section-8.2.2)).
    fileprivate init(_ fields: HTTPFields) {
        let excluded: Set<String> = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]  // octets: ASCII
        self.init(
            fields.compactMap { field in
                excluded.contains(field.name.canonicalName) ? nil : (field.name.canonicalName, field.value)
            })
    }
}
#endif
