/// A first-in, first-out queue of chunks that counts the bytes in it. See ``FIFOQueue``.
@usableFromInline package struct ChunkQueue<Chunk: Sendable>: Sendable {
    @usableFromInline var chunks = FIFOQueue<(chunk: Chunk, bytes: Int)>()
    /// How many bytes the queued chunks have together.
    @usableFromInline package internal(set) var bytes = 0

    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { chunks.isEmpty }

    /// How many chunks are queued.
    @inlinable package var count: Int { chunks.count }

    /// - Parameter bytes: how many bytes the chunk counts for.
    @inlinable package mutating func append(_ chunk: Chunk, bytes: Int) {
        chunks.append((chunk, bytes))
        self.bytes += bytes
    }

    /// Takes the oldest chunk; nil if the queue is empty.
    @inlinable package mutating func popFirst() -> Chunk? {
        guard let (chunk, bytes) = chunks.popFirst() else { return nil }
        self.bytes -= bytes
        return chunk
    }

    @inlinable package mutating func removeAll() { self = ChunkQueue() }
}

extension ChunkQueue where Chunk: Collection {
    /// Appends `chunk`, which counts for its elements.
    @inlinable package mutating func append(_ chunk: Chunk) { append(chunk, bytes: chunk.count) }
}
