/// A log of the events of one exchange. The log delivers one event at a time, in order, and no event after the end. For transports.
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
    /// If the exchange already has a connection, nothing is recorded. An exchange has a connection at this point if another connection
    /// became free before the new connection was open.
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
    /// - Parameter failure: the error with which the first exchange has ended.
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
