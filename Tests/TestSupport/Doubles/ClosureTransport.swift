public import ErrandCore
internal import Synchronization

/// A transport whose responses come from a closure. It counts the requests and shutdowns.
public final class ClosureTransport: HTTPTransport {
    public let capabilities: TransportCapabilities
    private let make: @Sendable (Request) async throws -> Response
    private let counts = Mutex((requests: 0, shutdowns: 0))

    public init(capabilities: TransportCapabilities = [], _ make: @escaping @Sendable (Request) async throws -> Response) {
        (self.capabilities, self.make) = (capabilities, make)
    }

    /// Responds with the status 200 and one body.
    public convenience init(body source: ScriptedBodySource) {
        self.init { Response(head: HTTPResponse(status: .ok), body: ResponseBody(source), request: $0, exchange: ExchangeLifetime()) }
    }

    public var requestCount: Int { counts.withLock(\.requests) }
    public var shutdownCount: Int { counts.withLock(\.shutdowns) }

    public func send(_ request: Request) async throws -> Response {
        counts.withLock { $0.requests += 1 }
        return try await make(request)
    }

    public func shutdown() async throws { counts.withLock { $0.shutdowns += 1 } }
}
