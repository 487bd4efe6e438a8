import NIOCore
import NIOHPACK
import NIOHTTP2

/// Responds to one request over HTTP/2. The path of the request names the kind of response.
final class SoakStream: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let id: HTTP2StreamID
    private let connection: SoakConnection
    private var reply: SoakPlan.Reply?
    private var bodyBytes = 0
    private var number = 0
    private var received = 0
    /// Whether the rest of the request is ignored.
    private var isOver = false

    init(_ id: HTTP2StreamID, on connection: SoakConnection) { (self.id, self.connection) = (id, connection) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isOver { return }
        switch unwrapInboundIn(data) {
        case .headers(let headers):
            if reply == nil { begin(headers.headers, context) }
            if headers.endStream, !isOver { respond(context) }
        case .data(let data):
            received += data.data.readableBytes
            if reply == .echoes { write(.data(.init(data: data.data)), context) }
            if data.endStream { respond(context) }
        default: break
        }
    }

    // The error is of this stream alone.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}

    private func begin(_ fields: HPACKHeaders, _ context: ChannelHandlerContext) {
        connection.begins(id)
        let parts = (fields.first(name: ":path") ?? "").split(separator: "/")
        guard parts.count == 3, let reply = SoakPlan.Reply(rawValue: String(parts[0])), let count = Int(parts[1]),
            let number = Int(parts[2])
        else { return reset(.protocolError, context) }
        (self.reply, bodyBytes, self.number) = (reply, count, number)
        connection.journal.count("\(reply)")
        switch reply {
        // The rest of the request is not read.
        case .silent: context.channel.setOption(.autoRead, value: false).whenComplete { _ in }
        case .refuses:
            writeHead(413, endStream: true, context)
            reset(.noError, context)
        case .refusesStream: reset(.refusedStream, context)
        case .refusesOnce where connection.journal.refuses(number): reset(.refusedStream, context)
        case .leavesBefore where connection.journal.refuses(number): isOver = connection.leave(before: id)
        case .echoes: writeHead(200, context)
        default: break
        }
    }

    private func respond(_ context: ChannelHandlerContext) {
        switch reply {
        case .echoes: writeBody(0, endStream: true, context)
        case .interim:
            write(.headers(.init(headers: [":status": "103", "link": "</a>"])), context)
            writeWhole(context)
        case .slow:
            writeHead(200, context)
            writeBody(bodyBytes / 2, endStream: false, context)
            let (rest, bound) = (bodyBytes - bodyBytes / 2, NIOLoopBound((self, context), eventLoop: context.eventLoop))
            context.eventLoop.scheduleTask(in: .milliseconds(2)) {
                let (stream, context) = bound.value
                if context.channel.isActive { stream.writeBody(rest, endStream: true, context) }
            }
        case .leaves:
            writeWhole(context)
            connection.leave()
        case .cancels: reset(.cancel, context)
        case .fails: reset(.internalError, context)
        case .resetsInBody:
            writeHead(200, context)
            writeBody(bodyBytes / 2, endStream: false, context)
            reset(.internalError, context)
        case .stalls:
            writeHead(200, context)
            writeBody(bodyBytes / 2, endStream: false, context)
        case .silent: break
        case .closes: connection.cut()
        case .resets: connection.reset()
        case .breaksOff: connection.breakOff()
        default: writeWhole(context)
        }
    }

    private func writeWhole(_ context: ChannelHandlerContext) {
        writeHead(200, context)
        writeBody(bodyBytes, endStream: true, context)
    }

    private func writeHead(_ status: Int, endStream: Bool = false, _ context: ChannelHandlerContext) {
        connection.responded(on: id)
        var fields: HPACKHeaders = [":status": "\(status)", "x-number": "\(number)"]
        // For an echo, the received bytes and the length are not known yet.
        if reply != .echoes, status == 200 {
            fields.add(name: "x-received", value: "\(received)")
            fields.add(name: "content-length", value: "\(bodyBytes)")
        }
        write(.headers(.init(headers: fields, endStream: endStream)), context)
    }

    private func writeBody(_ count: Int, endStream: Bool, _ context: ChannelHandlerContext) {
        let buffer = ByteBuffer(repeating: UInt8(truncatingIfNeeded: number), count: count)
        write(.data(.init(data: .byteBuffer(buffer), endStream: endStream)), context)
    }

    private func reset(_ code: HTTP2ErrorCode, _ context: ChannelHandlerContext) {
        isOver = true
        write(.rstStream(code), context)
    }

    private func write(_ payload: HTTP2Frame.FramePayload, _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(payload), promise: nil)
    }
}
