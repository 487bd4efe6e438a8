internal import Synchronization

/// Tells a sink of events one after the other, in the order in which they are made.
///
/// Events come from event loops, from tasks and from whoever cancels, at the same moment. A sink may itself end what it hears of;
/// therefore it is never called under a lock.
struct SerialSink: ~Copyable {
    private struct State {
        var waiting: [ExchangeEvent] = []
        var isTelling = false
        var last: ContinuousClock.Instant?
    }

    private let sink: any EventSink
    private let state = Mutex(State())

    init(_ sink: any EventSink) { self.sink = sink }

    /// - Parameter make: called under a lock; nil tells nothing.
    func record(_ make: () -> [ExchangeEvent]) {
        let mustTell = state.withLock { state in
            for var event in make() {
                if let last = state.last, event.instant < last { event.instant = last }
                state.last = event.instant
                state.waiting.append(event)
            }
            guard !state.isTelling, !state.waiting.isEmpty else { return false }
            state.isTelling = true
            return true
        }
        guard mustTell else { return }
        while let event = next() { sink.record(event) }
    }

    private func next() -> ExchangeEvent? {
        state.withLock { state in
            guard let event = state.waiting.first else {
                state.isTelling = false
                return nil
            }
            state.waiting.removeFirst()
            return event
        }
    }
}

/// The events of one exchange: in order, one at a time, and none after the end. For transports.
package final class ExchangeEventLog: Sendable {
    private let serial: SerialSink
    private let request: RequestID
    private let exchange = ExchangeEvent.nextExchange()
    private let hasEnded = Mutex(false)

    package init(_ sink: any EventSink, request: RequestID) {
        serial = SerialSink(sink)
        self.request = request
    }

    package func record(
        _ kind: ExchangeEvent.Kind, bytes: Int64? = nil, response: HTTPResponse? = nil, connection: ConnectionInfo? = nil,
        failure: (any Error)? = nil
    ) {
        serial.record {
            let isLate = hasEnded.withLock { hasEnded in
                defer { if kind == .end { hasEnded = true } }
                return hasEnded
            }
            guard !isLate else { return [] }
            return [
                ExchangeEvent(
                    kind, request: request, exchange: exchange, bytes: bytes, response: response, connection: connection, failure: failure)
            ]
        }
    }
}

/// The events of one call and of its exchanges: from `callStart` to `callEnd`, which waits for the end of every exchange.
package final class CallEventLog: EventSink {
    private struct State {
        var open = 0
        var end: ExchangeEvent?
        var isOver = false
    }

    private let serial: SerialSink
    private let request: RequestID
    private let number: Int?
    private let tags: [String: String]
    private let state = Mutex(State())

    package init(_ sink: any EventSink, request: RequestID, number: Int?, tags: [String: String]) {
        serial = SerialSink(sink)
        (self.request, self.number, self.tags) = (request, number, tags)
        serial.record { [labelled(ExchangeEvent(.callStart, request: request))] }
    }

    private func labelled(_ event: ExchangeEvent) -> ExchangeEvent {
        var event = event
        (event.number, event.tags) = (number, tags)
        return event
    }

    package func record(_ event: ExchangeEvent) {
        let event = labelled(event)
        serial.record {
            state.withLock { state in
                guard !state.isOver else { return [] }
                if event.kind == .start { state.open += 1 }
                if event.kind == .end { state.open -= 1 }
                guard state.open == 0, var end = state.end else { return [event] }
                state.isOver = true
                end.instant = max(end.instant, event.instant)
                return [event, end]
            }
        }
    }

    /// The call has its result, and its last exchange is over.
    package func end(_ failure: (any Error)?) {
        serial.record {
            state.withLock { state in
                guard !state.isOver, state.end == nil else { return [] }
                let end = labelled(ExchangeEvent(.callEnd, request: request, failure: failure))
                state.end = end
                guard state.open == 0 else { return [] }
                state.isOver = true
                return [end]
            }
        }
    }
}

/// Several sinks as one, told in this order.
package struct EventSinks: EventSink {
    private let sinks: [any EventSink]

    /// Nil without any.
    package init?(_ sinks: (any EventSink)?...) {
        self.sinks = sinks.compactMap { $0 }
        if self.sinks.isEmpty { return nil }
    }

    package func record(_ event: ExchangeEvent) { for sink in sinks { sink.record(event) } }
}

extension Request {
    /// Tells this call's sink, if it has one.
    package func tell(_ kind: ExchangeEvent.Kind, decision: @autoclosure () -> ExchangeEvent.Decision? = nil) {
        guard let sink = options.eventSink else { return }
        sink.record(ExchangeEvent(kind, request: id, decision: decision()))
    }
}
