/// A first-in, first-out queue of chunks that counts its bytes.
///
/// The methods are inlinable, so that they are specialized in each module. Unspecialized methods cost thousands of instructions. A
/// taken chunk is released at once. Appending and taking cost constant time on average, and free storage is reused.
@usableFromInline package struct ChunkQueue<Chunk: Sendable>: Sendable {
    @usableFromInline var slots: [(chunk: Chunk, bytes: Int)?] = []
    /// The index of the first queued chunk.
    @usableFromInline var first = 0
    /// The number of bytes of all queued chunks.
    @usableFromInline package internal(set) var bytes = 0

    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { first == slots.count }

    /// The number of queued chunks.
    @inlinable package var count: Int { slots.count - first }

    /// - Parameter bytes: the number of bytes that the chunk counts for.
    @inlinable package mutating func append(_ chunk: Chunk, bytes: Int) {
        slots.append((chunk, bytes))
        self.bytes += bytes
    }

    /// Removes and returns the oldest chunk; `nil` if the queue is empty.
    @inlinable package mutating func popFirst() -> Chunk? {
        guard first < slots.count, let (chunk, bytes) = slots[first] else { return nil }
        slots[first] = nil
        first += 1
        self.bytes -= bytes
        if first == slots.count {
            slots.removeAll(keepingCapacity: true)
            first = 0
        } else if first > 32, first * 2 > slots.count {
            // Chunks move only when more than half of the slots are free, so all moves together take linear time.
            slots.removeFirst(first)
            first = 0
        }
        return chunk
    }

    @inlinable package mutating func removeAll() { self = ChunkQueue() }
}

extension ChunkQueue where Chunk: Collection {
    /// Appends `chunk`. Its number of bytes is its number of elements.
    @inlinable package mutating func append(_ chunk: Chunk) { append(chunk, bytes: chunk.count) }
}
