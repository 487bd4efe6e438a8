package import ErrandCore

/// A sender whose responses come from a closure. Requests to this sender are not checked, because the sender is not a transport.
package struct StubSender: HTTPSender {
    private let respond: @Sendable (Request) async throws -> Response

    package init(_ respond: @escaping @Sendable (Request) async throws -> Response) { self.respond = respond }

    package func send(_ request: Request) async throws -> Response { try await respond(request) }
}

/// A body source without trailers, whose bytes come from closures.
package struct ClosureBodySource: BodySource {
    private let read: @Sendable () async throws -> Data?
    private let onAbandon: @Sendable () -> Void

    package init(_ read: @escaping @Sendable () async throws -> Data?, onAbandon: @escaping @Sendable () -> Void = {}) {
        (self.read, self.onAbandon) = (read, onAbandon)
    }

    package func next() async throws -> Data? { try await read() }
    package func abandon() { onAbandon() }
}
