public import ErrandCore

// The streams of this file reconnect automatically.

extension APIClient {
    /// Returns the events of a call. The stream connects again when a connection ends.
    ///
    /// ```swift
    /// let list = Endpoint<Void>.get("/prices", query: ["symbol": "AAPL"])
    /// let prices = client.events(list, onState: { print($0) })      // connecting, open, waiting for 3.4 s, …
    /// for try await event in prices { print(event.data) }
    /// ```
    ///
    /// The first request is sent when the first event is read: see ``EventStream``.
    ///
    /// - Parameters:
    ///   - endpoint: the call, with any method and body. The output type of the endpoint is ignored. If a body can be read only once, the
    ///     body is never sent again.
    ///   - lastEventID: the ID of the last event that the app has seen. The stream resumes after this event. Empty: from the start. `nil`,
    ///     the default, uses the `Last-Event-ID` field of the call, if present.
    ///   - policy: the rules for connecting again, and the limits of the stream. Default: ``EventStreamPolicy/standard``.
    ///   - clock: the clock that measures the waiting times and the silence timeout.
    ///   - random: a closure that returns the random number for the jitter: at least 0 and less than 1.
    ///   - onComment: a closure that is called with the text of each comment. The order of comments and events is kept. The closure must
    ///     not block. `nil` by default.
    ///   - onState: a closure that is called with each new state of the connection, by the code that reads or releases the iterator. The
    ///     closure must not block. `nil` by default.
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

    /// Returns the events of any request. The stream connects again when a connection ends. For the other parameters, see the function
    /// that takes an endpoint.
    ///
    /// ```swift
    /// var request = try Request(.get, "/prices", query: ["symbol": "AAPL"])
    /// request.options.tags["view"] = "prices"
    /// for try await event in client.events(request) { print(event.data) }
    /// ```
    ///
    /// - Parameter request: a request with any method and body. If a body can be read only once, the body is never sent again. If the
    ///   request has a deadline, the stream ends with an error at the deadline.
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

    /// Returns the events of a GET request. The stream connects again when a connection ends. To set a clock or the jitter, or to read
    /// comments, pass an endpoint or a request.
    ///
    /// - Parameters:
    ///   - path: a template; its values are escaped.
    ///   - query: the query of the call. Default: empty.
    ///   - headers: the header fields of the call. Default: none.
    ///   - lastEventID: the ID of the last event that the app has seen. The stream resumes after this event. Empty: from the start. `nil`,
    ///     the default, uses the `Last-Event-ID` field in `headers`, if present.
    ///   - policy: the rules for connecting again, and the limits of the stream. Default: ``EventStreamPolicy/standard``.
    ///   - onState: a closure that is called with each new state of the connection. The closure must not block. `nil` by default.
    public func events(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), lastEventID: String? = nil,
        policy: EventStreamPolicy = .standard, onState: (@Sendable (EventStreamState) -> Void)? = nil
    ) -> EventStream {
        events(Endpoint<Void>.get(path, query: query, headers: headers), lastEventID: lastEventID, policy: policy, onState: onState)
    }

    /// Returns the events of a call, each decoded from JSON by the client's ``jsonCoding``. For the other parameters, see the function
    /// that takes an endpoint and does not decode.
    ///
    /// ```swift
    /// let chat = Endpoint<Void>.post("/v1/chat/completions", body: .json(question))
    /// for try await chunk in client.events(chat, as: Chunk.self, terminator: "[DONE]") { … }
    /// ```
    ///
    /// - Parameters:
    ///   - type: the type of each event's payload.
    ///   - terminator: the payload that ends the sequence, such as `[DONE]`; `nil`, the default, if no payload ends the
    ///     sequence.
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

    /// Returns the events of a GET request, each decoded from JSON by the client's ``jsonCoding``. For the other parameters, see the
    /// function that takes a path and does not decode.
    ///
    /// ```swift
    /// for try await story in client.events("/news", as: Story.self) { show(story) }
    /// ```
    ///
    /// - Parameters:
    ///   - type: the type of each event's payload.
    ///   - terminator: the payload that ends the sequence, such as `[DONE]`; `nil`, the default, if no payload ends the
    ///     sequence.
    public func events<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), as type: Value.Type,
        terminator: String? = nil, lastEventID: String? = nil, policy: EventStreamPolicy = .standard,
        onState: (@Sendable (EventStreamState) -> Void)? = nil
    ) -> DecodedEventStream<Value> {
        let events = events(path, query: query, headers: headers, lastEventID: lastEventID, policy: policy, onState: onState)
        return DecodedEventStream(events: events, terminator: terminator)
    }

    /// Returns the events of any request, each decoded from JSON by the client's ``jsonCoding``. For the other parameters, see the
    /// function that takes an endpoint and decodes the events.
    ///
    /// - Parameter request: a request with any method and body. A body that can be read only once is never sent again.
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
