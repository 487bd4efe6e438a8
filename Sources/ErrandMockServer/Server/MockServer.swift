#if MockServer
public import ErrandCore
internal import ErrandFormats
internal import NIOCore
internal import Synchronization

/// An HTTP server for tests that uses a real socket on the loopback interface, and can produce faults.
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
/// The server first responds with the queued responses, in order. When the queue is empty, the server calls its dispatchers in the
/// order in which they were added. The server sends the first response that is not `nil`. If there is no response, the server
/// responds with the status 404 and a text that names the request. Requests on different connections or streams are handled
/// concurrently.
///
/// On HTTP/1.1, the server accepts the methods that SwiftNIO's parser knows. If a client sends octets that are not HTTP/1.1, the server
/// responds with the status 400, and closes the connection.
public final class MockServer: Sendable, CustomStringConvertible {
    /// The numbers of connections and requests since the server started.
    public struct Counts: Sendable, Hashable {
        /// The number of connections that the server accepted.
        public var acceptedConnections = 0
        /// The number of connections that are open now.
        public var openConnections = 0
        /// The number of ``MockServer/connectionFailures``.
        public var failedConnections = 0
        /// The number of ``MockServer/requests``.
        public var requests = 0
    }

    /// The port on the loopback interface, chosen by the operating system.
    public let port: Int
    private let core: ServerCore
    private let listener: Listener
    private let work: Task<Void, Never>

    private init(_ listener: Listener, core: ServerCore) {
        (self.listener, self.core, port) = (listener, core, listener.port)
        // The server owns this task. The task ends when `stop()` is called, or when the last reference to the server is
        // released.
        work = Task { await core.run() }
    }

    /// Starts a server. ``withMockServer(_:_:)`` also stops the server.
    ///
    /// - Throws: any error of opening the socket or of reading the certificate.
    public static func start(_ configuration: Configuration = Configuration()) async throws -> MockServer {
        let core = ServerCore(configuration)
        return MockServer(try await Listener(core), core: core)
    }

    /// Stops listening, closes all connections, cancels the dispatchers, and returns when all connections and dispatchers have ended.
    /// This method may be called more than once.
    public func stop() async {
        let open = core.stop()
        work.cancel()
        listener.close()
        for channel in open { Connection.closeSocket(of: channel) }
        for channel in open { try? await channel.closeFuture.get() }
        await listener.waitUntilClosed()
        await work.value
    }

    deinit {
        let open = core.stop()
        work.cancel()
        listener.close()
        for channel in open { Connection.closeSocket(of: channel) }
    }

    // MARK: - Responses

    /// Adds responses to the queue. Each response is sent once, in order, before any dispatcher is called.
    public func enqueue(_ responses: MockResponse...) { core.change { $0.queue += responses } }

    /// Adds a dispatcher after the existing dispatchers.
    ///
    /// ```swift
    /// server.dispatch { request in
    ///     guard request.head.path == "/slow" else { return nil }
    ///     return .text("done").with { $0.headDelay = .seconds(1) }
    /// }
    /// ```
    ///
    /// - Parameter respond: the closure that is called when the head of a request has been received. The closure may read the body. If the
    ///   closure returns `nil`, the next dispatcher is called. If the closure throws, the server responds with the status 500 and the error
    ///   as text. If the error is `CancellationError` or ``BrokenRequestError``, the server closes the connection instead (HTTP/2: resets
    ///   the stream).
    public func dispatch(_ respond: @escaping @Sendable (IncomingRequest) async throws -> MockResponse?) {
        core.change { $0.dispatchers.append(respond) }
    }

    /// Makes the next connections fail before any request.
    ///
    /// - Parameters:
    ///   - fault: the way in which the connections fail.
    ///   - count: the number of connections. Default: 1.
    public func failConnections(_ fault: ConnectionFault, next count: Int = 1) {
        core.change { $0.connectionFaults += Array(repeating: fault, count: count) }
    }

    // MARK: - Address and records

