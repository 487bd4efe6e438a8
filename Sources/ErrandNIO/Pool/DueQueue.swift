#if SWIFT_NIO
/// A heap of elements with due times. The earliest element comes first.
///
/// An unneeded element stays in the heap until the element is due, or until the heap becomes too large and is rebuilt. Therefore, no search
/// for unneeded elements is necessary. An insertion takes logarithmic time.
struct DueQueue<Instant: Comparable & Sendable, Element: Sendable>: Sendable {
    private var heap: [(due: Instant, element: Element)] = []
    /// If the heap has this number of elements, the heap is rebuilt, and the elements that are no longer needed are dropped.
    private var fullCount = 64

    var count: Int { heap.count }
    /// The element that is due first; `nil` if the queue is empty.
    var first: (due: Instant, element: Element)? { heap.first }

    /// Inserts an element.
    ///
    /// - Parameter isNeeded: the closure that returns whether an element is still needed. The closure is called for all
    ///   elements when the heap is rebuilt.
    mutating func insert(_ element: Element, due: Instant, isNeeded: (Element) -> Bool) {
        if heap.count >= fullCount {
            heap = heap.filter { isNeeded($0.element) }
            for place in (0..<heap.count / 2).reversed() { sink(place) }
            fullCount = max(64, 2 * heap.count)
        }
        heap.append((due, element))
        rise(heap.count - 1)
    }

    mutating func removeFirst() {
        guard let last = heap.popLast(), !heap.isEmpty else { return }
        heap[0] = last
        sink(0)
    }

    mutating func removeAll() { (heap, fullCount) = ([], 64) }

    private mutating func rise(_ place: Int) {
        var child = place
        while child > 0, heap[child].due < heap[(child - 1) / 2].due {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func sink(_ place: Int) {
        var parent = place
        while 2 * parent + 1 < heap.count {
            var child = 2 * parent + 1
            if child + 1 < heap.count, heap[child + 1].due < heap[child].due { child += 1 }
            guard heap[child].due < heap[parent].due else { return }
            heap.swapAt(parent, child)
            parent = child
        }
    }
}
#endif
