#if SWIFT_NIO
internal import ErrandCore

/// The source of the rest of a request's body. After a change of the protocol, this value is the source of the bytes that are
/// written to the upgraded stream.
enum UploadSource {
    case none
    case memory(Data, offset: Int)
    case pump(Task<Void, Never>, UploadQueue)
    case upgraded(UpgradedOutput)

    /// Starts to read the body of an exchange. The connection's handler gets the pieces by ``HTTPHandler/writeQueued(_:of:)``.
    static func pump(_ exchange: Exchange, _ attempt: AttemptID, on connection: Connection) -> Self {
        let queue = UploadQueue()
        let pump = UploadPump(exchange: exchange, attempt: attempt, connection: connection, queue: queue)
        return .pump(Task { await pump.run() }, queue)
    }

    /// Returns whether the upload reads from `queue`. The queue of an earlier attempt, or of a stopped upload, is a different queue.
    func reads(_ queue: UploadQueue) -> Bool { if case .pump(_, let own) = self { own === queue } else { false } }

    /// Ends the task that reads the body, and ends every wait of this task. The cancellation runs code of the body's source, which may end
    /// other exchanges.
    func stop() {
        guard case .pump(let task, let queue) = self else { return }
        task.cancel()
        queue.close()
    }
}
#endif
