/// How long each phase of an exchange may take, each on its own; nil is without bounds, and more than 100 years count as 100 years.
///
/// They stand beside the deadline, which bounds the whole. The transport's boundary holds them, whatever the transport: what takes
/// longer is cancelled, and fails with a ``TransportError`` with the code `timedOut` that names the phase. Its `delivery` is `maybe`, also
/// while connecting: a request may leave at the very moment at which its time is up.
public struct PhaseTimeouts: Sendable {
    /// Waiting for a turn. A transport that can't tell this from connecting has one phase for both, ``ExchangePhase/connect``, whose limit
    /// is the sum of the two.
    public var queue: Duration?
    /// Looking up the host, connecting, TLS.
    public var connect: Duration?
    /// From the request's last byte to the head of the response.
    public var firstByte: Duration?
    /// Between two pieces of the response's body, while somebody wants the next. Starts anew with each.
    public var idleRead: Duration?
    /// The connection takes no byte of the request's body, while there is one. What the body itself takes to produce bytes does not
    /// count. Starts anew with each piece.
    public var idleWrite: Duration?
    /// What they are measured by.
    public var clock: any Clock<Duration>

    public init(
        queue: Duration? = nil, connect: Duration? = nil, firstByte: Duration? = nil, idleRead: Duration? = nil,
        idleWrite: Duration? = nil, clock: any Clock<Duration> = ContinuousClock()
    ) {
        let limits = [
            ("queue", queue), ("connect", connect), ("firstByte", firstByte), ("idleRead", idleRead), ("idleWrite", idleWrite),
        ]
        for (name, limit) in limits {
            precondition(limit.map { $0 > .zero } ?? true, "\(name) must be more than zero, or nil (is \(limit ?? .zero))")
        }
        (self.queue, self.connect, self.firstByte) = (queue, connect, firstByte)
        (self.idleRead, self.idleWrite, self.clock) = (idleRead, idleWrite, clock)
    }

    /// These limits, none of which is longer than a clock can wait.
    var bounded: PhaseTimeouts {
        var limits = self
        (limits.queue, limits.connect, limits.firstByte) = (queue?.bounded, connect?.bounded, firstByte?.bounded)
        (limits.idleRead, limits.idleWrite) = (idleRead?.bounded, idleWrite?.bounded)
        return limits
    }

    /// The five of them.
    package var durations: [Duration?] { [queue, connect, firstByte, idleRead, idleWrite] }

    /// Nothing is bounded.
    public var isEmpty: Bool { [queue, connect, firstByte, idleRead, idleWrite].allSatisfy { $0 == nil } }
}
