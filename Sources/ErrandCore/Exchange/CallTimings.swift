/// What the exchanges of one call took.
public struct CallTimings: Sendable, Hashable {
    /// One for each request that was sent, in order: attempts, redirects and hedges.
    public let exchanges: [ExchangeTimings]
    /// How many redirects were followed.
    public let redirectCount: Int

    /// From the first request's beginning to the last response's end; nil while one is under way, and where nothing was sent.
    public var total: Duration? {
        guard let first = exchanges.map(\.start).min() else { return nil }
        let ends = exchanges.compactMap(\.end)
        guard ends.count == exchanges.count, let last = ends.max() else { return nil }
        return last - first
    }
}

/// One request and its response: when each step was taken, counted from the beginning of the call. A step that was not reached, or that
/// the transport does not tell, is nil.
public struct ExchangeTimings: Sendable, Hashable {
    /// Without secrets.
    public let url: String
    public let method: String
    /// The transport took the request.
    public let start: Duration
    /// There was a connection.
    public internal(set) var connected: Duration?
    public internal(set) var requestHeadSent: Duration?
    public internal(set) var requestSent: Duration?
    public internal(set) var responseHead: Duration?
    public internal(set) var firstByte: Duration?
    /// The exchange was over on the wire.
    public internal(set) var end: Duration?
    /// Of the request's body.
    public internal(set) var sentBytes: Int64 = 0
    /// Of the response's body, as the transport hands it on.
    public internal(set) var receivedBytes: Int64 = 0
    public internal(set) var connection: ConnectionInfo?
    /// `1.1` or `2`; nil where the transport does not say.
    public internal(set) var httpVersion: String?
    public internal(set) var status: Int?
    /// Whether it ended as it should: nil while it is under way.
    public internal(set) var isComplete: Bool?

    /// Whether its connection had been used before; nil where the transport does not say.
    public var isReused: Bool? { connection?.isReused }

    init(_ request: Request, at start: Duration) {
        (url, method, self.start) = (request.redactedURL, request.method.rawValue, start)
    }

    mutating func record(_ event: ExchangeEvent, at instant: Duration) {
        switch event.kind {
        case .connectionAcquired: (connected, connection) = (instant, event.connection)
        case .requestHeadSent: requestHeadSent = instant
        case .requestBytesSent: sentBytes = event.bytes ?? sentBytes
        case .requestSent: requestSent = instant
        case .responseHead: (responseHead, status) = (instant, event.response?.status.code)
        case .responseBytesReceived:
            if firstByte == nil { firstByte = instant }
            receivedBytes = event.bytes ?? receivedBytes
        case .end: (end, isComplete) = (instant, event.failure == nil)
        default: break
        }
    }

    /// The phases that it went through, each with how long it took: `connect`, `send`, `wait` and `receive`. The last is the one that it ended in.
    public var phases: [(name: String, duration: Duration)] {
        var phases: [(String, Duration)] = []
        var since = start
        func add(_ name: String, _ until: Duration?) {
            guard let until, until >= since else { return }
            phases.append((name, until - since))
            since = until
        }
        // Where it is not told when there was a connection, the head went out with it.
        add("connect", connected ?? requestHeadSent)
        // A response may begin before the request is whole: the rest of the sending is none of the call's time then.
        add("send", [requestSent, responseHead].compactMap { $0 }.min())
        add("wait", responseHead)
        let last = responseHead != nil ? "receive" : requestSent != nil ? "wait" : connected ?? requestHeadSent != nil ? "send" : "connect"
        add(last, end)
        return phases
    }
}
