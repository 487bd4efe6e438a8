public import ErrandCore
public import ErrandFormats

/// The conditions under which an event stream connects again, and the limits of the stream.
///
/// ```swift
/// client.events("/prices", policy: EventStreamPolicy(maxReconnects: 10, silenceTimeout: .seconds(45)))
/// ```
///
/// The wait before a connection is the reconnection time plus the backoff with its jitter. If the server sends `Retry-After`, the wait is
/// at least the time in this field, up to ``maxRetryAfter``.
public struct EventStreamPolicy: Sendable, CustomStringConvertible {
    /// The largest number of successive reconnects without an event. `nil`: the number is not limited. An event resets the count.
    ///
    /// With 0, the stream never connects again: it ends when the server ends the stream, and fails when the connection fails.
    public var maxReconnects: Int?
    /// The wait before each new connection, until the server sets another wait by a `retry` field.
    public var reconnectionTime: Duration
    /// The longest wait that the server may ask for. A longer `Retry-After` ends the stream with the error of the response. A longer
    /// `retry` field is reduced to this wait.
    public var maxRetryAfter: Duration
    /// The additional wait, which grows with each successive connection without an event.
    public var backoff: Backoff
    /// The random part of the backoff. Jitter keeps the clients of a restarted server from connecting at the same time.
    public var jitter: Backoff.Jitter
    /// The longest time without a byte from the server, measured from the request or the last byte. `nil`: the time is not limited.
    ///
    /// If a stream becomes silent, the stream connects again. If no byte has ever arrived, the stream fails with an ``EventStreamError``.
    /// Servers send comments to show that a stream without events is alive ([HTML, section
    /// 9.2.7](https://html.spec.whatwg.org/multipage/server-sent-events.html#authoring-notes)).
    public var silenceTimeout: Duration?
    /// The largest size of an event in bytes. If an event is larger, the stream fails with a ``/ErrandCore/TransportError`` with the code
    /// `bodyTooLarge`.
    public var eventLimitBytes: Int
    /// The statuses after which the stream connects again. After any other status except 200 and 204, the stream does not connect again.
    /// With another status 2xx, such as 202, the stream fails even if the rule accepts the status.
    public var statuses: StatusRule
    /// Whether a request that is not idempotent, such as a POST, may be processed twice. This property matters only if both are true: the
    /// server may have processed the request, and the stream has no last event ID.
    ///
    /// If true, the request is sent again, and may be processed twice. If false, the request is sent again only in these cases, in which
    /// the server certainly has not processed the request:
    ///
    /// - The request was not sent.
    /// - The server reports over HTTP/2 that the request was not processed.
    /// - The response has the status 429, or the status 503 and `Retry-After`.
    public var resendsNonIdempotent: Bool

    /// Creates a policy. For each parameter, see the property of the same name.
    ///
    /// - Parameters:
    ///   - maxReconnects: at least 0. Default: `nil`, no limit.
    ///   - reconnectionTime: at least zero. Default: 3 s.
    ///   - maxRetryAfter: at least zero. Default: an hour.
    ///   - backoff: the growing part of the wait. Default: 1 s, doubled up to 30 s.
    ///   - jitter: the random part of the wait. Default: full.
    ///   - silenceTimeout: more than zero. Default: 5 minutes.
    ///   - eventLimitBytes: at least 1. Default: 1 MiB.
    ///   - statuses: the statuses after which the stream connects again. Default: 429 and 500 to 599.
    ///   - resendsNonIdempotent: whether a request may be processed twice. Default: `false`, because a second POST to a language
    ///     model returns a different text.
    public init(
        maxReconnects: Int? = nil, reconnectionTime: Duration = .seconds(3), maxRetryAfter: Duration = .seconds(3_600),
        backoff: Backoff = .exponential(base: .seconds(1), factor: 2, maxDelay: .seconds(30)), jitter: Backoff.Jitter = .full,
        silenceTimeout: Duration? = .seconds(300), eventLimitBytes: Int = EventStreamParser.defaultEventLimitBytes,
        statuses: StatusRule = StatusRule("429, 5xx") { $0.code == 429 || $0.kind == .serverError },
        resendsNonIdempotent: Bool = false
    ) {
        precondition(maxReconnects ?? 0 >= 0, "maxReconnects must be at least 0, or nil (is \(maxReconnects ?? 0))")
        precondition(reconnectionTime >= .zero, "reconnectionTime must be at least zero (is \(reconnectionTime.inWords))")
        precondition(maxRetryAfter >= .zero, "maxRetryAfter must be at least zero (is \(maxRetryAfter.inWords))")
        precondition(
            silenceTimeout.map { $0 > .zero } ?? true,
            "silenceTimeout must be more than zero, or nil (is \((silenceTimeout ?? .zero).inWords))")
        precondition(eventLimitBytes > 0, "eventLimitBytes must be at least 1 (is \(eventLimitBytes))")
        self.maxReconnects = maxReconnects
        self.reconnectionTime = reconnectionTime
        self.backoff = backoff
        self.jitter = jitter
        self.maxRetryAfter = maxRetryAfter
        (self.silenceTimeout, self.eventLimitBytes) = (silenceTimeout, eventLimitBytes)
        (self.statuses, self.resendsNonIdempotent) = (statuses, resendsNonIdempotent)
    }

    /// The stream connects again without limit, after 3 s and a backoff of up to 30 s. The stream fails after 5 minutes without a first
    /// byte.
    public static let standard = EventStreamPolicy()

    /// The waits and the limits: `reconnects after 3 s plus 1 s to 30 s, silence 5 min`.
    public var description: String {
        let waits = "after \(reconnectionTime.inWords) plus \(backoff)" + (jitter == .full ? "" : ", \(jitter)")
        let reconnects =
            switch maxReconnects {
            case nil: "reconnects \(waits)"
            case 0?: "no reconnects"
            case let count?: "at most \(count.counted("reconnect")) without an event, \(waits)"
            }
        return reconnects + (silenceTimeout.map { ", silence \($0.inWords)" } ?? "")
    }
}