    /// Returns a URL of the server, followed by `path`: `http://127.0.0.1:…` (or `http://[::1]:…`), or with TLS `https://localhost:…`.
    public func url(_ path: String = "/") -> String {
        let host = core.configuration.host
        let shown = core.configuration.tls != nil ? "localhost" : host.containsOctet(UInt8(ascii: ":")) ? "[\(host)]" : host
        return "\(core.configuration.tls == nil ? "http" : "https")://\(shown):\(port)\(path)"
    }

    /// The requests so far, in the order in which they ended. A request ends when the whole request was received, or when the request
    /// breaks off. Each request is recorded before its response is sent, unless the response is early. See ``MockResponse/isEarly``.
    public var requests: [MockRequest] { core.with { $0.requests } }

    /// The reasons why connections failed, such as failed handshakes and octets that are not HTTP.
    public var connectionFailures: [String] { core.with { $0.failures } }

    /// The numbers of connections and requests so far.
    public var counts: Counts { core.with { $0.counts } }
    /// The number of connections that are open now.
    public var openConnectionCount: Int { counts.openConnections }
    /// The number of connections that the server has accepted so far.
    public var acceptedConnectionCount: Int { counts.acceptedConnections }

    /// Returns the first of ``requests`` that this method has not returned before. If there is no such request, waits for the next
    /// request.
    ///
    /// - Parameter limit: the maximum time to wait. Default: 30 s.
    /// - Throws: ``TimeoutError`` after `limit`; `CancellationError`.
    public func nextRequest(within limit: Duration = .seconds(30)) async throws -> MockRequest {
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

    /// Waits until the counts meet a condition.
    ///
    /// ```swift
    /// try await server.waitUntil { $0.openConnections == 0 }
    /// ```
    ///
    /// - Parameters:
    ///   - limit: the maximum time to wait. Default: 30 s.
    ///   - condition: the closure that is called with the counts, first immediately and then after each change.
    /// - Throws: ``TimeoutError`` after `limit`; `CancellationError`.
    public func waitUntil(within limit: Duration = .seconds(30), _ condition: @escaping @Sendable (Counts) -> Bool) async throws {
        if await core.wait(within: limit, until: { condition($0.counts) }) { return }
        try Task.checkCancellation()
        throw TimeoutError(limit: limit, counts: counts)
    }

    /// The clock that measures delays, pauses and slow drips.
    var clock: any Clock<Duration> { core.configuration.clock }

    /// The server's URL.
    public var description: String { "MockServer(\(url("")))" }

    /// The error if an awaited request does not arrive in time, or if an awaited condition is not met in time.
    public struct TimeoutError: NumberedFailure, Sendable, CustomStringConvertible {
        /// The time that the test waited.
        public let limit: Duration
        /// The counts at the end of the wait.
        public let counts: Counts
        /// The time and the counts, as text.
        public var description: String {
            "waited \(limit.inWords); \(counts.requests.counted("request")), \(counts.acceptedConnections.counted("connection")) accepted, "
                + "\(counts.openConnections) open"
        }
        public var failureNumber: FailureNumber { .mockServerTimeout }
        /// The time and the counts, as text.
        public var failureReason: String? { SafeText.sentence(description) }
    }
}

private final class Found: Sendable {
    let request = Mutex<MockRequest?>(nil)
}

/// Runs `body` with a server, and stops the server when `body` returns or throws. When this function returns, all sockets and tasks of the
/// server have ended.
///
/// - Parameters:
///   - configuration: the server's settings. Default: HTTP/1.1 in clear text.
///   - body: the code that uses the server.
/// - Throws: the errors of the server's start, and the errors of `body`.
public func withMockServer<Result>(
    _ configuration: MockServer.Configuration = MockServer.Configuration(), _ body: (MockServer) async throws -> Result
) async throws -> Result {
    let server = try await MockServer.start(configuration)
    let result = await Swift.Result(of: { try await body(server) })
    await server.stop()
    return try result.get()
}
#endif
