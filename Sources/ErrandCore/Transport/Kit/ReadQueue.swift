package import ErrandFormats

/// The received, unread parts of a response's body. The value also records whether the transport waits for the reader. The value has no
/// locks and no continuations.
///
/// The methods are inlinable, because they run for each chunk.
@usableFromInline package struct ReadQueue: Sendable {
    /// The numbers of queued bytes at which the transport starts to wait.
    @usableFromInline package struct Marks: Sendable {
        /// Before the first read, the transport waits when this number of bytes is queued: 64 KiB. A caller may need only the head of a
        /// response, for example to send the request again. With this limit, the unread body of the response takes little memory.
        ///
        /// More bytes may arrive after the transport has begun to wait. Over HTTP/2, the server may still fill the stream's window, which
        /// is 1 MiB.
        @usableFromInline package var readAheadBytes = 64 * 1024
        /// After the first read, the transport waits when this number of bytes is queued: 512 KiB. The wait ends when less than half of the
        /// number is queued. After the wait, the transport can receive more while the reader reads the rest of the queue.
        @usableFromInline package var windowBytes = 512 * 1024

        @inlinable package init() {}
    }

    @usableFromInline let marks: Marks
    @usableFromInline var chunks = ChunkQueue<Data>()
    @usableFromInline var isRead = false
    /// Whether the transport waits until fewer bytes are queued.
    @usableFromInline package internal(set) var isHeldBack = false

    @inlinable package init(marks: Marks = Marks()) { self.marks = marks }

    @inlinable var limitBytes: Int { isRead ? marks.windowBytes : marks.readAheadBytes }
    @inlinable package var isEmpty: Bool { chunks.isEmpty }

    /// Appends received data. Returns whether the transport must wait before it receives more.
    ///
    /// A transport may append several times before it waits. Only a read ends the wait, and notifies the transport.
    @inlinable package mutating func append(_ received: some Sequence<Data>) -> Bool {
        for chunk in received { chunks.append(chunk) }
        if chunks.bytes >= limitBytes { isHeldBack = true }
        return isHeldBack
    }

    /// Removes and returns the first chunk; `nil` if the queue is empty.
    ///
    /// - Returns: the chunk, and whether the transport must be notified that it may receive more.
    @inlinable package mutating func popFirst() -> (chunk: Data, isFree: Bool)? {
        isRead = true
        guard let chunk = chunks.popFirst() else { return nil }
        guard isHeldBack, chunks.bytes * 2 < limitBytes else { return (chunk, false) }
        isHeldBack = false
        return (chunk, true)
    }

    @inlinable package mutating func removeAll() { chunks.removeAll() }
}
