internal import Synchronization

/// An event in a call or in one of its exchanges: the kind of the event, its time and its details.
///
/// ```swift
/// struct Uploads: EventSink {
///     func record(_ event: ExchangeEvent) {
///         if event.kind == .requestBytesSent, let bytes = event.bytes { print("sent \(bytes) bytes") }
///     }
/// }
///
/// let stack = transport.retry().events(to: Uploads())
/// ```
///
/// The order of events, if ``HTTPSender/events(to:)`` is the outermost layer:
///
/// - `callStart` is the first event of a call, and `callEnd` is the last event.
/// - Each exchange has its own number (``exchange``), begins with `start`, and ends with `end`.
/// - Between `start` and `end`, the following events come in a fixed order. If the exchange does not reach a step, or the transport does
///   not report the step, the event of the step is missing. The order is `connectionAcquired`, `requestHeadSent`, `requestBytesSent` (any
///   number), `requestSent`, `informationalResponse` (any number), `responseHead`, `responseBytesReceived` (any number). A response may
///   begin before the whole request is sent.
/// - `queueStart` is always followed by `queueEnd`, `waitStart` by `waitEnd`, and `networkWaitStart` by `networkWaitEnd`.
///
/// If a connection is opened for the exchange, the events of its steps come between `start` and `connectionAcquired`, in this
/// order: `dnsStart` and `dnsEnd`, `connectStart` and `connectEnd`, `tlsStart` and `tlsEnd`. After the start of a step, the next
/// event of the exchange is the end of that step. If the host is an address, there are no `dns` events. If the scheme is `http`, there are
/// no `tls` events. Another attempt to connect may repeat the events. If another connection becomes free before the new connection is open,
/// the exchange may use the free connection.
///
/// If a transport learns the steps only at the end, the transport reports all steps with one `timings` event, directly before `end`.
///
/// A reused connection may be lost before a byte of the response was received. If the transport sends the request again over another
/// connection, a new exchange begins, with a new number.
public struct ExchangeEvent: Sendable {
    /// The kind of an event. A transport or a middleware can have its own kinds.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        /// The name of the kind: `responseHead`.
        public let description: String
        /// Creates a kind.
        public init(_ description: String) { self.description = description }

        /// A call begins. The first event of each call.
        public static let callStart = Kind("callStart")
        /// A call and all of its exchanges are over: ``ExchangeEvent/failure`` says how the call ended. The last event of each
        /// call.
        public static let callEnd = Kind("callEnd")
        /// The request queues under a limit.
        public static let queueStart = Kind("queueStart")
        /// The request no longer queues: it continues, or has failed.
        public static let queueEnd = Kind("queueEnd")
        /// The call waits before it sends the request again.
        public static let waitStart = Kind("waitStart")
        /// The wait is over, or was cancelled.
        public static let waitEnd = Kind("waitEnd")
        /// The request waits until the device has a network.
        public static let networkWaitStart = Kind("networkWaitStart")
        /// The request no longer waits for a network: the request continues, or has failed.
        public static let networkWaitEnd = Kind("networkWaitEnd")
        /// A layer has decided whether another attempt follows: ``ExchangeEvent/decision``.
        public static let retryDecision = Kind("retryDecision")
        /// A layer has decided whether a redirect is followed: ``ExchangeEvent/decision``.
        public static let redirectDecision = Kind("redirectDecision")
        /// A layer has changed the scheme of the URL to `https`, or could not use its list of hosts: ``ExchangeEvent/decision``.
        public static let hstsDecision = Kind("hstsDecision")
        /// A layer has decided whether to respond to a challenge of the server: ``ExchangeEvent/decision``.
        public static let authenticationDecision = Kind("authenticationDecision")
        /// The layer of cookies has left out cookies of the request, or has refused cookies of the response:
        /// ``ExchangeEvent/decision``.
        public static let cookieDecision = Kind("cookieDecision")
        /// A cache has decided whether a request is sent, has stored a response, or could not use its store: ``ExchangeEvent/decision``.
        public static let cacheDecision = Kind("cacheDecision")

