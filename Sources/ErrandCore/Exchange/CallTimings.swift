/// The times of the exchanges of one call.
public struct CallTimings: Sendable, Hashable {
    /// The times of each request that was sent, in order: attempts, redirects and hedges.
    public let exchanges: [ExchangeTimings]
    /// The number of redirects that were followed.
    public let redirectCount: Int

    /// The time from the beginning of the first request to the end of the last response.
    ///
    /// `nil` while an exchange is in progress, and if nothing was sent.
    public var total: Duration? {
        guard let first = exchanges.map(\.start).min() else { return nil }
        let ends = exchanges.compactMap(\.end)
        guard ends.count == exchanges.count, let last = ends.max() else { return nil }
        return last - first
    }
}

/// The times of one request and its response: the time of each step, counted from the beginning of the call.
///
/// If a step was not reached, or the transport does not report the step, its time is `nil`.
public struct ExchangeTimings: Sendable, Hashable {
    /// The URL, without secrets.
    public let url: String
    /// The method.
    public let method: String
    /// The time when the transport took the request.
    public let start: Duration
    /// The time when the lookup of the host began, for a connection that was opened for this request. This property and the next five
    /// properties describe the last attempt to connect.
    public internal(set) var dnsStart: Duration?
    /// The time when the lookup of the host ended.
    public internal(set) var dnsEnd: Duration?
    /// The time when opening the connection began.
    public internal(set) var connectStart: Duration?
    /// The time when the connection was open (before TLS), or when opening the connection had failed.
    public internal(set) var connectEnd: Duration?
    /// The time when the TLS handshake began.
    public internal(set) var tlsStart: Duration?
    /// The time when the TLS handshake ended.
    public internal(set) var tlsEnd: Duration?
    /// The time when the exchange got a connection.
    public internal(set) var connected: Duration?
    /// The time when the head of the request was sent.
    public internal(set) var requestHeadSent: Duration?
    /// The time when the last byte of the request was sent.
    public internal(set) var requestSent: Duration?
    /// The time when the head of the response was received.
    public internal(set) var responseHead: Duration?
    /// The time when the first bytes of the response's body were received.
    public internal(set) var firstByte: Duration?
    /// The time when the exchange ended on the wire.
    public internal(set) var end: Duration?
    /// The number of bytes of the request's body that were sent.
    public internal(set) var sentBytes: Int64 = 0
    /// The number of received bytes of the response's body, in the form in which the transport delivers the body.
    public internal(set) var receivedBytes: Int64 = 0
    /// The connection of the exchange; `nil` if the transport does not report it.
    public internal(set) var connection: ConnectionInfo?
    /// The HTTP version; `nil` if the transport does not report it.
    public internal(set) var httpVersion: HTTPVersion?
    /// The status code of the response.
    public internal(set) var status: Int?
    /// Whether the whole response was received; `nil` while the exchange is in progress.
    public internal(set) var isComplete: Bool?
    /// Whether the exchange failed while it waited for a connection that other exchanges used.
    package private(set) var failedInQueue = false

    /// Whether the connection had been used before; `nil` if the transport does not report it.
    public var isReused: Bool? { connection?.isReused }

    /// Creates the timings of an exchange that begins.
    ///
    /// - Parameters:
    ///   - request: the request that is sent.
    ///   - start: the start of the exchange, as a duration since the beginning of the call.
    public init(_ request: Request, at start: Duration) {
        (url, method, self.start) = (request.redactedURL, request.method.rawValue, start)
    }

    /// Records the time of a step from an event of this exchange.
    ///
    /// - Parameters:
    ///   - event: the event.
    ///   - instant: the time of the event, as a duration since the beginning of the call.
    public mutating func record(_ event: ExchangeEvent, at instant: Duration) {
        switch event.kind {
        case .dnsStart:
            (dnsStart, dnsEnd) = (instant, nil)
            connectStart = nil
            connectEnd = nil
            tlsStart = nil
            tlsEnd = nil
        case .dnsEnd: dnsEnd = instant
        case .connectStart: (connectStart, connectEnd, tlsStart, tlsEnd) = (instant, nil, nil, nil)
        case .connectEnd: connectEnd = instant
        case .tlsStart: (tlsStart, tlsEnd) = (instant, nil)
        case .tlsEnd: tlsEnd = instant
        case .connectionAcquired: (connected, connection) = (instant, event.connection)
        case .requestHeadSent: requestHeadSent = instant
        case .requestBytesSent: sentBytes = event.bytes ?? sentBytes
        case .requestSent: requestSent = instant
        case .responseHead: (responseHead, status) = (instant, event.response?.status.code)
        case .responseBytesReceived:
            if firstByte == nil { firstByte = instant }
            receivedBytes = event.bytes ?? receivedBytes
        case .timings: if let timings = event.timings { take(timings, reportedAt: event.instant, instant) }
        case .end:
            (end, isComplete) = (instant, event.failure == nil)
            failedInQueue = (event.failure as? any RequestFailure)?.phase == .queue
        default: break
        }
    }

    /// The phases of the exchange and their durations: `queue`, `dns`, `connect` and `tls`, then `send`, `wait` and `receive`. The
    /// exchange ended in the last phase of the list.
    ///
    /// If the transport reports the steps of connecting and a connection was opened, each step is a phase. With these phases, `queue` is
    /// the rest of the time before the request is sent. This rest includes:
    /// - the wait in the queue for a connection
    /// - reading the trusted certificates before the first handshake
    /// - attempts to connect before the last attempt
    ///
    /// If the connection is reused, or the exchange failed while it waited for a connection, `queue` is the whole time before the request
    /// is sent. If the transport reports no steps, `connect` is the whole time before the request is sent.
    public var phases: [(name: String, duration: Duration)] {
        var phases: [(String, Duration)] = []
        var since = start
        func add(_ name: String, _ until: Duration?) {
            guard let until, until >= since else { return }
            phases.append((name, until - since))
            since = until
        }
        // If the transport reports no connection, the time when the head was sent is used. The head is sent as soon as a connection is
        // available.
        let ready = connected ?? requestHeadSent
        let waits = isReused == true || failedInQueue
        let first = waits ? "queue" : "connect"
        if !waits, (dnsStart ?? connectStart ?? tlsStart) != nil, let until = ready ?? end {
            phases += connecting(until: until)
            since = until
        } else {
            add(first, ready)
        }
        if ready == nil, !phases.isEmpty { return phases }
        // A response may begin before the whole request is sent. If the response begins early, the rest of the sending does not delay the
        // call.
        add("send", [requestSent, responseHead].compactMap { $0 }.min())
        add("wait", responseHead)
        let last = responseHead != nil ? "receive" : requestSent != nil ? "wait" : ready != nil ? "send" : first
        add(last, end)
        return phases
    }

    /// Returns the phases before `until`: first `queue`, then the steps of connecting. `queue` is the time outside these steps. At
    /// `until`, a connection was available, or connecting failed.
    private func connecting(until: Duration) -> [(String, Duration)] {
        func length(_ start: Duration?, _ end: Duration?) -> Duration? { start.map { max(.zero, (end ?? until) - $0) } }
        let lengths = [("dns", length(dnsStart, dnsEnd)), ("connect", length(connectStart, connectEnd)), ("tls", length(tlsStart, tlsEnd))]
        let steps = lengths.compactMap { name, duration in duration.map { (name, $0) } }
        return [("queue", max(.zero, steps.reduce(until - start) { $0 - $1.1 }))] + steps
    }
}
