public import ErrandCore

// Event streams, which connect again by themselves.

extension APIClient {
    /// The events of a call, over as many connections as they take.
    ///
    /// ```swift
    /// let list = Endpoint<Void>.get("/prices", query: ["symbol": "AAPL"])
    /// let prices = client.events(list, onState: { print($0) })      // connecting, open, waiting for 3.4 s, …
    /// for try await event in prices { print(event.data) }
    /// ```
    ///
    /// Nothing is sent before the first event is asked for: see ``EventStream``.
    ///
    /// - Parameters:
    ///   - endpoint: the call, with any method and body, whatever output it declares. A body that can be read only once is never sent again.
    ///   - lastEventID: the ID of the last event that the app has seen, to begin after it; empty for none. `nil`, the default, for the `Last-Event-ID` field
    ///     of the call, if it has one.
    ///   - policy: when the stream connects again, and its limits; ``EventStreamPolicy/standard`` by default.
    ///   - clock: measures the waits and the silence.
    ///   - random: a number from 0 up to, but not including, 1: the jitter.
    ///   - onComment: is called with the text of each comment, where it stands between the events. It must not block. `nil` by default.
    ///   - onState: is called with each new state of the connection, in the task that reads, or where the iterator is released. It must not block. `nil` by
    ///     default.
    public func events<Output>(
        _ endpoint: Endpoint<Output>, lastEventID: String? = nil, policy: EventStreamPolicy = .standard,
        clock: any Clock<Duration> = ContinuousClock(), random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        onComment: (@Sendable (String) -> Void)? = nil, onState: (@Sendable (EventStreamState) -> Void)? = nil
    ) -> EventStream {
        EventStream(
            client: self, policy: policy, lastEventID: lastEventID, clock: clock, random: random, onComment: onComment, onState: onState
        ) {
            try request(for: endpoint)
        }
    }

    /// The events of any request, over as many connections as they take. The other parameters are those for the events of an endpoint.
    ///
    /// ```swift
    /// var request = try Request(.get, "/prices", query: ["symbol": "AAPL"])
    /// request.options.tags["view"] = "prices"
    /// for try await event in client.events(request) { print(event.data) }
    /// ```
    ///
    /// - Parameter request: with any method and body. A body that can be read only once is never sent again. Its deadline, if it has one, ends the stream
    ///   with an error.
    public func events(
        _ request: Request, lastEventID: String? = nil, policy: EventStreamPolicy = .standard,
        clock: any Clock<Duration> = ContinuousClock(), random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        onComment: (@Sendable (String) -> Void)? = nil, onState: (@Sendable (EventStreamState) -> Void)? = nil
    ) -> EventStream {
        EventStream(
            client: self, policy: policy, lastEventID: lastEventID, clock: clock, random: random, onComment: onComment, onState: onState
        ) {
            request
        }
    }

    /// The events of a GET, over as many connections as they take. For a clock, the jitter and the comments, pass an endpoint or a request.
    ///
    /// - Parameters:
    ///   - path: a template; its values are escaped.
    ///   - query: none by default.
    ///   - headers: fields of this call; none by default.
    ///   - lastEventID: the ID of the last event that the app has seen, to begin after it; empty for none. `nil`, the default, for the `Last-Event-ID` field
    ///     in `headers`, if there is one.
    ///   - policy: when the stream connects again, and its limits; ``EventStreamPolicy/standard`` by default.
    ///   - onState: is called with each new state of the connection. It must not block. `nil` by default.
    public func events(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), lastEventID: String? = nil,
        policy: EventStreamPolicy = .standard, onState: (@Sendable (EventStreamState) -> Void)? = nil
    ) -> EventStream {
        events(Endpoint<Void>.get(path, query: query, headers: headers), lastEventID: lastEventID, policy: policy, onState: onState)
    }

    /// The events of a call, each decoded from JSON by the client's ``jsonCoding``. The other parameters are those for the events of an endpoint.
    ///
    /// ```swift
    /// let chat = Endpoint<Void>.post("/v1/chat/completions", body: .json(question))
    /// for try await chunk in client.events(chat, as: Chunk.self, terminator: "[DONE]") { … }
    /// ```
    ///
    /// - Parameters:
    ///   - type: the type of each event's payload.
    ///   - terminator: the payload that ends the sequence, such as `[DONE]`; `nil`, the default, if there is none.
    public func events<Output, Value: Decodable & Sendable>(
        _ endpoint: Endpoint<Output>, as type: Value.Type, terminator: String? = nil, lastEventID: String? = nil,
        policy: EventStreamPolicy = .standard, clock: any Clock<Duration> = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }, onComment: (@Sendable (String) -> Void)? = nil,
        onState: (@Sendable (EventStreamState) -> Void)? = nil
    ) -> DecodedEventStream<Value> {
        let events = events(
            endpoint, lastEventID: lastEventID, policy: policy, clock: clock, random: random, onComment: onComment, onState: onState)
        return DecodedEventStream(events: events, terminator: terminator)
    }

    /// The events of a GET, each decoded from JSON by the client's ``jsonCoding``. The other parameters are those for the events of a path.
    ///
    /// ```swift
    /// for try await story in client.events("/news", as: Story.self) { show(story) }
    /// ```
    ///
    /// - Parameters:
    ///   - type: the type of each event's payload.
    ///   - terminator: the payload that ends the sequence, such as `[DONE]`; `nil`, the default, if there is none.
    public func events<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), as type: Value.Type,
        terminator: String? = nil, lastEventID: String? = nil, policy: EventStreamPolicy = .standard,
        onState: (@Sendable (EventStreamState) -> Void)? = nil
    ) -> DecodedEventStream<Value> {
        let events = events(path, query: query, headers: headers, lastEventID: lastEventID, policy: policy, onState: onState)
        return DecodedEventStream(events: events, terminator: terminator)
    }

    /// The events of any request, each decoded from JSON by the client's ``jsonCoding``. The other parameters are those for the decoded events of an endpoint.
    ///
    /// - Parameter request: with any method and body. A body that can be read only once is never sent again.
    public func events<Value: Decodable & Sendable>(
        _ request: Request, as type: Value.Type, terminator: String? = nil, lastEventID: String? = nil,
        policy: EventStreamPolicy = .standard, clock: any Clock<Duration> = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }, onComment: (@Sendable (String) -> Void)? = nil,
        onState: (@Sendable (EventStreamState) -> Void)? = nil
    ) -> DecodedEventStream<Value> {
        let events = events(
            request, lastEventID: lastEventID, policy: policy, clock: clock, random: random, onComment: onComment, onState: onState)
        return DecodedEventStream(events: events, terminator: terminator)
    }
}
