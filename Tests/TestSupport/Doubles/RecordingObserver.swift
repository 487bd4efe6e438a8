package import ErrandCore
package import ErrandTesting

/// Records the outcome of each call that it observes.
package final class RecordingObserver<Mark: Sendable>: CallObserver {
    package let eventSink: (any EventSink)?
    private let live: Counter?
    private let makeMark: @Sendable () -> Mark
    private let record: @Sendable (CallOutcome, Mark) -> Void

    /// - Parameters:
    ///   - live: counts the observers that are not released yet; `nil` (the default): they are not counted.
    ///   - marking: makes the mark of the end of a call.
    package init(
        eventSink: (any EventSink)? = nil, live: Counter? = nil, marking: @escaping @Sendable () -> Mark,
        record: @escaping @Sendable (CallOutcome, Mark) -> Void
    ) {
        (self.eventSink, self.live, makeMark, self.record) = (eventSink, live, marking, record)
        live?.add(1)
    }

    deinit { live?.add(-1) }

    package func mark() -> Mark { makeMark() }
    package func end(_ outcome: CallOutcome, at mark: Mark) { record(outcome, mark) }
}

extension RecordingObserver<Void> {
    package convenience init(
        eventSink: (any EventSink)? = nil, live: Counter? = nil, record: @escaping @Sendable (CallOutcome) -> Void
    ) {
        self.init(eventSink: eventSink, live: live, marking: {}, record: { outcome, _ in record(outcome) })
    }

    package convenience init(_ outcomes: RecordingList<CallOutcome>, eventSink: (any EventSink)? = nil) {
        self.init(eventSink: eventSink) { outcomes.record($0) }
    }
}
