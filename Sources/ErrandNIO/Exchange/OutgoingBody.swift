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

/// Reads the body of a request, and hands it to the connection as fast as that takes it.
struct UploadPump: Sendable {
    /// The size of a write, in bytes: 128 KiB. If the time without progress is limited, 16 KiB, as only whole writes are seen to progress.
    static func pieceBytes(of exchange: Exchange) -> Int { exchange.limits?.idleWrite == nil ? 128 * 1024 : 16 * 1024 }

    let exchange: Exchange
    let connection: Connection
    let window: UploadWindow

    func run() async {
        do {
            let source = try await exchange.request.body.openChecked()
            defer { source.abandon() }
            while let chunk = try await source.next() {
                var rest = chunk
                while !rest.isEmpty {
                    let piece = rest.prefix(Self.pieceBytes(of: exchange))
                    rest = rest.dropFirst(piece.count)
                    connection.onLoop { [exchange, window] in $0.upload(piece, of: exchange, window) }
                    try await window.add(piece.count)
                }
            }
            // A sequence such as `AsyncStream` also ends when its reader is cancelled: then the body is not complete.
            try Task.checkCancellation()
            let trailers = source.trailers
            connection.onLoop { [exchange] in $0.finishUpload(of: exchange, trailers: trailers) }
        } catch {
            // This task is cancelled when the exchange ends, or when its response needs no more of the request.
            if Task.isCancelled { return }
            connection.onLoop { [exchange] in $0.uploadFailed(error, of: exchange) }
        }
    }
}
#endif
