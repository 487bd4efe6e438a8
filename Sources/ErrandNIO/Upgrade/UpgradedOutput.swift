#if SWIFT_NIO
internal import ErrandCore
internal import Synchronization

/// The queued writes of an upgraded connection, in the order of the calls. The value has no tasks and no channels.
struct UpgradedWrites: Sendable {
    private var chunks: [Data] = []
    private var isScheduled = false
    private var ends = false
    /// The reason why no bytes can be added; `nil` if bytes can be added.
    private(set) var failure: (any Error)?

    /// Adds bytes to write.
    ///
    /// - Returns: whether the connection must be notified to call ``take()``; false if the connection was already notified.
    /// - Throws: ``failure``.
    mutating func append(_ chunk: Data) throws -> Bool {
        if let failure { throw failure }
        chunks.append(chunk)
        return schedule()
    }

    /// Marks the output as ended.
    ///
    /// - Parameter failure: the error for bytes that are added later.
    /// - Returns: whether the connection must be notified to call ``take()``; false if the connection was already notified.
    mutating func appendEnd(_ failure: any Error) throws -> Bool {
        if let failure = self.failure { throw failure }
        self.failure = failure
        ends = true
        return schedule()
    }

    private mutating func schedule() -> Bool {
        defer { isScheduled = true }
        return !isScheduled
    }

    /// Returns the bytes added since the last call, and whether the end of writing follows these bytes.
    mutating func take() -> (chunks: [Data], ends: Bool) {
        defer { (chunks, ends, isScheduled) = ([], false, false) }
        return (chunks, ends)
    }

    /// Drops the remaining bytes, and refuses further bytes.
    mutating func close(_ failure: any Error) { (chunks, ends, self.failure) = ([], false, failure) }
}

/// The written half of an upgraded connection. Any task may add bytes, and the connection's event loop takes the bytes.
///
/// The event loop takes all bytes in one turn. Therefore bytes are written in the order of the calls, from the event loop and from other
/// threads.
final class UpgradedOutput: Sendable {
    /// Makes writers wait while more than 256 KiB are unsent.
    let window = WriteWindow()
    private let writes = Mutex(UpgradedWrites())

    /// Adds bytes to write. For the results and errors, see ``UpgradedWrites``.
    func append(_ chunk: Data) throws -> Bool { try writes.withLock { try $0.append(chunk) } }
    func appendEnd(_ failure: any Error) throws -> Bool { try writes.withLock { try $0.appendEnd(failure) } }
    func take() -> (chunks: [Data], ends: Bool) { writes.withLock { $0.take() } }

    /// Ends all writes, including waiting writes.
    func close(because failure: any Error) {
        writes.withLock { $0.close(failure) }
        window.close(because: failure)
    }
}
#endif
