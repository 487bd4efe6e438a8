/// A first-in, first-out queue.
///
/// The methods are inlinable, so that they are specialized in each module. Without specialization, each call costs thousands of
/// instructions. The queue releases an element as soon as the element is taken. Appending and taking cost constant time on
/// average, and free storage is reused.
@usableFromInline package struct FIFOQueue<Element> {
    @usableFromInline var slots: [Element?] = []
    /// The index of the first element that was not taken.
    @usableFromInline var first = 0

    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { first == slots.count }

    /// The number of queued elements.
    @inlinable package var count: Int { slots.count - first }

    /// The newest element; `nil` if the queue is empty.
    @inlinable package var last: Element? { isEmpty ? nil : slots[slots.count - 1] }

    @inlinable package mutating func append(_ element: Element) { slots.append(element) }

    /// Replaces the newest element. The queue must not be empty.
    @inlinable package mutating func replaceLast(by element: Element) { slots[slots.count - 1] = element }

    /// Takes the oldest element; `nil` if the queue is empty.
    @inlinable package mutating func popFirst() -> Element? {
        guard first < slots.count, let element = slots[first] else { return nil }
        slots[first] = nil
        first += 1
        if first == slots.count {
            slots.removeAll(keepingCapacity: true)
            first = 0
        } else if first > 32, first * 2 > slots.count {
            // The remaining elements are moved only if there are fewer remaining elements than taken elements. Therefore all
            // moves together take linear time.
            slots.removeFirst(first)
            first = 0
        }
        return element
    }
}

extension FIFOQueue: Sendable where Element: Sendable {}
