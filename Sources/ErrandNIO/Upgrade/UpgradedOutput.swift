#if NIO
internal import ErrandCore
internal import Synchronization

/// What is to be written to an upgraded connection, in the order in which it was added: a value without tasks and channels.
struct UpgradedWrites: Sendable {
    private var chunks: [Data] = []
    private var isScheduled = false
    private var ends = false
    /// Why nothing can be added.
    private(set) var failure: (any Error)?

    /// Adds bytes to write.
    ///
    /// - Returns: whether the connection must call ``take()``: false if it will do so anyway.
    /// - Throws: ``failure``.
    mutating func append(_ chunk: Data) throws -> Bool {
        if let failure { throw failure }
        chunks.append(chunk)
        return schedule()
    }

    /// Adds the end of writing.
    ///
    /// - Parameter failure: for what is added later.
    /// - Returns: whether the connection must call ``take()``: false if it will do so anyway.
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

    /// Returns what was added since the last call, and whether the end of writing follows it.
    mutating func take() -> (chunks: [Data], ends: Bool) {
        defer { (chunks, ends, isScheduled) = ([], false, false) }
        return (chunks, ends)
    }

    /// Drops what was not taken, and refuses more.
    mutating func close(_ failure: any Error) { (chunks, ends, self.failure) = ([], false, failure) }
}

/// The written half of an upgraded connection: any task adds, and the connection's event loop takes.
///
/// The event loop takes everything in one turn. So the order is that of the calls, although some of them may come from the event loop
/// itself, and others from elsewhere.
final class UpgradedOutput: Sendable {
    /// Holds writers while 256 KiB are on their way.
    let window = WriteWindow()
    private let writes = Mutex(UpgradedWrites())

    /// For the parameters and results see ``UpgradedWrites``.
    func append(_ chunk: Data) throws -> Bool { try writes.withLock { try $0.append(chunk) } }
    func appendEnd(_ failure: any Error) throws -> Bool { try writes.withLock { try $0.appendEnd(failure) } }
    func take() -> (chunks: [Data], ends: Bool) { writes.withLock { $0.take() } }

    /// Ends all writes, those that wait included.
    func close(because failure: any Error) {
        writes.withLock { $0.close(failure) }
        window.close(because: failure)
    }
}
#endif
