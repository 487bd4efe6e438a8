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
/// Responses in the queue come first, in order. Then the dispatchers are called in the order in which they were added, and the first that
/// returns a response determines it. A request without a response gets a 404 that names it. Several requests may be in progress at a time,
/// each on its connection or stream.
///
/// The response to octets that are not HTTP is 400, and their connection is closed. The methods are those that SwiftNIO's parser knows.
public final class MockServer: Sendable, CustomStringConvertible {
    /// The counts of connections and requests so far.
    public struct Counts: Sendable, Hashable {
        /// The accepted connections.
        public var acceptedConnections = 0
        /// The open connections.
        public var openConnections = 0
        /// The failed connections, as in ``MockServer/connectionFailures``.
        public var failedConnections = 0
        /// The requests, as in ``MockServer/requests``.
        public var requests = 0
    }

    /// The port on the loopback interface, chosen by the system.
    public let port: Int
    private let core: ServerCore
    private let listener: Listener
    private let work: Task<Void, Never>

    private init(_ listener: Listener, core: ServerCore) {
        (self.listener, self.core, port) = (listener, core, listener.port)
        // This value owns the task, and ends it in `stop()` or when it is released.
        work = Task { await core.run() }
    }

    /// Starts a server. Use ``withMockServer(_:_:)`` to stop it automatically.
    ///
    /// - Throws: the error of opening a socket or of reading a certificate.
    public static func start(_ configuration: Configuration = Configuration()) async throws -> MockServer {
        let core = ServerCore(configuration)
        return MockServer(try await Listener(core), core: core)
    }

    /// Stops listening, closes every connection, cancels the work on requests, and returns when all of it has ended. Calling it twice is
    /// safe.
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

    // MARK: - Responses

    /// Adds responses to the queue. Each is sent once, in order, before any dispatcher is called.
    public func enqueue(_ responses: MockResponse...) { core.change { $0.queue += responses } }

    /// Adds a dispatcher after the existing ones. It is called when the head of a request has arrived, may read the body, and returns `nil`
    /// to leave the request to the next one. If it throws, the response is a 500 with the error; if it throws `CancellationError`, the
    /// connection is closed.
    public func dispatch(_ respond: @escaping @Sendable (IncomingRequest) async throws -> MockResponse?) {
        core.change { $0.dispatchers.append(respond) }
    }

    /// Applies a fault to the next `count` connections, before any request.
    public func failConnections(_ fault: ConnectionFault, next count: Int = 1) {
        core.change { $0.connectionFaults += Array(repeating: fault, count: count) }
    }

    // MARK: - Address and history

    /// The URL of `path` on this server: `http://127.0.0.1:…`, with TLS `https://localhost:…`.
    public func url(_ path: String = "/") -> String {
        let host = core.configuration.host
        let shown = core.configuration.tls != nil ? "localhost" : host.contains(":") ? "[\(host)]" : host
        return "\(core.configuration.tls == nil ? "http" : "https")://\(shown):\(port)\(path)"
    }

    /// The requests, in the order in which they were complete or failed. Each is added before its response is sent, unless that is sent
    /// early.
    public var requests: [MockRequest] { core.with { $0.requests } }

    /// The errors of connections: handshakes that failed, octets that are not HTTP.
    public var connectionFailures: [String] { core.with { $0.failures } }

    /// The counts of connections and requests so far.
    public var counts: Counts { core.with { $0.counts } }
    /// The number of open connections.
    public var openConnectionCount: Int { counts.openConnections }
    /// The number of accepted connections.
    public var acceptedConnectionCount: Int { counts.acceptedConnections }

    /// Returns the first of ``requests`` that this method has not returned yet. Waits for one if there is none.
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

    /// Waits until the counts satisfy a condition.
    ///
    /// - Throws: ``TimeoutError``; `CancellationError`.
    public func waitUntil(within limit: Duration = .seconds(5), _ condition: @escaping @Sendable (Counts) -> Bool) async throws {
        if await core.wait(within: limit, until: { condition($0.counts) }) { return }
        try Task.checkCancellation()
        throw TimeoutError(limit: limit, counts: counts)
    }

    /// The clock that measures delays, pauses and slow sending.
    var clock: any Clock<Duration> { core.configuration.clock }

    public var description: String { "MockServer(\(url("")))" }

    /// The error if a ``MockServer`` was waited for in vain.
    public struct TimeoutError: Error, Sendable, CustomStringConvertible {
        /// The duration of the wait.
        public let limit: Duration
        /// The counts at the end of the wait.
        public let counts: Counts
        public var description: String {
            "waited \(limit); \(counts.requests) requests, \(counts.acceptedConnections) connections accepted, \(counts.openConnections) open"
        }
    }
}

private final class Found: Sendable {
    let request = Mutex<MockRequest?>(nil)
}

/// Calls `body` with a server, and stops the server when `body` returns or throws: no socket and no task is left.
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
