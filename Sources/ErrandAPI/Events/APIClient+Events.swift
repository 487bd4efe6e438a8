public import ErrandCore

// Event streams, which connect again by themselves.

extension APIClient {
    /// The events of a call, over as many connections as they take.
    ///
    /// ```swift
    /// let prices = client.events(Endpoint<Void>.get("/prices", query: ["symbol": "AAPL"])) { state in
    ///     print(state)                             // connecting, open, waiting for 3.4 s, …
    /// }
    /// for try await event in prices { print(event.data) }
    /// ```
    ///
    /// Nothing is sent before the first event is asked for: see ``EventStream``.
    ///
    /// - Parameters:
    ///   - endpoint: the call, with any method and body, whatever output it declares. A body that can be read only once is never sent again.
    ///   - policy: when the stream connects again, and its limits; ``EventStreamPolicy/standard`` by default.
    ///   - clock: measures the waits and the silence.
    ///   - random: a number from 0 up to, but not including, 1: the jitter.
    ///   - onComment: is called with the text of each comment, where it stands between the events. It must not block. `nil` by default.
    ///   - onState: is called with each new state of the connection, in the task that reads, or where the iterator is released. It must not block. `nil` by
    ///     default.
    public func events<Output>(
        _ endpoint: Endpoint<Output>, policy: EventStreamPolicy = .standard, clock: any Clock<Duration> = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }, onComment: (@Sendable (String) -> Void)? = nil,
        onState: (@Sendable (EventStreamState) -> Void)? = nil
    ) -> EventStream {
        EventStream(client: self, policy: policy, clock: clock, random: random, onComment: onComment, onState: onState) {
            try request(for: endpoint)
        }
    }

    /// The events of a GET, over as many connections as they take. The other parameters are those of ``events(_:policy:clock:random:onComment:onState:)``.
    ///
    /// - Parameters:
    ///   - path: a template; its values are escaped.
    ///   - query: none by default.
    ///   - headers: fields of this call; none by default.
    public func events(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), policy: EventStreamPolicy = .standard,
        onState: (@Sendable (EventStreamState) -> Void)? = nil
    ) -> EventStream {
        events(Endpoint<Void>.get(path, query: query, headers: headers), policy: policy, onState: onState)
    }

    /// The events of a call, each decoded from JSON by the client's ``json``. The other parameters are those of ``events(_:policy:clock:random:onComment:onState:)``.
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
        _ endpoint: Endpoint<Output>, as type: Value.Type, terminator: String? = nil, policy: EventStreamPolicy = .standard,
        clock: any Clock<Duration> = ContinuousClock(), random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        onState: (@Sendable (EventStreamState) -> Void)? = nil
    ) -> DecodedEventStream<Value> {
        DecodedEventStream(events: events(endpoint, policy: policy, clock: clock, random: random, onState: onState), terminator: terminator)
    }
}
