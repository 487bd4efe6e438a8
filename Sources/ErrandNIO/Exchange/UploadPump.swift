#if SWIFT_NIO
internal import ErrandCore

/// The task that reads the body of a request, as fast as the connection writes the body.
struct UploadPump: Sendable {
    /// The maximum size of a write, in bytes: 128 KiB. If the time without progress is limited, the maximum is 16 KiB, because only whole
    /// writes count as progress.
    static func pieceBytes(of exchange: Exchange) -> Int { exchange.limits?.idleWrite == nil ? 128 * 1024 : 16 * 1024 }

    let exchange: Exchange
    let attempt: AttemptID
    let connection: Connection
    let queue: UploadQueue

    func run() async {
        do {
            try exchange.claimBody()
            let trailers = try await exchange.request.body.pump { chunk in
                var rest = chunk
                while !rest.isEmpty {
                    let piece = rest.prefix(Self.pieceBytes(of: exchange))
                    rest = rest.dropFirst(piece.count)
                    if try queue.add(piece) { notify() }
                    try await queue.window.wait()
                }
            }
            if queue.finish(.complete(trailers: trailers)) { notify() }
        } catch {
            // This task is cancelled when the exchange ends, or when the rest of the request is no longer needed.
            if !Task.isCancelled, queue.finish(.failed(error)) { notify() }
        }
    }

    /// Notifies the connection in a later turn of its event loop. In that turn, the connection writes all queued pieces.
    private func notify() { connection.onNextTurn { [attempt, queue] in $0.writeQueued(queue, of: attempt) } }
}
#endif
