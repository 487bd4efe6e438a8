/// A log of the events of one call and its exchanges, from `callStart` to `callEnd`. `callEnd` is reported only after every exchange and
/// every wait has ended.
///
/// If two logs are nested, the outer log drops the beginning and the end that the inner log reports, and reports all other events.
package final class CallEventLog: EventSink, CallObserver {
    private struct Progress: Sendable {
        /// The number of exchanges and waits in progress. A coalesced exchange may continue after the call of this log has ended.
        var open = 0
        var end: ExchangeEvent?
        var isOver = false
    }

    private let serial: SerialSink<Progress>
    private let request: RequestID
    private let labels: ExchangeEvent.Labels?

    /// - Parameters:
    ///   - request: the request of the call. The event sink of this request gets the events first.
    ///   - sink: the sink that also gets the events.
    package init(of request: Request, to sink: some EventSink) {
        serial = SerialSink(EventSinks.together(request.options.eventSink, sink), Progress())
        self.request = request.id
        let (number, tags) = (request.options.requestNumber, request.shownTags)
        labels = number == nil && tags.isEmpty ? nil : ExchangeEvent.Labels(number: number, tags: tags)
        serial.record { _ in (labelled(ExchangeEvent(.callStart, request: request.id)), nil) }
    }

    private func labelled(_ event: ExchangeEvent) -> ExchangeEvent {
        guard let labels else { return event }
        var event = event
        event.labels = labels
        return event
    }

    package func record(_ event: ExchangeEvent) {
        if event.kind == .callStart || event.kind == .callEnd { return }
        let event = labelled(event)
        serial.record { progress in
            guard !progress.isOver else { return (nil, nil) }
            switch event.kind {
            case .start, .queueStart, .waitStart, .networkWaitStart: progress.open += 1
            case .end, .queueEnd, .waitEnd, .networkWaitEnd:
                progress.open = max(0, progress.open - 1)  // a transport may report an end without a start
            default: break
            }
            guard progress.open == 0, var end = progress.end else { return (event, nil) }
            progress.isOver = true
            end.instant = max(end.instant, event.instant)
            return (event, end)
        }
    }

    package func end(_ outcome: CallOutcome, at mark: Void) { end(outcome.refusal?.innerError ?? outcome.failure) }

    /// Ends the call. Called when the result is known and the last exchange has ended.
    func end(_ failure: (any Error)?) {
        let end = labelled(ExchangeEvent(.callEnd, request: request, failure: failure))
        serial.record { progress in
            guard !progress.isOver, progress.end == nil else { return (nil, nil) }
            guard progress.open == 0 else {
                progress.end = end
                return (nil, nil)
            }
            progress.isOver = true
            return (end, nil)
        }
    }
}

/// Several sinks as one sink. Each event goes to all sinks in order.
struct EventSinks: EventSink {
    private let sinks: [any EventSink]

    /// Returns one sink for both sinks; if the first sink is `nil`, returns the second sink alone.
    static func together(_ first: (any EventSink)?, _ second: some EventSink) -> any EventSink {
        guard let first else { return second }
        return EventSinks(sinks: [first, second])
    }

    func record(_ event: ExchangeEvent) { for sink in sinks { sink.record(event) } }
}

extension Request {
    /// Reports an event to the event sink of this call, if there is a sink.
    public func report(_ kind: ExchangeEvent.Kind, decision: @autoclosure () -> ExchangeEvent.Decision? = nil) {
        guard let sink = options.eventSink else { return }
        sink.record(ExchangeEvent(kind, request: id, decision: decision()))
    }
}
