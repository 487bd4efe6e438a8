#if AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1

/// Tracks where an HTTP/1.1 response ends among the bytes of a connection
/// ([RFC 9112, section 6.3](https://www.rfc-editor.org/rfc/rfc9112#section-6.3)), and whether bytes follow it.
///
/// SwiftNIO's decoder doesn't report which bytes belong to a message, and keeps the rest for the next one. Therefore ``piece(of:)`` splits
/// the bytes of a read, so that a response can only end with the last byte of a piece:
///
/// - a head ends with an empty line,
/// - a body of a known length ends by count,
/// - a chunked body ends with a line feed; if a read ends with one, this octet is a piece of its own.
///
/// If a response ends before the last byte of a read, the connection can't be reused.
struct ResponseEnds {
    private enum State {
        /// No response is expected.
        case idle
        /// The number of octets of CR LF CR LF that have been received.
        case head(matched: Int)
        case body(left: Int64)
        case chunks
        /// The body ends with the connection.
        case rest
    }

    private enum Piece {
        case head(isWhole: Bool)
        case body
        case chunks(endsLine: Bool)
        case rest
    }

    private var state = State.idle
    private var piece: Piece?
    private var hasMore = false
    /// Whether bytes were received that belong to no response. The connection must not be reused then.
    private(set) var isSpent = false

    /// Whether bytes belong to a response.
    var isAwaiting: Bool { if case .idle = state { false } else { true } }

    mutating func requestBegan() { state = .head(matched: 0) }

    /// Called when the head of the final response was decoded.
    mutating func headEnded(length: Int64?, isChunked: Bool) {
        guard case .head = state else {
            isSpent = true
            return
        }
        if case .head(isWhole: true)? = piece {} else { isSpent = true }  // the decoder found the end of the head elsewhere
        state = isChunked ? .chunks : length.map { .body(left: $0) } ?? .rest
    }

    /// Called when the end of the response was decoded.
    mutating func responseEnded() {
        switch piece {
        case .head(let isWhole): if !isWhole { isSpent = true }
        case .body: if case .body(left: 0) = state {} else { isSpent = true }
        case .chunks(let endsLine): if !endsLine { isSpent = true }
        case .rest: isSpent = true
        case nil: break  // at the end of the connection
        }
        if hasMore { isSpent = true }
        state = .idle
    }

    /// Called when bytes were received that belong to no response.
    mutating func unexpected() { isSpent = true }

    /// Returns how many of the first bytes of a read the decoder gets next: at least 1, unless there are none.
    mutating func piece(of bytes: UnsafeRawBufferPointer) -> Int {
        guard let last = bytes.last else { return 0 }
        let count: Int
        switch state {
        case .idle, .rest:
            (piece, count) = (.rest, bytes.count)
        case .head(let matched):
            let (end, matchedNow) = Self.endOfHead(in: bytes, matched: matched)
            state = .head(matched: end == nil ? matchedNow : 0)
            (piece, count) = (.head(isWhole: end != nil), end ?? bytes.count)
        case .body(let left) where left > 0:
            count = Int(min(left, Int64(bytes.count)))
            state = .body(left: left - Int64(count))
            piece = .body
        case .body:  // its end should have been decoded
            isSpent = true
            (piece, count) = (.rest, bytes.count)
        case .chunks where last == UInt8(ascii: "\n") && bytes.count > 1:
            (piece, count) = (.chunks(endsLine: false), bytes.count - 1)
        case .chunks:
            (piece, count) = (.chunks(endsLine: last == UInt8(ascii: "\n")), bytes.count)
        }
        hasMore = count < bytes.count
        return count
    }

    /// Called when the decoder has received the piece.
    mutating func pieceDecoded() { (piece, hasMore) = (nil, false) }

    private static func endOfHead(in bytes: UnsafeRawBufferPointer, matched: Int) -> (end: Int?, matched: Int) {
        var (matched, index) = (matched, 0)
        while index < bytes.count {
            // Where the fourth octet from here is no part of an empty line, none begins before it.
            if matched == 0, index + 3 < bytes.count, bytes[index + 3] > UInt8(ascii: "\r") {
                index += 4
                continue
            }
            switch bytes[index] {
            case UInt8(ascii: "\r"): matched = matched == 2 ? 3 : 1
            case UInt8(ascii: "\n") where matched == 1: matched = 2
            case UInt8(ascii: "\n") where matched == 3: return (index + 1, 0)
            default: matched = 0
            }
            index += 1
        }
        return (nil, matched)
    }
}

/// The end of responses on one connection, shared by the guards before and after the decoder.
final class ResponseBoundary {
    private var ends = ResponseEnds()
    private var isSending = false

    var isSpent: Bool { ends.isSpent }

    func requestBegan() {
        isSending = true
        ends.requestBegan()
    }

    func requestEnded() { isSending = false }

    func headEnded(_ head: HTTPResponseHead) {
        guard head.status.code >= 200 || head.status == .switchingProtocols else { return }
        ends.headEnded(
            length: Self.length(head.headers),
            isChunked: head.headers.contains(name: "transfer-encoding"))
    }

    /// The declared length of a body; of several the first.
    private static func length(_ headers: HTTPHeaders) -> Int64? {
        guard let first = headers.first(name: "content-length") else { return nil }
        return Int64(first) ?? headers[canonicalForm: "content-length"].first.flatMap { Int64($0) }
    }

    func responseEnded() { ends.responseEnded() }

    /// Passes the bytes of a read to the decoder, and drops bytes that belong to no response. Returns false if the connection must be
    /// closed immediately.
    func read(_ buffer: ByteBuffer, decode: (ByteBuffer) -> Void) -> Bool {
        var rest = buffer
        while rest.readableBytes > 0 {
            guard ends.isAwaiting else {
                ends.unexpected()
                return isSending  // the end of the response waits for that of the request
            }
            let count = rest.withUnsafeReadableBytes { ends.piece(of: $0) }
            if count == rest.readableBytes {
                decode(rest)
                ends.pieceDecoded()
                return true
            }
            guard let piece = rest.readSlice(length: count) else { return false }
            decode(piece)
            ends.pieceDecoded()
        }
        return true
    }
}

/// Sits before the decoder of an HTTP/1.1 connection, and withholds bytes that belong to no response.
final class ReadGuard: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let boundary: ResponseBoundary

    init(_ boundary: ResponseBoundary) { self.boundary = boundary }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let mayStay = boundary.read(unwrapInboundIn(data)) { piece in
            // If an earlier piece closed the connection, the rest is dropped.
            if context.channel.isActive { context.fireChannelRead(wrapInboundOut(piece)) }
        }
        if !mayStay { context.closeNow() }
    }
}
#endif
