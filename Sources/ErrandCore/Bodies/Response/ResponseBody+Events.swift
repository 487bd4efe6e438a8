public import ErrandFormats

extension ResponseBody {
    /// The body as the events of an event stream ([HTML, section 9.2](https://html.spec.whatwg.org/multipage/server-sent-events.html)).
    ///
    /// ```swift
    /// for try await event in response.body.events { print(event.type, event.data) }
    /// ```
    ///
    /// The media type of the response is not checked. The sequence ends with the response, and drops an event that is cut off. In
    /// contrast, the `events` function of a client connects again when a response ends.
    ///
    /// An event larger than 1 MiB is an error: see ``events(upTo:)``. An event with more than 128 combining marks in a row is also
    /// an error, because Swift takes quadratic time to compare such text.
    public var events: Events { events(upTo: EventStreamParser.defaultEventLimitBytes) }

    /// Returns the body as events, with your own limit. See ``events``.
    ///
    /// - Parameter limitBytes: the largest size of an event, in bytes; at least 1.
    public func events(upTo limitBytes: Int) -> Events {
        precondition(limitBytes > 0, "limitBytes must be at least 1 (is \(limitBytes))")
        return Events(body: self, limitBytes: limitBytes)
    }

    /// The events of a body. See ``ResponseBody/events``.
    public struct Events: AsyncSequence, Sendable {
        public typealias Element = ServerSentEvent
        public typealias Failure = any Error

        let body: ResponseBody
        let limitBytes: Int

        public func makeAsyncIterator() -> Iterator {
            Iterator(body: body.makeAsyncIterator(), parser: EventStreamParser(eventLimitBytes: limitBytes))
        }

        /// An iterator over the events of a body.
        public struct Iterator: AsyncIteratorProtocol {
            private var body: ResponseBody.Iterator
            private var parser: EventStreamParser

            init(body: ResponseBody.Iterator, parser: EventStreamParser) { (self.body, self.parser) = (body, parser) }

            /// Returns the next event; `nil` at the end.
            ///
            /// - Throws: ``TransportError`` with the code `bodyTooLarge` for an event that exceeds a limit; the errors of the body.
            public mutating func next() async throws -> ServerSentEvent? {
                while true {
                    do throws(EventTooLargeError) {
                        if case .event(let event) = try parser.next() { return event }
                    } catch {
                        throw body.tooLarge(error.excessDescription)
                    }
                    guard let chunk = try await body.next() else { return nil }
                    parser.append(chunk)
                }
            }

            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> ServerSentEvent? { try await next() }
        }
    }
}

extension ResponseBody.Events.Iterator: HidesStorage {}

extension ServerSentEvent {
    /// Decodes the payload from JSON.
    ///
    /// ```swift
    /// for try await event in client.events("/news") where event.type == "story" {
    ///     show(try event.json(as: Story.self, coding: client.jsonCoding))
    /// }
    /// ```
    ///
    /// The function `events(_:as:)` of a client decodes the payloads of a whole stream.
    ///
    /// - Parameters:
    ///   - type: the type of the value.
    ///   - coding: the rules by which the JSON is read. Default: ``JSONCoding/standard``. If the client has its own coding, pass
    ///     that coding.
    /// - Throws: `DecodingError`; the errors of a strategy of `coding`.
    public func json<Value: Decodable>(as type: Value.Type = Value.self, coding: JSONCoding = .standard) throws -> Value {
        try coding.decode(type, from: Data(data.utf8))
    }
}
