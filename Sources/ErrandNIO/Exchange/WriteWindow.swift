#if SWIFT_NIO
internal import ErrandCore
internal import Synchronization

/// A limit on the number of unsent bytes of a connection. While the number exceeds the limit, tasks wait: tasks that read the body of a
/// request, and tasks that write to an upgraded connection.
final class WriteWindow: Sendable {
    /// The number of unsent bytes above which a task must wait: 256 KiB. The last write before the wait may exceed this number.
    static let limitBytes = 256 * 1024

    private struct Waiter: Sendable {
        let ticket: QueueTicket
        let limitBytes: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State: Sendable {
        var bytes = 0
        /// The reason why the window is closed; `nil` while the window is open.
        var failure: (any Error)?
        var waiters: [Waiter] = []
    }

    private let state = Mutex(State())

    /// Adds the number of bytes that are about to be written.
    ///
    /// - Throws: the error with which the window was closed.
    func count(_ count: Int) throws {
        try state.withLock { state in
            if let failure = state.failure { throw failure }
            state.bytes += count
        }
    }

    /// Waits until at most `limitBytes` bytes are unsent.
    ///
    /// - Throws: the error with which the window was closed; `CancellationError` if the task is cancelled.
    func wait(upTo limitBytes: Int = WriteWindow.limitBytes) async throws {
        if state.withLock({ $0.bytes <= limitBytes }) { return }
        try await waitInQueue { ticket, continuation in
            state.withLock { state -> Result<Void, any Error>? in
                if state.bytes <= limitBytes { return .success(()) }
                if let failure = state.failure { return .failure(failure) }
                if ticket.isCancelled { return .failure(CancellationError()) }
                state.waiters.append(Waiter(ticket: ticket, limitBytes: limitBytes, continuation: continuation))
                return nil
            }
        } leave: { ticket in
            self.state.withLock { state in
                ticket.isCancelled = true
                return state.waiters.firstIndex { $0.ticket === ticket }.map { state.waiters.remove(at: $0).continuation }
            }
        }
    }

    /// Subtracts the number of bytes that were sent.
    func remove(_ count: Int) {
        let woken = state.withLock { state -> [Waiter] in
            state.bytes -= count
            guard !state.waiters.isEmpty else { return [] }
            let bytes = state.bytes
            defer { state.waiters.removeAll { bytes <= $0.limitBytes } }
            return state.waiters.filter { bytes <= $0.limitBytes }
        }
        for waiter in woken { waiter.continuation.resume() }
    }

    /// Ends every wait, and refuses further bytes.
    func close(because failure: any Error = CancellationError()) {
        let waiters = state.withLock { state in
            if state.failure == nil { state.failure = failure }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.continuation.resume(throwing: failure) }
    }
}
#endif
