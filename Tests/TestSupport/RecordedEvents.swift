public import ErrandCore
internal import Synchronization

/// Remembers what it is told.
public final class RecordedEvents: EventSink {
    private let state = Mutex<[ExchangeEvent]>([])

    public init() {}

    public var all: [ExchangeEvent] { state.withLock { $0 } }
    public var kinds: [ExchangeEvent.Kind] { all.map(\.kind) }
    public func record(_ event: ExchangeEvent) { state.withLock { $0.append(event) } }
}
