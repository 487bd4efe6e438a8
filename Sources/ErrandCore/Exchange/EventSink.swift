internal import Synchronization

/// What happened in a call or in one of its exchanges, and when. An open set: more kinds come with those who can tell them.
///
/// The grammar, for a call with ``HTTPSender/events(to:)`` outside everything: `callStart` is the first event and `callEnd` the last.
/// In between, each exchange has a number of its own (``exchange``), begins with `start`, and has `end` as its last event; in that
/// order, as far as it gets and as far as the transport can tell: `connectionAcquired`, `requestHeadSent`, `requestBytesSent` (any number),
/// `requestSent`, `informationalResponse` (any number), `responseHead`, `responseBytesReceived` (any number). A response may begin
/// before the request is whole. Of `queueStart` and `queueEnd`, `waitStart` and `waitEnd` the first is always followed by the second.
public struct ExchangeEvent: Sendable {
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        public let description: String
        public init(_ description: String) { self.description = description }

        /// A call begins, with all that its middleware do. The first event of each call.
        public static let callStart = Kind("callStart")
        /// A call is over, and every exchange of it: ``ExchangeEvent/failure`` says how. The last event of each call.
        public static let callEnd = Kind("callEnd")
        /// It waits for a turn, under a limit.
        public static let queueStart = Kind("queueStart")
        /// It has its turn, or has given up waiting.
        public static let queueEnd = Kind("queueEnd")
        /// It waits before it is sent again.
        public static let waitStart = Kind("waitStart")
        public static let waitEnd = Kind("waitEnd")
        /// Whether an attempt is followed by another: ``ExchangeEvent/decision``.
        public static let retryDecision = Kind("retryDecision")
        /// Whether a redirect is followed: ``ExchangeEvent/decision``.
        public static let redirectDecision = Kind("redirectDecision")

        /// The transport took the request. The first event of each exchange.
        public static let start = Kind("start")
        /// There is a connection, new or kept: ``ExchangeEvent/connection``.
        public static let connectionAcquired = Kind("connectionAcquired")
        public static let requestHeadSent = Kind("requestHeadSent")
        /// A piece of the request's body was taken: ``ExchangeEvent/bytes`` says how much in all. Upload progress.
        public static let requestBytesSent = Kind("requestBytesSent")
        /// The last byte of the request has been written.
        public static let requestSent = Kind("requestSent")
        /// An informational response came (1xx; RFC 9110, 15.2): ``ExchangeEvent/response`` is its head.
        public static let informationalResponse = Kind("informationalResponse")
        /// ``ExchangeEvent/response`` is the head, where the transport tells it.
        public static let responseHead = Kind("responseHead")
        /// A piece of the response's body came, read or not: ``ExchangeEvent/bytes`` says how much in all.
        public static let responseBytesReceived = Kind("responseBytesReceived")
        /// The exchange ended: whole, failed or abandoned. The last event of each exchange.
        public static let end = Kind("end")
    }

    public let kind: Kind
    /// Never before that of the event before it, in one call.
    public package(set) var instant: ContinuousClock.Instant
    /// The request's id.
    public let request: RequestID
    /// Which exchange it belongs to: a number that no other exchange of this process has. Nil where it belongs to the call.
    public let exchange: Int?
    /// Of the body, so far; only with ``Kind/requestBytesSent`` and ``Kind/responseBytesReceived``.
    public let bytes: Int64?
    /// Only with ``Kind/informationalResponse`` and ``Kind/responseHead``.
    public var response: HTTPResponse? { details?.response }
    /// Only with ``Kind/connectionAcquired``.
    public var connection: ConnectionInfo? { details?.connection }
    /// Only with ``Kind/retryDecision`` and ``Kind/redirectDecision``.
    public var decision: Decision? { details?.decision }
    /// What ``HTTPSender/number()`` gave the request; nil where it has none.
    public var number: Int? { labels?.number }
    /// The request's own, without secrets.
    public var tags: [String: String] { labels?.tags ?? [:] }
    /// What broke it off; only with ``Kind/end`` and ``Kind/callEnd``.
    public let failure: (any Error)?

    /// What few events have, apart: most are small.
    private final class Details: Sendable {
        let response: HTTPResponse?
        let connection: ConnectionInfo?
        let decision: Decision?

        init(_ response: HTTPResponse?, _ connection: ConnectionInfo?, _ decision: Decision?) {
            (self.response, self.connection, self.decision) = (response, connection, decision)
        }
    }

    /// What all events of a call have in common.
    package final class Labels: Sendable {
        let number: Int?
        let tags: [String: String]

        package init(number: Int?, tags: [String: String]) { (self.number, self.tags) = (number, tags) }
    }

    private let details: Details?
    /// Nil where there are none.
    var labels: Labels?

    /// What is done about an answer, or about there being none.
    public struct Decision: Sendable, Hashable, CustomStringConvertible {
        /// Whether another exchange follows.
        public let continues: Bool
        /// Before that; nil where nothing follows.
        public let delay: Duration?
        /// In a few words, without secrets.
        public let description: String

        public init(continues: Bool, after delay: Duration? = nil, _ description: String) {
            (self.continues, self.delay, self.description) = (continues, delay, description)
        }
    }

    public init(
        _ kind: Kind, request: RequestID, exchange: Int? = nil, bytes: Int64? = nil, response: HTTPResponse? = nil,
        connection: ConnectionInfo? = nil, decision: Decision? = nil, failure: (any Error)? = nil
    ) {
        (self.kind, self.request, self.exchange, self.bytes) = (kind, request, exchange, bytes)
        self.failure = failure
        let isPlain = response == nil && connection == nil && decision == nil
        details = isPlain ? nil : Details(response, connection, decision)
        instant = .now
    }

    private static let lastExchange = Atomic(0)

    /// A number for another exchange. For transports.
    public static func nextExchange() -> Int { lastExchange.add(1, ordering: .relaxed).newValue }
}

