internal import Synchronization

/// Records values, from any task, in order.
public final class RecordingList<Element: Sendable>: Sendable {
    private let state = Mutex<[Element]>([])

    public init() {}

    public var all: [Element] { state.withLock { $0 } }
    public func record(_ element: Element) { state.withLock { $0.append(element) } }
}
