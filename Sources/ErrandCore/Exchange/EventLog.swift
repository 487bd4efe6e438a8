internal import ErrandFormats
internal import Synchronization

/// A queue that delivers events to a sink one after another, in the order in which the events are made.
///
/// While the sink is busy, new events wait. Two rules bound the number of waiting events:
/// - A progress event replaces the previous waiting event if both events have the same kind and exchange. The new event has the
///   total number of bytes.
/// - If ``ExchangeEvent/waitingLimit`` events wait, progress events and informational responses are left out.
///
/// All other events are kept: an exchange has about ten such events. The first response with the status 104 of an exchange is also
/// kept, because it has the URL for resuming an upload
/// ([draft-ietf-httpbis-resumable-upload](https://datatracker.ietf.org/doc/draft-ietf-httpbis-resumable-upload/)).
///
/// Events can come from event loops, from tasks and from cancellation at the same time. A sink may itself end the exchange or
/// the call that an event belongs to. Therefore the sink is never called under a lock.
private struct SerialSink<Progress: Sendable>: ~Copyable {
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

        /// Returns whether an event is the first 104 of its exchange. Call this function once for each event.
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
    /// - Parameter make: called under a lock. Returns the event, if there is one, and the event that directly follows.
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

/// A log of the events of one exchange. The events are in order and do not overlap, and no event follows the end. For
/// transports.
///
/// A transport makes a log for each exchange whose request has an event sink, and records events in the log. The log may be called
/// from any thread.
///
/// ```swift
/// let log = ExchangeEventLog(sink, request: request.id)
/// log.record(.start)
/// log.enter(.connect)
/// log.record(.connectionAcquired, connection: connection)
/// log.record(.end)
/// ```
public final class ExchangeEventLog: Sendable {
    private struct Progress: Sendable {
        var exchange = ExchangeEvent.nextExchange()
        var hasEnded = false
        var hasTimings = false
        /// Whether the exchange has no connection yet.
        var isConnecting = true
        /// The step of connecting that is in progress.
        var step: ConnectStep?
    }

    private let serial: SerialSink<Progress>
    private let request: RequestID

    /// Creates the log of an exchange, with a new exchange number.
    ///
    /// - Parameters:
    ///   - sink: receives the events.
    ///   - request: the ID of the request.
    public init(_ sink: any EventSink, request: RequestID) {
        serial = SerialSink(sink, Progress())
        self.request = request
    }

    /// Records an event. After the event ``ExchangeEvent/Kind/end``, nothing is recorded.
    ///
    /// The kinds ``ExchangeEvent/Kind/connectionAcquired`` and ``ExchangeEvent/Kind/end`` also end the step of connecting that is
    /// in progress. The timings of an exchange are recorded only once.
    ///
    /// - Parameters:
    ///   - kind: the kind of the event.
    ///   - bytes: the number of bytes so far, for events of progress.
    ///   - response: the head of the response, for kinds of events that have a head.
    ///   - connection: the connection that the exchange uses.
    ///   - timings: the timings, for the kind ``ExchangeEvent/Kind/timings``.
    ///   - failure: why the exchange has failed; `nil` if the exchange has not failed.
    public func record(
        _ kind: ExchangeEvent.Kind, bytes: Int64? = nil, response: HTTPResponse? = nil, connection: ConnectionInfo? = nil,
        timings: ExchangeEvent.Timings? = nil, failure: (any Error)? = nil
    ) {
        serial.record { progress in
            guard !progress.hasEnded, kind != .timings || !progress.hasTimings else { return (nil, nil) }
            progress.hasEnded = kind == .end
            progress.hasTimings = progress.hasTimings || kind == .timings
            let event = ExchangeEvent(
                kind, request: request, exchange: progress.exchange, bytes: bytes, response: response, connection: connection,
                timings: timings, failure: failure)
            guard progress.isConnecting, kind == .connectionAcquired || kind == .end else { return (event, nil) }
            progress.isConnecting = false
            guard let step = progress.step.take() else { return (event, nil) }
            return (ExchangeEvent(step.end, request: request, exchange: progress.exchange), event)
        }
    }

    /// Records that a step of connecting begins, and that the step in progress ends.
    ///
    /// If the exchange already has a connection, nothing is recorded. In that case, another connection became free before the new
    /// connection was open.
    ///
    /// - Parameter step: the step that begins; `nil` if the attempt to connect is over.
    public func enter(_ step: ConnectStep?) {
        serial.record { progress in
            guard !progress.hasEnded, progress.isConnecting else { return (nil, nil) }
            let ended = progress.step.map { ExchangeEvent($0.end, request: request, exchange: progress.exchange) }
            progress.step = step
            let begun = step.map { ExchangeEvent($0.start, request: request, exchange: progress.exchange) }
            return ended == nil ? (begun, nil) : (ended, begun)
        }
    }

    /// Ends the exchange, and begins another exchange with a new number, because the transport sends the request again over another
    /// connection.
    ///
    /// - Parameter failure: why the first exchange has ended.
    public func beginAgain(after failure: any Error) {
        serial.record { progress in
            guard !progress.hasEnded else { return (nil, nil) }
            let end = ExchangeEvent(.end, request: request, exchange: progress.exchange, failure: failure)
            progress.exchange = ExchangeEvent.nextExchange()
            (progress.isConnecting, progress.step, progress.hasTimings) = (true, nil, false)
            return (end, ExchangeEvent(.start, request: request, exchange: progress.exchange))
        }
    }
}

/// A step of opening a connection.
public enum ConnectStep: Sendable, Hashable {
    /// Looking up the addresses of the host.
    case dns
    /// Opening the connection.
    case connect
    /// Making the TLS handshake.
    case tls

    var start: ExchangeEvent.Kind {
        switch self {
        case .dns: .dnsStart
        case .connect: .connectStart
        case .tls: .tlsStart
        }
    }

    var end: ExchangeEvent.Kind {
        switch self {
        case .dns: .dnsEnd
        case .connect: .connectEnd
        case .tls: .tlsEnd
        }
    }
}

/// A log of the events of one call and its exchanges, from `callStart` to `callEnd`. `callEnd` waits for the end of every exchange
/// and every wait.
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
                progress.open = max(0, progress.open - 1)  // a transport may forget to begin
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
