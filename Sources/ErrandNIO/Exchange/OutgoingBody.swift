#if NIO
internal import ErrandCore

/// How a request's body is sent.
struct OutgoingBody {
    /// Bytes in memory up to this count are written with the head: 16 KiB.
    static let joinedBytes = 16 * 1024

    enum Content {
        case none
        case memory(Data)
        case stream
    }

    let content: Content
    let framing: RequestEncoder.BodyFraming
    let kind: HTTP1Machine.RequestBodyKind

    init(_ request: Request) {
        let body = request.body
        if body.isEmpty {
            (content, framing, kind) = (.none, .none, .none)
            return
        }
        content = body.bufferedData.map { .memory($0) } ?? .stream
        framing = body.length.map { .length($0) } ?? .chunked
        // RFC 9110, section 10.1.1
        kind = request.headers[.expect]?.lowercased() == "100-continue" ? .afterContinue : .present
    }
}
#endif
