public import ErrandCore
internal import ErrandFormats

/// The events of a server, each decoded from JSON.
///
/// ```swift
/// let chat = Endpoint<Void>.post("/v1/chat/completions", body: .json(question))
/// for try await chunk in client.events(chat, as: Chunk.self, terminator: "[DONE]") {
///     print(chunk.choices[0].delta.content ?? "", terminator: "")
/// }
/// ```
///
/// The sequence reads an ``EventStream``. The payloads of events of all types are decoded. Events with an empty payload are skipped. If a
/// terminator is set, the sequence ends at the event whose payload equals the terminator. If the stream ends permanently before the
/// terminator, the sequence throws an ``EventStreamError``. Therefore an incomplete result does not look complete. There is one exception:
/// if the server responds with the status 204, the sequence ends without an error.
public struct DecodedEventStream<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    public typealias Element = Value
    public typealias Failure = any Error

    let events: EventStream
    let terminator: String?

    public func makeAsyncIterator() -> Iterator {
        Iterator(events: events.makeAsyncIterator(), terminator: terminator, coding: events.client.jsonCoding)
    }

    /// Reads and decodes the events of a stream.
    public struct Iterator: AsyncIteratorProtocol {
        private var events: EventStream.Iterator
        private let terminator: String?
        private let coding: JSONCoding
        private var isOver = false
        /// The number of received events with a payload.
        private var count = 0

        /// The last event ID so far; empty if there is no ID. See ``EventStream/Iterator/lastEventID``.
        public var lastEventID: String { events.lastEventID }

        init(events: EventStream.Iterator, terminator: String?, coding: JSONCoding) {
            (self.events, self.terminator, self.coding) = (events, terminator, coding)
        }

        /// Returns the next value; `nil` at the end, and after an error.
        ///
        /// - Throws: ``ResponseDecodingError`` for a payload that is not a `Value`; ``EventStreamError`` for a stream that ends before
        ///   its terminator; the errors of ``EventStream/Iterator/next()``.
        public mutating func next() async throws -> Value? {
            guard !isOver else { return nil }
            while let event = try await events.next() {
                if event.data.isEmpty { continue }
                count += 1
                if let terminator, event.data.isExactly(terminator) { return end() }
                do {
                    return try await Self.decode(event.data, coding)
                } catch {
                    let response = events.reader?.response
                    _ = end()
                    guard let error = error as? DecodingError, var response else { throw error }
                    // The field is removed, because it describes the stream and not the payload.
                    response.head.headerFields[.contentType] = nil
                    throw ResponseDecodingError(
                        Value.self, underlying: error, body: Data(event.data.utf8), of: response, coding: coding,
                        part: "event \(count)"
                            + (isTerminator(event.data)
                                ? " (if the data of this event marks the end of the stream, pass that data as `terminator`)" : ""))
                }
            }
            guard !isOver, terminator != nil, events.reader?.hasNoContent != true else { return end() }
            _ = end()
            throw EventStreamError.endedBeforeTerminator(request: events.reader?.sentRequest, events.reader?.response?.head)
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Value? { try await next() }

        /// Whether a payload looks like the text that ends the streams of language models: `[DONE]`.
        private func isTerminator(_ data: String) -> Bool {
            data.utf8.count <= 16 && data.wholeMatch(of: /\[[A-Za-z]+\]/) != nil
        }

        private mutating func end() -> Value? {
            isOver = true
            events.close()
            return nil
        }

        @concurrent private static func decode(_ text: String, _ coding: JSONCoding) async throws -> Value {
            try coding.decode(Value.self, from: Data(text.utf8))
        }
    }
}

extension DecodedEventStream: CustomStringConvertible, HidesStorage {
    /// The type of the values, and the policy.
    public var description: String { "\(events) of \(typeName(Value.self))" }
}

extension DecodedEventStream.Iterator: HidesStorage {
    /// The type of the values. The events are not shown.
    package var shownFields: KeyValuePairs<String, Any> { ["value": typeName(Value.self)] }
}
