public import ErrandCore
public import ErrandFormats

/// The events of a server. The stream connects again when a connection ends.
///
/// ```swift
/// for try await event in client.events("/prices") {
///     print(event.lastEventID, event.type, event.data)
/// }
/// ```
///
/// The stream works as `EventSource` does in a browser
/// ([HTML, section 9.2](https://html.spec.whatwg.org/multipage/server-sent-events.html)), with backoff and limits:
///
/// - The request has `Accept: text/event-stream` and `Cache-Control: no-cache`, unless the call sets these fields. The response must have
///   the status 200 and the media type `text/event-stream`. The stack follows redirects.
/// - The stream connects again when the server ends the stream, when the connection is lost, and after a response with 429 or 5xx. Before
///   each new connection, the stream waits for the time that its ``EventStreamPolicy`` determines. The new request has the last event ID
///   as `Last-Event-ID`. The status 204 ends the sequence. Any other status is an error.
/// - If a request is not idempotent, such as a POST, the request is sent again only in two cases. Either the stream has a last event ID, or
///   the server has not processed the request. A request with the ``/ErrandCore/Delivery`` `notSent` was not processed. Two kinds of
///   responses also mean that the request was not processed: the status 429 ([RFC 6585, section
///   4](https://www.rfc-editor.org/rfc/rfc6585#section-4)), and the status 503 with `Retry-After` ([RFC 9110, section
///   15.6.4](https://www.rfc-editor.org/rfc/rfc9110#section-15.6.4)). If the request is not sent again, the sequence ends when the server
///   ends the stream. The sequence throws an error if the connection is lost or silent, or if the response has the status 503 without
///   `Retry-After` or another 5xx. With ``EventStreamPolicy/resendsNonIdempotent``, a request that is not idempotent is sent again in the
///   same cases as an idempotent request.
///
/// A stream may last for days. Therefore the timeouts for a call or an attempt do not apply, even if the stack or the endpoint sets these
/// timeouts. The `phaseTimeouts` of the stack apply. The stream itself connects again. Therefore, `retry` and `hedge` repeat the requests
/// of a stream only if the options of the endpoint turn on these layers. `coalesce` never shares the requests. If `circuitBreaker` or
/// `rateLimit` refuses a connection, the stream connects again after the wait that the error names. If TLS or the proxy fails after a
/// connection has worked, the stream connects again. An open stream holds its slot of a `concurrencyLimit`. To limit the whole stream,
/// cancel the task, or set the deadline of the request.
///
/// The first request is sent when the first event is read. Each iterator opens its own connections in the reading task. The connections are
/// closed when the iterator is released (`break` is enough) or its task is cancelled. While the reader is slow, the connection receives no
/// more events.
public struct EventStream: AsyncSequence, Sendable {
    public typealias Element = ServerSentEvent
    public typealias Failure = any Error

    let client: APIClient
    let policy: EventStreamPolicy
    /// The ID of the event after which the stream resumes. If the value is `nil`, the `Last-Event-ID` field of the request is
    /// used. Empty: from the start.
    let lastEventID: String?
    let clock: any Clock<Duration>
    let random: @Sendable () -> Double
    let onComment: (@Sendable (String) -> Void)?
    let onState: (@Sendable (EventStreamState) -> Void)?
    /// The request of the call, without the fields that the stream adds.
    let makeRequest: @Sendable () throws -> Request

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Reads the events of a stream.
    public struct Iterator: AsyncIteratorProtocol {
        private let stream: EventStream
        private let observer: EventStreamObserver?
        /// The reader of the connections; `nil` before the first event is read.
        private(set) var reader: EventStreamReader?
        private var isOver = false

        init(_ stream: EventStream) {
            self.stream = stream
            observer = stream.onState.map { EventStreamObserver($0) }
        }

        /// The value of `Last-Event-ID` for the next connection. If the value is empty, the field is not sent. An event without data can
        /// also set this value. Control characters in the value are sent as spaces.
        ///
        /// To continue the stream later, pass the value as `lastEventID` to the client's `events`.
        public var lastEventID: String { reader?.lastEventID ?? stream.lastEventID ?? "" }

        /// Returns the next event; `nil` at the end, and after an error.
        ///
        /// - Throws: ``EventStreamError``, ``/ErrandCore/TransportError``, `CancellationError`, or an error from building the
        ///   request. If the status is final, or if no further connection is allowed: `StatusError`, or the error that the client's
        ///   `mapError` returns.
        public mutating func next() async throws -> ServerSentEvent? {
            guard !isOver else { return nil }
            do {
                if reader == nil { reader = EventStreamReader(stream, try stream.request(), observer) }
                if let event = try await reader?.next() { return event }
            } catch {
                close()
                throw error
            }
            close()
            return nil
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> ServerSentEvent? { try await next() }

        /// Ends the sequence, and releases its connection.
        mutating func close() {
            isOver = true
            reader?.disconnect()
            observer?.close()
        }
    }
}

extension EventStream: CustomStringConvertible, HidesStorage {
    /// The policy: `EventStream(reconnects after 3 s plus 1 s to 30 s, silence 5 min)`.
    public var description: String { "EventStream(\(policy))" }
}

extension EventStream.Iterator: HidesStorage {
    /// The policy. The events are not shown.
    package var shownFields: KeyValuePairs<String, Any> { ["stream": stream.description] }
}
