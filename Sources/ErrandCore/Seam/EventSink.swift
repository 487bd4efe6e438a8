/// What happened in an exchange, and when. An open set: more kinds come with the transports that can tell them.
public struct ExchangeEvent: Sendable {
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        public let description: String
        public init(_ description: String) { self.description = description }

        /// The transport took the request.
        public static let start = Kind("start")
        public static let requestHeadSent = Kind("requestHeadSent")
        /// The last byte of the request has been written.
        public static let requestSent = Kind("requestSent")
        public static let responseHead = Kind("responseHead")
        /// The exchange ended: whole, failed or abandoned. The last event of each exchange.
        public static let end = Kind("end")
    }

    public let kind: Kind
    public let instant: ContinuousClock.Instant
    /// The request's id.
    public let request: RequestID
    /// What broke the exchange off; only with ``Kind/end``.
    public let failure: (any Error)?

    public init(_ kind: Kind, request: RequestID, failure: (any Error)? = nil) {
        (self.kind, self.request, self.failure) = (kind, request, failure)
        instant = .now
    }
}

/// Who is told of events, synchronously and in order; must be quick and must not block.
public protocol EventSink: Sendable {
    func record(_ event: ExchangeEvent)
}
