#if AsyncHTTPClient
internal import ErrandCore
internal import NIOCore
internal import NIOHTTP1

/// Gives the decompressor a `Content-Encoding` that it handles correctly, and restores the original one for the client.
///
/// The decompressor of NIOHTTPCompression has three defects: it decodes the first of several codings as if it were the last one applied, it
/// doesn't know `x-gzip`, and it misses the end of an empty body.
final class CodingGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private static let name = "content-encoding"
    private var isHead = false
    private var original: [String] = []

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .head(let head) = unwrapOutboundIn(data) { isHead = head.method == .HEAD }
        context.write(data, promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data), head.headers.contains(name: Self.name) else {
            return context.fireChannelRead(data)
        }
        original = head.headers[Self.name]
        head.headers.remove(name: Self.name)
        let coding = ContentCoding.decoded(
            original, status: Int(head.status.code), contentLength: head.headers.first(name: "content-length"), answersHead: isHead)
        if let coding { head.headers.add(name: Self.name, value: coding) }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    /// Returns the head as it was sent; `nil` if `head` is unchanged.
    func restored(_ head: HTTPResponseHead) -> HTTPResponseHead? {
        guard !original.isEmpty else { return nil }
        var head = head
        head.headers.remove(name: Self.name)
        for value in original { head.headers.add(name: Self.name, value: value) }
        original = []
        return head
    }
}

enum ContentCoding {
    /// Returns the coding that this transport decodes in a response: `gzip` or `deflate`. Returns `nil` for other codings, for several
    /// codings, and for a response without a body or with an empty body, because the decompressor would miss its end.
    ///
    /// Names are case-insensitive, and `x-gzip` is `gzip`
    /// ([RFC 9110, section 8.4.1](https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1)).
    ///
    /// - Parameters:
    ///   - values: the values of the field `Content-Encoding`.
    ///   - status: the status code of the response.
    ///   - contentLength: the first value of the field `Content-Length`.
    ///   - answersHead: whether the method of the request was HEAD.
    static func decoded(_ values: [String], status: Int, contentLength: String?, answersHead: Bool) -> String? {
        guard !answersHead, status >= 200, status != 204, status != 304, contentLength != "0",  // RFC 9112, section 6.3
            values.count == 1, let value = values.first
        else { return nil }
        switch value.lowercased() {
        case "gzip", "x-gzip": return "gzip"
        case "deflate": return "deflate"
        default: return nil
        }
    }
}
#endif
