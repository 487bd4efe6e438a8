public import ErrandCore
public import ErrandTesting
internal import Testing

/// Sends `request` again if the pool gave the request a closed connection, and did not know yet that the connection was closed.
public func sendUntilSent(_ request: Request, by transport: some HTTPTransport) async throws -> Response {
    for _ in 0..<5 {
        do {
            return try await transport.send(request)
        } catch let failure as TransportError where failure.delivery == .notSent {
            #expect(failure.code == .connectionLost)
        }
    }
    return try await transport.send(request)
}

extension Request {
    /// This request with a sink for its events.
    public func telling(_ sink: RecordingEventSink) -> Request {
        var copy = self
        copy.options.eventSink = sink
        return copy
    }
}

extension ExchangeLifetime.Outcome {
    public var isAbandoned: Bool { if case .abandoned = self { true } else { false } }
    public var failure: (any Error)? { if case .failed(let error) = self { error } else { nil } }
}

extension RecordingEventSink {
    /// The kinds without the progress of the body.
    public var steps: [ExchangeEvent.Kind] { kinds.filter { $0 != .requestBytesSent } }
}

/// Every element of the first list with every element of the second list, for tests whose other argument is the transport.
public func pairs<First: Sendable, Second: Sendable>(_ first: [First], _ second: [Second]) -> [(First, Second)] {
    first.flatMap { one in second.map { (one, $0) } }
}
