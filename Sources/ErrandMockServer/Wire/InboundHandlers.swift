#if MockServer
internal import ErrandCore
internal import ErrandFormats
internal import NIOCore
internal import NIOFoundationEssentialsCompat
internal import NIOHPACK
internal import NIOHTTP1
internal import NIOHTTP2

/// Passes the received parts of a connection or a stream to an ``Inbound``, and reads only while the ``Inbound`` has room.
///
/// The handler must be the last of its pipeline, so that it intercepts every automatic read.
final class InboundHandler<Incoming: Sendable>: ChannelDuplexHandler {
    typealias InboundIn = Incoming
    typealias OutboundIn = Never

    private let inbound: Inbound
    private let convert: (Incoming) throws -> [RequestPart]
    private var failure: (any Error)?

    init(_ inbound: Inbound, convert: @escaping (Incoming) throws -> [RequestPart]) { (self.inbound, self.convert) = (inbound, convert) }

    func handlerAdded(context: ChannelHandlerContext) {
        let (bound, eventLoop) = (NIOLoopBound(context, eventLoop: context.eventLoop), context.eventLoop)
        inbound.attach { eventLoop.execute { bound.value.read() } }
    }

    func handlerRemoved(context: ChannelHandlerContext) { inbound.finish(failure) }

    func read(context: ChannelHandlerContext) {
        if inbound.allowsRead() { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        do {
            for part in try convert(unwrapInboundIn(data)) { inbound.receive(part) }
        } catch {
            errorCaught(context: context, error: error)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        inbound.finish(failure)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        failure = failure ?? error
        inbound.finish(error)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let closed = event as? StreamClosedEvent, closed.reason != nil {
            inbound.finish(BrokenRequestError("the client reset the stream"))
        }
        context.fireUserInboundEventTriggered(event)
    }
}

extension RequestPart {
    /// Converts a part of an HTTP/1.1 request.
    static func parts(of part: HTTPServerRequestPart, scheme: String) throws -> [RequestPart] {
        switch part {
        case .head(let head):
            guard let method = HTTPRequest.Method(head.method.rawValue) else {
                throw BrokenRequestError("the request method is missing or invalid")
            }
            var request = HTTPRequest(method: method, scheme: scheme, authority: head.headers.first(name: "host"), path: head.uri)
            for (name, value) in head.headers {
                guard let name = HTTPField.Name(name), !name.canonicalName.isExactly("host") else { continue }
                request.headerFields.append(HTTPField(name: name, value: value))
            }
            guard let version = ErrandCore.HTTPVersion(rawValue: "\(head.version)") else {
                throw BrokenRequestError("the HTTP version is invalid")
            }
            return [.head(request, version: version)]
        case .body(let buffer): return [.body(Data(buffer: buffer))]
        case .end(let trailers): return [.end(trailers: trailers.map { HTTPFields(pairs: $0.map { ($0.name, $0.value) }) })]
        }
    }

    /// Converts a frame of an HTTP/2 stream. The head of the request sets `isFirst` to false.
    static func parts(of payload: HTTP2Frame.FramePayload, isFirst: inout Bool) throws -> [RequestPart] {
        switch payload {
        case .headers(let frame):
            guard isFirst else { return [.end(trailers: HTTPFields(pairs: frame.headers.map { ($0.name, $0.value) }))] }
            isFirst = false
            guard let method = frame.headers.first(name: ":method").flatMap({ HTTPRequest.Method($0) }) else {
                throw BrokenRequestError("the request method is missing or invalid")
            }
            let fields = frame.headers
            let request = HTTPRequest(
                method: method, scheme: fields.first(name: ":scheme"),
                authority: fields.first(name: ":authority") ?? fields.first(name: "host"),
                path: fields.first(name: ":path"), headerFields: HTTPFields(pairs: fields.map { ($0.name, $0.value) }, without: "host"))
            return [.head(request, version: .http2)] + (frame.endStream ? [.end(trailers: nil)] : [])
        case .data(let frame):
            guard case .byteBuffer(let buffer) = frame.data else { return [] }
            let body: [RequestPart] = buffer.readableBytes > 0 ? [.body(Data(buffer: buffer))] : []
            return body + (frame.endStream ? [.end(trailers: nil)] : [])
        default: return []
        }
    }
}

extension HTTPFields {
    /// Creates fields from pairs. Pseudo-header fields and fields with an invalid name are left out.
    fileprivate init(pairs: [(String, String)], without excluded: String? = nil) {
        self.init()
        for (name, value) in pairs where excluded.map({ name.isExactly($0) }) != true {
            guard let name = HTTPField.Name(name) else { continue }
            append(HTTPField(name: name, value: value))
        }
    }
}
#endif
