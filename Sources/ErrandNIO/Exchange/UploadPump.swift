#if NIO
internal import ErrandCore

/// Reads the body of a request, as fast as the connection writes it.
struct UploadPump: Sendable {
    /// The size of a write, in bytes: 128 KiB. If the time without progress is limited, 16 KiB, as only whole writes are seen to progress.
    static func pieceBytes(of exchange: Exchange) -> Int { exchange.limits?.idleWrite == nil ? 128 * 1024 : 16 * 1024 }

    let exchange: Exchange
    let attempt: AttemptID
    let connection: Connection
    let queue: UploadQueue

    func run() async {
        do {
            try exchange.claimBody()
            let source = try await exchange.request.body.openChecked()
            defer { source.abandon() }
            while let chunk = try await source.next() {
                var rest = chunk
                while !rest.isEmpty {
                    let piece = rest.prefix(Self.pieceBytes(of: exchange))
                    rest = rest.dropFirst(piece.count)
                    if try queue.add(piece) { tell() }
                    try await queue.window.wait()
                }
            }
            // A sequence such as `AsyncStream` also ends when its reader is cancelled: then the body is not complete.
            try Task.checkCancellation()
            if queue.finish(.complete(trailers: source.trailers)) { tell() }
        } catch {
            // This task is cancelled when the exchange ends, or when its response needs no more of the request.
            if !Task.isCancelled, queue.finish(.failed(error)) { tell() }
        }
    }

    /// More may be queued until the connection comes to it: all of that is written at once.
    private func tell() { connection.onNextTurn { [attempt, queue] in $0.writeQueued(queue, of: attempt) } }
}
#endif
