/// A first-in, first-out queue of chunks that counts its bytes.
///
/// The methods are inlinable, so that they are specialized in each module. Without specialization, each call costs thousands of
/// instructions. The queue releases a chunk as soon as the chunk is taken. Appending and taking cost constant time on average,
/// and free storage is reused.
@usableFromInline package struct ChunkQueue<Chunk: Sendable>: Sendable {
    @usableFromInline var chunks = FIFOQueue<(chunk: Chunk, bytes: Int)>()
    /// The number of bytes of all queued chunks.
    @usableFromInline package internal(set) var bytes = 0

    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { chunks.isEmpty }

    /// The number of queued chunks.
    @inlinable package var count: Int { chunks.count }

    /// - Parameter bytes: the number of bytes that is added to the count for this chunk.
    @inlinable package mutating func append(_ chunk: Chunk, bytes: Int) {
        chunks.append((chunk, bytes))
        self.bytes += bytes
    }

    /// Removes and returns the oldest chunk; `nil` if the queue is empty.
    @inlinable package mutating func popFirst() -> Chunk? {
        guard let (chunk, bytes) = chunks.popFirst() else { return nil }
        self.bytes -= bytes
        return chunk
    }

    @inlinable package mutating func removeAll() { self = ChunkQueue() }
}

extension ChunkQueue where Chunk: Collection {
    /// Appends `chunk`. Each element of the chunk counts as one byte.
    @inlinable package mutating func append(_ chunk: Chunk) { append(chunk, bytes: chunk.count) }
}