        /// The transport took the request. The first event of each exchange.
        public static let start = Kind("start")
        /// The lookup of the host's addresses begins, by the resolver or its cache.
        public static let dnsStart = Kind("dnsStart")
        /// The lookup has ended: it succeeded, failed, or was given up.
        public static let dnsEnd = Kind("dnsEnd")
        /// Opening a connection begins, to one or several addresses over TCP, or to a Unix domain socket.
        public static let connectStart = Kind("connectStart")
        /// Opening the connection has ended: an address has accepted, or the attempt failed or was given up.
        public static let connectEnd = Kind("connectEnd")
        /// The TLS handshake begins.
        public static let tlsStart = Kind("tlsStart")
        /// The TLS handshake has ended: it succeeded, failed, or was given up.
        public static let tlsEnd = Kind("tlsEnd")
        /// The exchange has a connection, new or reused: ``ExchangeEvent/connection``.
        public static let connectionAcquired = Kind("connectionAcquired")
        /// The head of the request was sent.
        public static let requestHeadSent = Kind("requestHeadSent")
        /// The transport took a piece of the request's body: ``ExchangeEvent/bytes`` is the sum so far.
        public static let requestBytesSent = Kind("requestBytesSent")
        /// The last byte of the request was sent.
        public static let requestSent = Kind("requestSent")
        /// An informational response was received (1xx; [RFC 9110, section 15.2](https://www.rfc-editor.org/rfc/rfc9110#section-15.2)):
        /// ``ExchangeEvent/response`` is its head.
        public static let informationalResponse = Kind("informationalResponse")
        /// The head of the response was received: ``ExchangeEvent/response`` is the head, if the transport reports the head.
        public static let responseHead = Kind("responseHead")
        /// A piece of the response's body was received, whether or not it was read: ``ExchangeEvent/bytes`` is the sum so far.
        public static let responseBytesReceived = Kind("responseBytesReceived")
        /// The instants of the steps that were not reported before: ``ExchangeEvent/timings``. The event is reported at most once for each
        /// exchange, directly before ``end``.
        public static let timings = Kind("timings")
        /// The exchange was completed, has failed or was abandoned. The last event of each exchange.
        public static let end = Kind("end")
    }

    /// The kind of the event.
    public let kind: Kind
    /// The instant when the event happened. Within a call, an event is never earlier than the previous event.
    public package(set) var instant: ContinuousClock.Instant
    /// The ID of the request.
    public let request: RequestID
    /// The number of the event's exchange, which is unique in this process; `nil` if the event belongs to the call.
    public let exchange: Int?
    /// The number of bytes of the body so far; only with ``Kind/requestBytesSent`` and ``Kind/responseBytesReceived``.
    public let bytes: Int64?
    /// The head of the response; only with ``Kind/informationalResponse`` and ``Kind/responseHead``.
    public var response: HTTPResponse? { details?.response }
    /// The connection; only with ``Kind/connectionAcquired``.
    public var connection: ConnectionInfo? { details?.connection }
    /// The instants of the steps of the exchange; only with ``Kind/timings``.
    public var timings: Timings? { details?.timings?.value }
    /// The decision; only with ``Kind/retryDecision``, ``Kind/redirectDecision``, ``Kind/hstsDecision``,
    /// ``Kind/authenticationDecision``, ``Kind/cookieDecision`` and ``Kind/cacheDecision``.
    public var decision: Decision? { details?.decision }
    /// The number that `number()` gave the request; `nil` if the stack has no `number()`.
    public var number: Int? { labels?.number }
    /// The tags of the request, without secrets.
    public var tags: [String: String] { labels?.tags ?? [:] }
    /// The failure; only with ``Kind/end`` and ``Kind/callEnd``, and `nil` for success.
    public let failure: (any Error)?

    /// The values that only a few kinds of events have. The rare values are stored separately, so that all other events are small.
    private final class Details: Sendable {
        let response: HTTPResponse?
        let connection: ConnectionInfo?
        let decision: Decision?
        let timings: BoxedTimings?

        init(_ response: HTTPResponse?, _ connection: ConnectionInfo?, _ decision: Decision?, _ timings: Timings?) {
            (self.response, self.connection, self.decision) = (response, connection, decision)
            self.timings = timings.map { BoxedTimings($0) }
        }
    }

    /// The timings. The timings are stored separately, because they are large, and only one event of an exchange has them.
    private final class BoxedTimings: Sendable {
        let value: Timings
        init(_ value: Timings) { self.value = value }
    }

    /// The values that all events of a call have in common.
    final class Labels: Sendable {
        let number: Int?
        let tags: [String: String]

        init(number: Int?, tags: [String: String]) { (self.number, self.tags) = (number, tags) }
    }

    private let details: Details?
    /// The labels; `nil` if the call has no number and no tags.
    var labels: Labels?

    /// A decision about a response or a failure.
    public struct Decision: Sendable, Hashable, CustomStringConvertible {
        /// Whether another exchange follows. For ``ExchangeEvent/Kind/hstsDecision``: whether the request is sent by `https`.
        /// For ``ExchangeEvent/Kind/cacheDecision``: whether the request is sent.
        public let continues: Bool
        /// The wait before the next exchange; `nil` if no exchange follows.
        public let delay: Duration?
        /// The reason in a few words, without secrets.
        public let description: String

        /// Creates a decision.
        public init(continues: Bool, after delay: Duration? = nil, _ description: String) {
            (self.continues, self.delay, self.description) = (continues, delay, description)
        }
    }

    /// Creates an event with the current instant.
    public init(
        _ kind: Kind, request: RequestID, exchange: Int? = nil, bytes: Int64? = nil, response: HTTPResponse? = nil,
        connection: ConnectionInfo? = nil, decision: Decision? = nil, timings: Timings? = nil, failure: (any Error)? = nil
    ) {
        self.kind = kind
        self.request = request
        self.exchange = exchange
        self.bytes = bytes
        self.failure = failure
        let isPlain = response == nil && connection == nil && decision == nil && timings == nil
        details = isPlain ? nil : Details(response, connection, decision, timings)
        instant = .now
    }

    private static let lastExchange = Atomic(0)

    /// Returns a new exchange number. For transports.
    public static func nextExchange() -> Int { lastExchange.add(1, ordering: .relaxed).newValue }
}

extension ExchangeEvent: CustomStringConvertible, HidesStorage {
    /// The kind, the exchange and the values of the event, without secrets. A response shows its status. An error of another
    /// library shows its type.
    public var description: String {
        var parts = [kind.description + (exchange.map { " of exchange \($0)" } ?? "")]
        if let bytes { parts.append(bytes.counted("byte")) }
        if let response { parts.append("status \(response.status.code)") }
        if let connection { parts.append("\(connection.isReused ? "reused" : "new") \(connection.name)") }
        if let decision { parts.append(decision.description) }
        if let failure { parts.append(safeDescription(of: failure)) }
        return parts.joined(separator: ", ")
    }
}

/// A receiver of the events of calls. See ``ExchangeEvent`` for an example.
public protocol EventSink: Sendable {
    /// Records an event. Called synchronously and in order, by one thread at a time for each call. The function must be quick and
    /// must not block.
    func record(_ event: ExchangeEvent)
}
