public import ErrandCore
public import ErrandFormats

/// The events of a server, over as many connections as they take.
///
/// ```swift
/// for try await event in client.events("/prices") {
///     print(event.lastEventID, event.type, event.data)
/// }
/// ```
///
/// It does what `EventSource` does in a browser ([HTML, section 9.2](https://html.spec.whatwg.org/multipage/server-sent-events.html)), with backoff and
/// limits:
///
/// - The request has `Accept: text/event-stream` and `Cache-Control: no-cache`, unless the call sets others. The response must have the status 200 and that
///   media type. Redirects are followed by the stack.
/// - When the server ends the stream, the connection is lost, or the server responds with 429 or 5xx, the stream connects again, after the wait of its
///   ``EventStreamPolicy``, with the last event ID as `Last-Event-ID`. The status 204 ends the sequence. Any other status is an error.
/// - A request that is not idempotent, such as a POST, is sent again only if the stream has a last event ID, or if the server has not processed the
///   request: its ``/ErrandCore/Delivery`` is `notSent`, or the response has the status 429
///   ([RFC 6585, section 4](https://www.rfc-editor.org/rfc/rfc6585#section-4)), or 503 with `Retry-After`
///   ([RFC 9110, section 15.6.4](https://www.rfc-editor.org/rfc/rfc9110#section-15.6.4)). Otherwise the sequence ends where the server ends the stream,
///   and throws where the connection is lost or silent, or the response has the status 503 without `Retry-After` or another 5xx. With
///   ``EventStreamPolicy/resendsNonIdempotent``, it is sent again in these cases, too.
///
/// The stack's timeouts for a call and for an attempt do not apply, nor do those of the endpoint, as a stream may last for days; its `phaseTimeouts` do.
/// `retry` and `hedge` leave the requests alone, unless the endpoint's options say otherwise, and `coalesce` always: the stream itself connects again. It also
/// does so, after their wait, when `circuitBreaker` or `rateLimit` refuses a connection, and when TLS or the proxy fails once a connection has worked. An open stream
/// holds its slot of a `concurrencyLimit`. To limit the whole, cancel the task, or set a deadline of the request.
///
/// Nothing happens before the first event is asked for. Each iterator has connections of its own, makes them in the task that reads, and closes them when it
/// is released (`break` is enough) or its task is cancelled. Events that are not read wait on the wire.
public struct EventStream: AsyncSequence, Sendable {
    public typealias Element = ServerSentEvent
    public typealias Failure = any Error

    let client: APIClient
    let policy: EventStreamPolicy
    /// The ID of the event to begin after; `nil` for that of the request, empty for none.
    let lastEventID: String?
    let clock: any Clock<Duration>
    let random: @Sendable () -> Double
    let onComment: (@Sendable (String) -> Void)?
    let onState: (@Sendable (EventStreamState) -> Void)?
    /// The request of the call, without what the stream itself adds.
    let makeRequest: @Sendable () throws -> Request

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Reads the events of a stream.
    public struct Iterator: AsyncIteratorProtocol {
        private let stream: EventStream
        private let observer: EventStreamObserver?
        /// `nil` before the first event is asked for.
        private(set) var reader: EventStreamReader?
        private var isOver = false

        init(_ stream: EventStream) {
            self.stream = stream
            observer = stream.onState.map { EventStreamObserver($0) }
        }

        /// What the next connection sends as `Last-Event-ID`, also if an event without data has set it; empty for nothing. Control characters in it are
        /// sent as spaces.
        ///
        /// Pass it to the client's `events` as `lastEventID` for a stream that continues where this one ended.
        public var lastEventID: String { reader?.lastEventID ?? stream.lastEventID ?? "" }

        /// Returns the next event; `nil` at the end, and after an error.
        ///
        /// - Throws: ``EventStreamError``; `StatusError`, or the error that the client's `mapError` makes of it, for a status that is final, or when there is no
        ///   further connection; ``/ErrandCore/TransportError``; what making the request throws; `CancellationError`.
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
    /// The policy, and nothing of the events.
    package var shownFields: KeyValuePairs<String, Any> { ["stream": stream.description] }
}
