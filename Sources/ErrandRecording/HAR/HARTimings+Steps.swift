internal import ErrandCore

extension HARTimings {
    /// Creates the times of a recorded exchange. Each moment of the exchange belongs to one phase, so that the sum of the phases is the
    /// whole time.
    ///
    /// - Parameters:
    ///   - steps: the steps that the transport reported, counted from the beginning of the exchange.
    ///   - head: the time at which the head of the response was received; `nil` if no head was received.
    ///   - end: the time at which the exchange ended.
    init(_ steps: ExchangeTimings, head: Duration?, end: Duration) {
        let headReceived = min(head ?? end, end)
        func length(_ start: Duration?, _ end: Duration?, atMost limit: Duration) -> Duration? {
            guard let start else { return nil }
            return min(max(.zero, (end ?? headReceived) - start), limit)
        }
        let opens = steps.isReused != true && !steps.failedInQueue && (steps.dnsStart ?? steps.connectStart ?? steps.tlsStart) != nil
        guard let ready = [steps.connected, steps.requestHeadSent, opens ? headReceived : nil].lazy.compactMap({ $0 }).first else {
            // The transport does not report its steps, or there was no connection before the failure.
            let wait = steps.failedInQueue ? .zero : headReceived
            self.init(wait: wait.milliseconds, receive: (end - headReceived).milliseconds)
            if steps.failedInQueue { blocked = headReceived.milliseconds }
            return
        }
        let connected = min(ready, headReceived)
        // The phase `send` lasts at most until the head is received.
        let sent = min(max(connected, steps.requestSent ?? headReceived), headReceived)
        self.init(
            send: (sent - connected).milliseconds, wait: (headReceived - sent).milliseconds, receive: (end - headReceived).milliseconds)
        let dns = opens ? length(steps.dnsStart, steps.dnsEnd, atMost: connected) : nil
        let left = connected - (dns ?? .zero)
        // The TLS handshake is a part of connecting.
        let connectEnd = steps.tlsStart == nil ? steps.connectEnd : steps.tlsEnd
        let connect = opens ? length(steps.connectStart ?? steps.tlsStart, connectEnd, atMost: left) : nil
        let tls = opens ? length(steps.tlsStart, steps.tlsEnd, atMost: connect ?? .zero) : nil
        blocked = (left - (connect ?? .zero)).milliseconds
        self.dns = dns?.milliseconds ?? -1
        self.connect = connect?.milliseconds ?? -1
        ssl = tls?.milliseconds ?? -1
    }

    /// The time from the beginning to the head of the response.
    var beforeHead: Double { Self.sum([blocked, dns, connect, send, wait]) }

    /// The time from the beginning to the end: all phases except `ssl`, which is a part of `connect`.
    var total: Double { Self.sum([blocked, dns, connect, send, wait, receive]) }

    /// The sum of the known times, with a precision of one microsecond.
    private static func sum(_ phases: [Double?]) -> Double {
        (phases.reduce(0) { $0 + max(0, $1 ?? 0) } * 1000).rounded() / 1000
    }
}
