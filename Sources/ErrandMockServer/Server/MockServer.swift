#if MockServer
internal import ErrandCore
internal import NIOCore
internal import Synchronization

/// An HTTP server for tests: a real socket on the loopback interface, with faults on demand.
///
/// ```swift
/// try await withMockServer { server in
///     server.enqueue(.status(.serviceUnavailable), .json(["id": 7]))
///     let api = APIClient(transport.retry(.standard).server(server.url()))
///     …
///     #expect(server.requests.map(\.connectionIndex) == [0, 0])     // the connection was kept
/// }
/// ```
///
/// What is queued answers first, in order; then dispatchers are asked in the order in which they were added, and the first that returns a
/// response answers. A request that nobody answers gets a 404 that names it. Many requests may be under way at a time, each on its
/// connection or stream.
///
/// Octets that are no HTTP are answered with 400, and their connection is closed. Methods are those that SwiftNIO's parser knows.
public final class MockServer: Sendable, CustomStringConvertible {
    /// What happened so far.
    public struct Counts: Sendable, Hashable {
        public var acceptedConnections = 0
        public var openConnections = 0
        /// As in ``MockServer/connectionFailures``.
        public var failedConnections = 0
        /// As in ``MockServer/requests``.
        public var requests = 0
    }

    /// On the loopback interface, chosen by the system.
    public let port: Int
    private let core: ServerCore
    private let listener: Listener
    private let work: Task<Void, Never>

    private init(_ listener: Listener, core: ServerCore) {
        (self.listener, self.core, port) = (listener, core, listener.port)
        // This value owns it, and ends it in `stop()`, or when nobody holds it any more.
        work = Task { await core.run() }
    }

    /// Starts a server; ``withMockServer(_:_:)`` also stops it.
    ///
    /// - Throws: what opening a socket, or reading a certificate, throws.
    public static func start(_ configuration: Configuration = Configuration()) async throws -> MockServer {
        let core = ServerCore(configuration)
        return MockServer(try await Listener(core), core: core)
    }

    /// Stops listening, breaks every connection off, cancels what answers, and returns when all of it has ended. Safe to call twice.
    public func stop() async {
        let open = core.stop()
        work.cancel()
        listener.close()
        for channel in open { Connection.closeSocket(of: channel) }
        for channel in open { try? await channel.closeFuture.get() }
        await listener.closed()
        await work.value
    }

    deinit {
        let open = core.stop()
        work.cancel()
        listener.close()
        for channel in open { Connection.closeSocket(of: channel) }
    }

    // MARK: - Answers

    /// Adds answers to the queue: each is given once, in order, before any dispatcher is asked.
    public func enqueue(_ responses: MockResponse...) { core.change { $0.queue += responses } }

    /// Adds a dispatcher behind the others. It is asked when the head of a request has come, may read the body, and returns nil for what is
    /// not its business. What it throws is answered with a 500 that says so; but for `CancellationError`, which closes the connection.
    public func dispatch(_ respond: @escaping @Sendable (IncomingRequest) async throws -> MockResponse?) {
        core.change { $0.dispatchers.append(respond) }
    }

    /// What goes wrong with the next `count` connections, before any request.
    public func failConnections(_ fault: ConnectionFault, next count: Int = 1) {
        core.change { $0.connectionFaults += Array(repeating: fault, count: count) }
    }

    // MARK: - Where it is, and what happened

    /// `http://127.0.0.1:…`, with TLS `https://localhost:…`, with `path` behind it.
    public func url(_ path: String = "/") -> String {
        let host = core.configuration.host
        let shown = core.configuration.tls != nil ? "localhost" : host.contains(":") ? "[\(host)]" : host
        return "\(core.configuration.tls == nil ? "http" : "https")://\(shown):\(port)\(path)"
    }

    /// The requests in the order in which they were whole, or broke off; each is here before its response is sent, unless that is sent early.
    public var requests: [MockRequest] { core.with { $0.requests } }

    /// Why connections came to nothing: handshakes that failed, octets that are no HTTP.
    public var connectionFailures: [String] { core.with { $0.failures } }

    public var counts: Counts { core.with { $0.counts } }
    public var openConnectionCount: Int { counts.openConnections }
    public var acceptedConnectionCount: Int { counts.acceptedConnections }

    /// The first of ``requests`` that was not given here yet; waits for it if there is none.
    ///
    /// - Throws: ``TimeoutError``; `CancellationError`.
    public func nextRequest(within limit: Duration = .seconds(5)) async throws -> MockRequest {
        let found = Found()
        let isMet = await core.wait(within: limit) { state in
            guard state.taken < state.requests.count else { return false }
            let request = state.requests[state.taken]
            found.request.withLock { $0 = request }
            state.taken += 1
            return true
        }
        if isMet, let request = found.request.withLock({ $0 }) { return request }
        try Task.checkCancellation()
        throw TimeoutError(limit: limit, counts: counts)
    }

    /// Waits until the counts are as wanted.
    ///
    /// - Throws: ``TimeoutError``; `CancellationError`.
    public func waitUntil(within limit: Duration = .seconds(5), _ condition: @escaping @Sendable (Counts) -> Bool) async throws {
        if await core.wait(within: limit, until: { condition($0.counts) }) { return }
        try Task.checkCancellation()
        throw TimeoutError(limit: limit, counts: counts)
    }

    /// What delays, pauses and drips are measured by.
    var clock: any Clock<Duration> { core.configuration.clock }

    public var description: String { "MockServer(\(url("")))" }

    /// What a ``MockServer`` was waited for did not happen.
    public struct TimeoutError: Error, Sendable, CustomStringConvertible {
        public let limit: Duration
        /// As they were at the end.
        public let counts: Counts
        public var description: String {
            "waited \(limit); \(counts.requests) requests, \(counts.acceptedConnections) connections accepted, \(counts.openConnections) open"
        }
    }
}

private final class Found: Sendable {
    let request = Mutex<MockRequest?>(nil)
}

/// Runs `body` with a server, and stops the server when it returns or throws: no socket and no task is left then.
public func withMockServer<Result>(
    _ configuration: MockServer.Configuration = MockServer.Configuration(), _ body: (MockServer) async throws -> Result
) async throws -> Result {
    let server = try await MockServer.start(configuration)
    let result: Result
    do {
        result = try await body(server)
    } catch {
        await server.stop()
        throw error
    }
    await server.stop()
    return result
}
#endif