extension ExchangeEvent: CustomStringConvertible, CustomReflectable {
    /// The kind, the exchange, and what belongs to them, without secrets: of a response the status, of a failure of the app's own its type.
    public var description: String {
        var parts = [kind.description + (exchange.map { " of exchange \($0)" } ?? "")]
        if let bytes { parts.append("\(bytes) bytes") }
        if let response { parts.append("status \(response.status.code)") }
        if let connection { parts.append("\(connection.isReused ? "kept" : "new") connection \(connection.number)") }
        if let decision { parts.append(decision.description) }
        if let failure { parts.append(shownError(failure)) }
        return parts.joined(separator: ", ")
    }

    public var customMirror: Mirror { Mirror(self, children: ["event": description]) }
}

/// The connection that an exchange goes over.
public struct ConnectionInfo: Sendable, Hashable {
    /// One that no other connection of the transport has, from 1.
    public let number: Int
    /// Whether another exchange has gone over it before, or goes over it beside this one.
    public let isReused: Bool
    /// Of the other side, as an IP address; nil where it is not known.
    public let peerAddress: String?
    /// Nil where it is not known.
    public let peerPort: Int?

    public init(number: Int, isReused: Bool, peerAddress: String? = nil, peerPort: Int? = nil) {
        (self.number, self.isReused, self.peerAddress, self.peerPort) = (number, isReused, peerAddress, peerPort)
    }
}

/// Who is told of events, synchronously and in order; must be quick and must not block.
public protocol EventSink: Sendable {
    func record(_ event: ExchangeEvent)
}

/// A transport that knows its open connections.
public protocol ConnectionSource: Sendable {
    /// Those that are open now, with and without an exchange.
    var openConnections: [OpenConnection] { get }
}

/// A connection of a transport.
public struct OpenConnection: Sendable, Hashable {
    /// As in ``ConnectionInfo``.
    public let number: Int
    /// Host and port, as the requests on it name them; nil before the first.
    public let authority: String?
    /// How many exchanges are under way on it; none on an idle one.
    public let exchanges: Int
    /// How many have begun on it so far.
    public let exchangesStarted: Int

    public init(number: Int, authority: String?, exchanges: Int, exchangesStarted: Int) {
        (self.number, self.authority, self.exchanges, self.exchangesStarted) = (number, authority, exchanges, exchangesStarted)
    }
}
