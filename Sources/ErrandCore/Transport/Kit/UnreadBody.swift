/// The unread part of a response's body: the queued chunks, the waiting reader and the end. The value has no locks. A transport resumes a
/// waiter after the transport has released its own lock.
///
/// One reader at a time may wait. While a reader waits, no chunk is queued. The methods are inlinable, because they run for each chunk.
///
/// - `Waiter`: the reader that waits for the next chunk.
@usableFromInline package struct UnreadBody<Waiter: Sendable>: Sendable {
    /// The result of a read: a chunk, an error, or `nil` at the end of a complete body.
    @usableFromInline package typealias Read = Result<Data?, any Error>

    @usableFromInline var queue: ReadQueue
    @usableFromInline var waiter: Waiter?
    /// The result of each read after the last chunk; `nil` before the end.
    @usableFromInline var end: Read?

    @inlinable package init(marks: ReadQueue.Marks = ReadQueue.Marks()) { queue = ReadQueue(marks: marks) }

    /// See ``ReadQueue/isHeldBack``.
    @inlinable package var isHeldBack: Bool { queue.isHeldBack }
    @inlinable package var hasWaiter: Bool { waiter != nil }
    @inlinable package var hasEnded: Bool { end != nil }
    /// Whether the body has ended without an error. Chunks may still be queued.
    @inlinable package var isComplete: Bool { if case .success? = end { true } else { false } }

    // MARK: - The transport

    /// Gives the first received chunk to the waiter, and queues the other chunks. After the end, received chunks are ignored.
    ///
    /// - Returns: the waiter that must be resumed with a chunk, and whether the transport must wait before it receives more.
    @inlinable package mutating func append(
        _ received: some Collection<Data>
    ) -> (delivery: (waiter: Waiter, chunk: Data)?, isHeldBack: Bool) {
        guard end == nil else { return (nil, false) }
        guard let waiter, let first = received.first else { return (nil, queue.append(received)) }
        self.waiter = nil
        return ((waiter, first), queue.append(received.dropFirst()))
    }

    /// Ends the body after the queued chunks. After the first end, the function does nothing.
    ///
    /// - Parameter error: the reason for the end; `nil` if the body is complete.
    /// - Returns: the waiter that must be resumed with a result.
    @inlinable package mutating func end(because error: (any Error)? = nil) -> (waiter: Waiter, result: Read)? {
        guard end == nil else { return nil }
        let result: Read = if let error { .failure(error) } else { .success(nil) }
        end = result
        guard let waiter else { return nil }
        self.waiter = nil
        return (waiter, result)
    }

    // MARK: - The reader

    /// Reads the first queued chunk, or the end.
    ///
    /// - Parameter waiter: kept if no chunk is queued and the body has not ended. If another reader waits, the read fails with a
    ///   ``BodyAlreadyUsedError``.
    /// - Returns: the result, and whether the transport must be notified that it may receive more. The result is `nil` if the reader must
    ///   wait.
    @inlinable package mutating func read(orWait waiter: Waiter? = nil) -> (result: Read?, isFree: Bool) {
        if let (chunk, isFree) = queue.popFirst() { return (.success(chunk), isFree) }
        if let end { return (end, false) }
        if self.waiter != nil { return (.failure(BodyAlreadyUsedError()), false) }
        self.waiter = waiter
        return (nil, false)
    }

    /// Drops the queued chunks. If a chunk was queued and the body has not failed yet, the next read fails with `error`. Without `error`,
    /// the reader would treat the body as complete, although chunks are missing.
    @inlinable package mutating func drop(because error: any Error) {
        if queue.isEmpty { return }
        queue.removeAll()
        if case .failure? = end { return }
        end = .failure(error)
    }
}
