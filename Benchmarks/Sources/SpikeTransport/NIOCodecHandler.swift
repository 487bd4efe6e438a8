internal import ErrandCore
internal import NIOCore
internal import NIOFoundationEssentialsCompat
internal import NIOHTTP1

/// Converts between the seam's messages and the parts that NIOHTTP1 reads and writes.
final class NIOCodecHandler: SpikeHandler, ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private var head: HTTPResponseHead?
    private var body: ByteBuffer?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }
    func channelInactive(context: ChannelHandlerContext) { fail() }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { fail(error) }

    override func write(_ request: Request, _ context: ChannelHandlerContext) {
        var headers = HTTPHeaders()
        headers.reserveCapacity(request.head.headerFields.count + 1)
        headers.add(name: "host", value: request.head.authority ?? "")
        for field in request.head.headerFields { headers.add(name: field.name.rawName, value: field.value) }
        let head = HTTPRequestHead(
            version: .http1_1, method: HTTPMethod(rawValue: request.method.rawValue), uri: request.head.path ?? "/", headers: headers)
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body(var part):
            if body == nil { body = part } else { body?.writeBuffer(&part) }
        case .end:
            guard let head else { return fail() }
            let data = body.map { Data(buffer: $0, byteTransferStrategy: .copy) } ?? Data()
            (self.head, body) = (nil, nil)
            finish(HTTPResponse(head), data)
        }
    }
}

extension HTTPResponse {
    fileprivate init(_ head: HTTPResponseHead) {
        var fields = HTTPFields()
        fields.reserveCapacity(head.headers.count)
        for (name, value) in head.headers {
            guard let name = HTTPField.Name(name) else { continue }
            fields.append(HTTPField(name: name, value: value))
        }
        self.init(status: Status(code: Int(head.status.code), reasonPhrase: head.status.reasonPhrase), headerFields: fields)
    }
}
