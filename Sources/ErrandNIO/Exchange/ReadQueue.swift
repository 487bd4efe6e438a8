#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats

/// The received, unread parts of a body. The value also records whether the connection waits for the reader. The value has no
/// locks and no continuations.
struct ReadQueue: Sendable {
    /// Before the first read, the connection waits when this number of bytes is queued: 64 KiB. Over HTTP/2, the server may still fill
    /// the stream's window, which is 1 MiB.
    static let readAheadBytes = 64 * 1024
    /// The number of bytes that may be queued after the first read: 512 KiB.
    static let windowBytes = 512 * 1024

    private var chunks = ChunkQueue<Data>()
    private var isRead = false
    /// Whether the connection waits until fewer bytes are queued.
    private var isHeldBack = false

    private var limitBytes: Int { isRead ? Self.windowBytes : Self.readAheadBytes }
    var isEmpty: Bool { chunks.isEmpty }

    /// Appends received data. Returns whether the connection must wait before it reads more.
    ///
    /// A connection may append several times before it waits. Only a read ends the wait, and notifies the connection.
    mutating func append(_ received: some Sequence<Data>) -> Bool {
        for chunk in received { chunks.append(chunk) }
        if chunks.bytes >= limitBytes { isHeldBack = true }
        return isHeldBack
    }

    /// Removes and returns the first chunk; `nil` if the queue is empty.
    ///
    /// - Returns: the chunk, and whether the connection must be notified that it may read more.
    mutating func popFirst() -> (chunk: Data, isFree: Bool)? {
        isRead = true
        guard let chunk = chunks.popFirst() else { return nil }
        guard isHeldBack, chunks.bytes * 2 < limitBytes else { return (chunk, false) }
        isHeldBack = false
        return (chunk, true)
    }

    mutating func removeAll() { chunks.removeAll() }
}
#endif
