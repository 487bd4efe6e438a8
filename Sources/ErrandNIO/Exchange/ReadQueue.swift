#if NIO
internal import ErrandCore
internal import ErrandFormats

/// What was received of a body and not read, and whether the connection waits for its reader: a value without locks and continuations.
struct ReadQueue: Sendable {
    /// How much is received before the first read: 64 KiB. In HTTP/2, the server may fill the window of the stream all the same, which is
    /// 1 MiB.
    static let readAheadBytes = 64 * 1024
    /// How much may be queued after the first read: 512 KiB.
    static let windowBytes = 512 * 1024

    private var chunks = ChunkQueue<Data>()
    private var isRead = false
    /// Whether the connection waits until less is queued.
    private var isHeldBack = false

    private var limitBytes: Int { isRead ? Self.windowBytes : Self.readAheadBytes }
    var isEmpty: Bool { chunks.isEmpty }

    /// Returns whether the connection must wait before it reads on.
    ///
    /// A connection may append several times before it waits. Only a read ends the wait: the connection does not ask again.
    mutating func append(_ received: some Sequence<Data>) -> Bool {
        for chunk in received { chunks.append(chunk) }
        if chunks.bytes >= limitBytes { isHeldBack = true }
        return isHeldBack
    }

    /// - Returns: also whether the connection may read on: then it must be notified.
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
