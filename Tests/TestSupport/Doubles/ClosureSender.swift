package import ErrandCore

/// Responds to each request by a closure.
package struct ClosureSender: HTTPSender {
    private let respond: @Sendable (Request) async throws -> Response

    package init(_ respond: @escaping @Sendable (Request) async throws -> Response) { self.respond = respond }

    package func send(_ request: Request) async throws -> Response { try await respond(request) }
}
