#if NIO
internal import ErrandCore

/// The rest of a request's body; after a change of the protocol, what is written then.
enum UploadSource {
    case none
    case memory(Data, offset: Int)
    case pump(Task<Void, Never>, UploadQueue)
    case upgraded(UpgradedOutput)

    /// Begins to read the body of an exchange, in pieces that the connection's handler gets by
    /// ``ExchangeHandler/writeQueued(_:of:)``.
    static func pump(_ exchange: Exchange, _ attempt: AttemptID, on connection: Connection) -> Self {
        let queue = UploadQueue()
        let pump = UploadPump(exchange: exchange, attempt: attempt, connection: connection, queue: queue)
        return .pump(Task { await pump.run() }, queue)
    }

    /// Whether `queue` is the one that is read now. That of an earlier attempt, or of an upload that was stopped, is not.
    func reads(_ queue: UploadQueue) -> Bool { if case .pump(_, let own) = self { own === queue } else { false } }

    /// Ends the task that reads the body, and its waits. Cancelling runs code of the body's source, which may end other exchanges.
    func stop() {
        guard case .pump(let task, let queue) = self else { return }
        task.cancel()
        queue.close()
    }
}
#endif
