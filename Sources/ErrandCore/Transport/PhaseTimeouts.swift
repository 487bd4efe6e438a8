/// The longest durations of the phases of an exchange. `nil` means no limit. A limit of more than 100 years is treated as 100
/// years.
///
/// ```swift
/// transport.phaseTimeouts(connect: .seconds(5), firstByte: .seconds(10))
/// request.options.phaseTimeouts = .use(PhaseTimeouts(firstByte: .seconds(2)))
/// ```
///
/// These limits apply in addition to the deadline, which limits the whole call. If a transport does not enforce the limits itself, the
/// transport's boundary enforces the limits. If a phase takes longer than its limit, the exchange is cancelled. The exchange fails with a
/// ``TransportError`` that has the code `timedOut` and names the phase.
///
/// The `delivery` of the error depends on the transport. A transport with ``TransportCapabilities/phaseTimeouts`` measures the phases
/// itself on a `ContinuousClock`. The errors of this transport have the delivery `notSent` in the queue and while connecting, and `unknown`
/// in later phases. With any other transport, `delivery` is always `unknown`, because the request may be sent at the moment when the limit
/// is exceeded.
public struct PhaseTimeouts: Sendable {
    /// The limit for waiting in the transport's queue. Some transports can't distinguish waiting from connecting. For a transport without
    /// this distinction, waiting and connecting are one phase, ``ExchangePhase/connect``. The limit of that phase is the sum of ``queue``
    /// and ``connect``.
    public var queue: Duration?
    /// The limit for resolving the host, connecting, and the TLS handshake.
    public var connect: Duration?
    /// The limit from the request's last byte to the head of the response.
    public var firstByte: Duration?
    /// The limit for waiting for the next chunk of the response's body, while the reader asks for a chunk. The limit starts again
    /// with each chunk.
    public var idleRead: Duration?
    /// The limit for a pause in sending the request's body: a byte is ready to be sent, but the connection accepts no byte. The limit
    /// does not include the time that the body takes to produce bytes. The limit starts again with each chunk.
    public var idleWrite: Duration?
    /// The clock that measures the limits.
    public var clock: any Clock<Duration>
    /// The setting that has set the limits, for messages.
    var setter = LimitSetter.phaseTimeouts

    /// Creates limits. For each parameter, see the property of the same name; `nil`, the default: no limit.
    ///
    /// - Precondition: every limit is more than zero, or `nil`.
    public init(
        queue: Duration? = nil, connect: Duration? = nil, firstByte: Duration? = nil, idleRead: Duration? = nil,
        idleWrite: Duration? = nil, clock: any Clock<Duration> = ContinuousClock()
    ) {
        (self.queue, self.connect, self.firstByte) = (queue, connect, firstByte)
        (self.idleRead, self.idleWrite, self.clock) = (idleRead, idleWrite, clock)
        for limit in Limit.allCases {
            let value = self[limit] ?? .nanoseconds(1)
            precondition(value > .zero, "\(limit) must be more than zero, or nil (is \(value.inWords))")
        }
    }

    /// The names of the limits, in the order of an exchange.
    package enum Limit: String, Sendable, CaseIterable {
        case queue, connect, firstByte, idleRead, idleWrite
    }

    package subscript(limit: Limit) -> Duration? {
        get {
            switch limit {
            case .queue: queue
            case .connect: connect
            case .firstByte: firstByte
            case .idleRead: idleRead
            case .idleWrite: idleWrite
            }
        }
        set {
            switch limit {
            case .queue: queue = newValue
            case .connect: connect = newValue
            case .firstByte: firstByte = newValue
            case .idleRead: idleRead = newValue
            case .idleWrite: idleWrite = newValue
            }
        }
    }

    /// Returns these limits, each changed by `change`.
    package func map(_ change: (Limit, Duration?) -> Duration?) -> PhaseTimeouts {
        var limits = self
        for limit in Limit.allCases { limits[limit] = change(limit, self[limit]) }
        return limits
    }

    /// A copy in which no limit is longer than 100 years, so that no clock traps.
    var bounded: PhaseTimeouts { map { $1?.bounded } }

    /// The five limits.
    package var durations: [Duration?] { Limit.allCases.map { self[$0] } }

    /// The limits that are set, with their names.
    package var named: [(name: String, limit: Duration)] { named(Limit.allCases) }

    private func named(_ limits: [Limit]) -> [(name: String, limit: Duration)] {
        limits.compactMap { limit in self[limit].map { (limit.rawValue, $0) } }
    }

    /// Returns the message for exceeded limits: `the limit idleRead is 200 ms, set by .phaseTimeouts`.
    package func message(_ limits: Limit...) -> String { setter.message(named(limits)) }

    /// Whether there is no limit.
    public var isEmpty: Bool { Limit.allCases.allSatisfy { self[$0] == nil } }
}
