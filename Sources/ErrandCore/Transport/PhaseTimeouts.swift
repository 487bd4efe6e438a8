/// The longest durations of the phases of an exchange, each limited on its own. `nil` means no limit; more than 100 years count as 100
/// years.
///
/// ```swift
/// transport.phaseTimeouts(connect: .seconds(5), firstByte: .seconds(10))
/// request.options.phaseTimeouts = .use(PhaseTimeouts(firstByte: .seconds(2)))
/// ```
///
/// They apply in addition to the deadline, which limits the whole. The transport's boundary enforces them for every transport: an exchange
/// that takes longer is cancelled, and fails with a ``TransportError`` with the code `timedOut` and the phase. Its `delivery` is `notSent` in
/// the queue and while connecting, with a transport that measures the phases itself, as the one over SwiftNIO does with the clock
/// `ContinuousClock`. Otherwise it is `unknown`, also while connecting: the request may be sent at the moment when the limit passes.
public struct PhaseTimeouts: Sendable {
    /// The limit for waiting in the transport's queue. A transport that can't distinguish this from connecting has one phase for both,
    /// ``ExchangePhase/connect``, whose limit is the sum of the two.
    public var queue: Duration?
    /// The limit for resolving the host, connecting, and the TLS handshake.
    public var connect: Duration?
    /// The limit from the request's last byte to the head of the response.
    public var firstByte: Duration?
    /// The limit between two chunks of the response's body while the next one is wanted. It starts again with each chunk.
    public var idleRead: Duration?
    /// The limit for the time in which the connection accepts no byte of the request's body, while there is one. The time that the body
    /// takes to produce bytes does not count. It starts again with each chunk.
    public var idleWrite: Duration?
    /// The clock that measures them.
    public var clock: any Clock<Duration>
    /// What has set them, for messages.
    var setter = LimitSetter.phaseTimeouts

    /// Creates limits. For each parameter, see the property of the same name; `nil`, the default: no limit.
    ///
    /// - Precondition: every limit is more than zero, or `nil`.
    public init(
        queue: Duration? = nil, connect: Duration? = nil, firstByte: Duration? = nil, idleRead: Duration? = nil,
        idleWrite: Duration? = nil, clock: any Clock<Duration> = ContinuousClock()
    ) {
        let limits = [
            ("queue", queue), ("connect", connect), ("firstByte", firstByte), ("idleRead", idleRead), ("idleWrite", idleWrite),
        ]
        for (name, limit) in limits {
            precondition(limit.map { $0 > .zero } ?? true, "\(name) must be more than zero, or nil (is \((limit ?? .zero).inWords))")
        }
        (self.queue, self.connect, self.firstByte) = (queue, connect, firstByte)
        (self.idleRead, self.idleWrite, self.clock) = (idleRead, idleWrite, clock)
    }

    /// These limits, none longer than a clock can wait.
    var bounded: PhaseTimeouts {
        var limits = self
        (limits.queue, limits.connect, limits.firstByte) = (queue?.bounded, connect?.bounded, firstByte?.bounded)
        (limits.idleRead, limits.idleWrite) = (idleRead?.bounded, idleWrite?.bounded)
        return limits
    }

    /// The five limits.
    package var durations: [Duration?] { [queue, connect, firstByte, idleRead, idleWrite] }

    /// Whether there is no limit.
    public var isEmpty: Bool { [queue, connect, firstByte, idleRead, idleWrite].allSatisfy { $0 == nil } }
}
