internal import ErrandFormats
internal import Synchronization

/// A queue that delivers events to a sink one after another, in the order in which the events are made.
///
/// While the sink is busy, new events wait. Two rules bound the number of waiting events:
/// - A progress event replaces the previous waiting event if both events have the same kind and exchange. The new event has the
///   total number of bytes.
/// - If ``ExchangeEvent/waitingLimit`` events wait, progress events and informational responses are left out.
///
/// All other events are kept, because an exchange has only about ten of these events. The first response with the status 104 of an exchange
/// is also kept, because it has the URL for resuming an upload
/// ([draft-ietf-httpbis-resumable-upload](https://datatracker.ietf.org/doc/draft-ietf-httpbis-resumable-upload/)).
///
/// Events can come from event loops, from tasks and from cancellation at the same time. A sink may itself end the exchange or
/// the call that an event belongs to. Therefore the sink is never called under a lock.
struct SerialSink<Progress: Sendable>: ~Copyable {
    private struct State: Sendable {
        /// The state of the object that makes the events.
        var progress: Progress
        private var waiting = FIFOQueue<ExchangeEvent>()
        var isReporting = false
        var last: ContinuousClock.Instant?
        /// The exchanges whose first response with the status 104 has arrived.
        private var resumable: Set<Int> = []

        init(progress: Progress) { self.progress = progress }

        /// Ensures that no event has an earlier instant than the previous event.
        mutating func stamp(_ event: inout ExchangeEvent?) {
            guard let instant = event?.instant else { return }
            if let last, instant < last { event?.instant = last } else { last = instant }
        }

        /// Returns whether an event is the first response with the status 104 of its exchange. Call this function once for each event.
        mutating func isFirstResumption(_ event: ExchangeEvent) -> Bool {
            guard event.kind == .informationalResponse, event.response?.status.code == 104 else { return false }
            return resumable.insert(event.exchange ?? -1).inserted
        }

        /// Adds an event to the waiting events, according to the rules of this type.
        ///
        /// - Parameter mustStay: whether the event is kept even beyond the limit.
        mutating func append(_ event: ExchangeEvent, mustStay: Bool) {
            if event.kind.isProgress, let previous = waiting.last, previous.kind == event.kind, previous.exchange == event.exchange {
                waiting.replaceLast(by: event)
            } else if waiting.count < ExchangeEvent.waitingLimit || mustStay
                || !(event.kind.isProgress || event.kind == .informationalResponse)
            {
                waiting.append(event)
            }
        }

        mutating func popFirst() -> ExchangeEvent? { waiting.popFirst() }
    }

    private let sink: any EventSink
    private let state: Mutex<State>

    init(_ sink: any EventSink, _ progress: Progress) {
        self.sink = sink
        state = Mutex(State(progress: progress))
    }

    /// Records the events that `make` returns, and delivers the events to the sink.
    ///
    /// - Parameter make: called under a lock. Returns up to two events: the second event directly follows the first event.
    func record(_ make: (inout Progress) -> (ExchangeEvent?, then: ExchangeEvent?)) {
        // If no other caller is delivering, this caller delivers its own event immediately. Then this caller delivers the events
        // that other callers have added during the delivery.
        var (event, then) = state.withLock { state -> (ExchangeEvent?, ExchangeEvent?) in
            var (event, then) = make(&state.progress)
            state.stamp(&event)
            state.stamp(&then)
            let isResumption = event.map { state.isFirstResumption($0) } ?? false
            guard state.isReporting || event == nil else {
                state.isReporting = true
                return (event, then)
            }
            if let event { state.append(event, mustStay: isResumption) }
            if let then { state.append(then, mustStay: false) }
            return (nil, nil)
        }
        while let next = event {
            sink.record(next)
            (event, then) = then.map { ($0, nil) } ?? (self.next(), nil)
        }
    }

    private func next() -> ExchangeEvent? {
        state.withLock { state in
            if let event = state.popFirst() { return event }
            state.isReporting = false
            return nil
        }
    }
}

extension ExchangeEvent {
    /// The number of events that may wait for a busy sink. Beyond this number, progress events and informational responses are left out.
    static let waitingLimit = 4096
}

extension ExchangeEvent.Kind {
    fileprivate var isProgress: Bool { self == .requestBytesSent || self == .responseBytesReceived }
}
