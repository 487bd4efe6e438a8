extension ExchangeEvent {
    /// The instants of an exchange's steps, for a transport that reports all instants together at the end of the exchange
    /// (``ExchangeEvent/Kind/timings``).
    ///
    /// An instant is `nil` if the step was not needed, or if the transport does not know the instant. The steps happen in the order of the
    /// properties.
    public struct Timings: Sendable, Hashable {
        /// The instant when the lookup of the host began.
        public var dnsStart: ContinuousClock.Instant?
        /// The instant when the lookup of the host ended.
        public var dnsEnd: ContinuousClock.Instant?
        /// The instant when opening the connection began.
        public var connectStart: ContinuousClock.Instant?
        /// The instant when the connection was open (before TLS).
        public var connectEnd: ContinuousClock.Instant?
        /// The instant when the TLS handshake began.
        public var tlsStart: ContinuousClock.Instant?
        /// The instant when the TLS handshake ended.
        public var tlsEnd: ContinuousClock.Instant?
        /// The instant when the exchange got a connection.
        public var connected: ContinuousClock.Instant?
        /// The instant when the head of the request was sent.
        public var requestHeadSent: ContinuousClock.Instant?
        /// The instant when the last byte of the request was sent.
        public var requestSent: ContinuousClock.Instant?
        /// The instant when the head of the response was received.
        public var responseHead: ContinuousClock.Instant?

        /// The connection of the exchange; `nil` if it is not known.
        public var connection: ConnectionInfo?

        /// Creates timings without instants.
        public init() {}

        /// The known instants, in the order of the steps.
        package var steps: [(name: String, instant: ContinuousClock.Instant)] {
            let all = [
                ("dnsStart", dnsStart), ("dnsEnd", dnsEnd), ("connectStart", connectStart), ("connectEnd", connectEnd),
                ("tlsStart", tlsStart),
                ("tlsEnd", tlsEnd), ("connected", connected), ("requestHeadSent", requestHeadSent), ("requestSent", requestSent),
                ("responseHead", responseHead),
            ]
            return all.compactMap { name, instant in instant.map { (name, $0) } }
        }
    }
}

extension ExchangeTimings {
    /// Adds the times of steps that a transport has reported only at the end of the exchange. Times that were reported earlier stay
    /// unchanged.
    ///
    /// - Parameters:
    ///   - timings: the instants.
    ///   - end: the instant at which the timings were reported.
    ///   - now: the time of `end`, counted from the beginning of the call. Times after `now` become `now`, and times before ``start``
    ///     become ``start``.
    mutating func take(_ timings: ExchangeEvent.Timings, reportedAt end: ContinuousClock.Instant, _ now: Duration) {
        func time(_ instant: ContinuousClock.Instant?) -> Duration? { instant.map { min(now, max(start, now + end.duration(to: $0))) } }
        func pair(_ first: ContinuousClock.Instant?, _ last: ContinuousClock.Instant?) -> (Duration?, Duration?) {
            let begun = time(first)
            return (begun, begun.flatMap { begun in time(last).map { max(begun, $0) } })
        }
        // The steps must belong to one attempt to connect. Therefore the reported steps are taken only if no step of connecting
        // was reported earlier.
        if dnsStart == nil, connectStart == nil, tlsStart == nil {
            (dnsStart, dnsEnd) = pair(timings.dnsStart, timings.dnsEnd)
            (connectStart, connectEnd) = pair(timings.connectStart, timings.connectEnd)
            (tlsStart, tlsEnd) = pair(timings.tlsStart, timings.tlsEnd)
        }
        connected = connected ?? time(timings.connected)
        requestHeadSent = requestHeadSent ?? time(timings.requestHeadSent)
        requestSent = requestSent ?? time(timings.requestSent)
        responseHead = responseHead ?? time(timings.responseHead)
        connection = connection ?? timings.connection
    }
}
