/// A first-in, first-out queue of chunks that counts the bytes in it.
///
/// Its methods are compiled for the chunks of each user: unspecialized they cost thousands of instructions. A chunk is released as soon as it is
/// taken. Appending and taking cost constant time on average, and storage that is free is reused.
@usableFromInline package struct ChunkQueue<Chunk: Sendable>: Sendable {
    @usableFromInline var slots: [(chunk: Chunk, bytes: Int)?] = []
    /// The index of the first chunk that was not taken.
    @usableFromInline var first = 0
    /// How many bytes the queued chunks have together.
    @usableFromInline package internal(set) var bytes = 0

    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { first == slots.count }

    /// How many chunks are queued.
    @inlinable package var count: Int { slots.count - first }

    /// - Parameter bytes: how many bytes the chunk counts for.
    @inlinable package mutating func append(_ chunk: Chunk, bytes: Int) {
        slots.append((chunk, bytes))
        self.bytes += bytes
    }

    /// Takes the oldest chunk; nil if the queue is empty.
    @inlinable package mutating func popFirst() -> Chunk? {
        guard first < slots.count, let (chunk, bytes) = slots[first] else { return nil }
        slots[first] = nil
        first += 1
        self.bytes -= bytes
        if first == slots.count {
            slots.removeAll(keepingCapacity: true)
            first = 0
        } else if first > 32, first * 2 > slots.count {
            // Each chunk is moved once for each time that the queue has doubled.
            slots.removeFirst(first)
            first = 0
        }
        return chunk
    }

    @inlinable package mutating func removeAll() { self = ChunkQueue() }
}

extension ChunkQueue where Chunk: Collection {
    /// Appends `chunk`, which counts for its elements.
    @inlinable package mutating func append(_ chunk: Chunk) { append(chunk, bytes: chunk.count) }
}
