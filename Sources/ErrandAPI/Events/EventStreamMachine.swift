internal import ErrandCore

/// The rules that decide whether an event stream connects again, and after which wait. This type performs no action itself.
struct EventStreamMachine: Sendable {
    /// The end of a connection, or of an attempt to connect.
    enum End: Sendable, Hashable {
        /// The server ended the stream.
        case complete
        /// The server reported that the stream is over (204).
        case noContent
        /// The connection failed, or the server refused the request temporarily.
        ///
        /// - mayBeProcessed: whether the server may have processed the request.
        case failed(mayBeProcessed: Bool, retryAfter: Duration?)
        /// No byte arrived within the silence timeout of the policy.
        case silent
        /// A failure that another attempt would repeat.
        case permanent
    }

    enum Decision: Sendable, Hashable {
        /// Connect again after this wait.
        case connect(after: Duration)
        /// The sequence ends.
        case finish
        /// The sequence fails, with the error that ended the connection.
        case fail
    }

    private let policy: EventStreamPolicy
    /// Whether the method of the request is idempotent.
    private let isIdempotent: Bool
    /// The value of `Last-Event-ID` for the next connection. If the value is empty, the field is not sent. An ID of more than 8192 bytes
    /// is not sent.
    private(set) var lastEventID: String
    /// The reconnection time that the server has set. Until the server sets a time, the value is the reconnection time of the policy.
    private(set) var reconnectionTime: Duration
    /// Whether a byte arrived on any connection.
    private(set) var hasReceived = false
    /// The number of reconnects since the last event.
    private(set) var reconnects = 0

    /// - Parameters:
    ///   - isIdempotent: whether the method of the request is idempotent.
    ///   - lastEventID: the value of `Last-Event-ID` for the first connection. If the value is empty, the default, the field is not sent.
    init(_ policy: EventStreamPolicy, isIdempotent: Bool, lastEventID: String = "") {
        (self.policy, self.isIdempotent, self.lastEventID) = (policy, isIdempotent, lastEventID)
        reconnectionTime = policy.reconnectionTime
    }

    /// Records that bytes arrived.
    mutating func receive() { hasReceived = true }

    /// Records the last event ID and the reconnection time of the stream.
    mutating func record(lastEventID: String, reconnectionTime: Duration?) {
        self.lastEventID = lastEventID
        if let reconnectionTime { self.reconnectionTime = min(reconnectionTime, policy.maxRetryAfter) }
    }

    /// Records that the app gets an event.
    mutating func deliver() { reconnects = 0 }

    /// Decides the next step after the end of a connection.
    ///
    /// - Parameters:
    ///   - canReplay: whether the body of the request can be sent again.
    ///   - random: a number from 0 up to, but not including, 1.
    mutating func endConnection(_ end: End, canReplay: Bool, random: Double) -> Decision {
        let (mayBeProcessed, asked): (Bool, Duration?)
        switch end {
        case .noContent: return .finish
        case .permanent: return .fail
        case .silent where !hasReceived: return .fail
        case .complete, .silent: (mayBeProcessed, asked) = (true, nil)
        case .failed(let isPossible, let retryAfter): (mayBeProcessed, asked) = (isPossible, retryAfter)
        }
        let isAllowed = isIdempotent || policy.resendsNonIdempotent || !mayBeProcessed || !lastEventID.isEmpty
        guard isAllowed, canReplay, policy.maxReconnects != 0 else { return end == .complete ? .finish : .fail }
        if let maxReconnects = policy.maxReconnects, reconnects >= maxReconnects { return .fail }
        reconnects += 1
        let wait = policy.backoff.wait(
            afterAttempt: reconnects, jitter: policy.jitter, plus: reconnectionTime, retryAfter: asked, atMost: policy.maxRetryAfter,
            random: random)
        return wait.map { .connect(after: $0) } ?? .fail
    }
}
