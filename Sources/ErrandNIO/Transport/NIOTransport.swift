#if SWIFT_NIO
public import ErrandCore
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Sends requests with SwiftNIO over HTTP/2 and HTTP/1.1, and has its own connection pool.
///
/// ```swift
/// try await withTransport(NIOTransport()) { transport in
///     let response = try await transport.timeout(.seconds(10)).send(Request(.get, url: "https://a.example/"))
/// }
/// ```
///
/// Connections are kept and reused. Deadlines apply until the last byte of the response has been received. Bodies are streamed with
/// back-pressure in both directions. Up to 64 KiB of a response are received before its body is read, and up to 512 KiB afterwards.
/// The transport does not follow redirects, and does not decode content.
///
/// A server may close a reused connection at the moment when a request is sent. If no byte of the response has arrived, the transport sends
/// the request once more over another connection. The body, and the method or an `Idempotency-Key`, must allow a second sending. A server
/// may also refuse a request as misdirected (421; [RFC 9110, section 15.5.20](https://www.rfc-editor.org/rfc/rfc9110#section-15.5.20)). If
/// the body of this request can be sent again, the request is sent once more, whatever its method.
///
/// Over TLS, HTTP/2 is used if the server chooses HTTP/2. Over HTTP/2, requests to an origin share one connection, up to the number of
/// streams that the server allows. ``Configuration/sharesConnectionsAcrossHosts`` lets several hosts share the connection. Up to 1 MiB of a
/// response is received before its body is read. An unread body does not hold back other responses. If the server reports that a request
/// was not processed (GOAWAY or `REFUSED_STREAM`; [RFC 9113, section 8.7](https://www.rfc-editor.org/rfc/rfc9113#section-8.7)), and the
/// body can be sent again, the request is sent once more, whatever its method. If a request asks for another protocol
/// (``ErrandCore/UpgradeRequest``), the request uses a connection of HTTP/1.1. If a server refuses a request with `HTTP_1_1_REQUIRED` ([RFC
/// 9113, section 7](https://www.rfc-editor.org/rfc/rfc9113#section-7)), and the body can be sent again, the request is sent once more over
/// a connection of HTTP/1.1. Further requests to the origin use HTTP/1.1 as long as that connection is open.
///
/// For a new `https` origin, the transport opens one connection first, and all requests to the origin wait for this connection. If
/// ``Configuration/allowsHTTP2`` is false, or for `http` URLs, requests do not wait for the first connection. If the server chooses HTTP/2
/// during the TLS handshake, the requests share the connection. If the server chooses HTTP/1.1, the other connections are opened
/// immediately. The transport remembers the choices of the last 1024 origins.
public struct NIOTransport: HTTPTransport, ClosedConnectionReporter, CustomStringConvertible, HidesStorage {
    private let owner: TransportOwner
    /// A task executor for each event loop. A call on one of these executors prefers connections of the same event loop. Over a connection
    /// of its own loop, the call does not change threads.
    public let executors: [EventLoopExecutor]

    /// Creates a transport with the default ``Configuration``.
    public init() {
        let configuration = Configuration()
        self.init(configuration, tls: TLSIdentity(allowsHTTP2: configuration.allowsHTTP2))
    }

    /// Creates a transport.
    ///
    /// - Throws: ``UnusableSettingError`` for a setting outside its bounds, such as a `maxConnections` of 0;
    ///   ``ErrandCore/TLSSettingsError`` for certificates and keys that can't be read.
    public init(_ configuration: Configuration) throws {
        try configuration.check()
        self.init(configuration, tls: try TLSIdentity(configuration.tls, allowsHTTP2: configuration.allowsHTTP2))
    }

    private init(_ configuration: Configuration, tls: TLSIdentity) {
        let group = configuration.eventLoopGroup ?? MultiThreadedEventLoopGroup.singleton
        owner = TransportOwner(Pool(configuration, Connector(settings: configuration, tls: tls), on: group))
        executors = group.makeIterator().map { EventLoopExecutor($0) }
    }

    /// The transport enforces deadlines and the limits of phases, streams response bodies, and reports the phases of an exchange and
    /// informational responses. The transport sends and returns trailer fields. Over HTTP/1.1, the transport supports changes of the
    /// protocol.
    public var capabilities: TransportCapabilities {
        [.deadlines, .phaseTimeouts, .streamingDownload, .phaseEvents, .informationalResponses, .trailers, .upgrades]
    }

    /// The connections that are open now, in use and idle.
    public var openConnections: [OpenConnection] { owner.pool.openConnections }

    /// The number of exchanges that now wait for a connection, for each origin with waiting exchanges. A waiting exchange is queued, or
    /// a connection is being opened for the exchange.
    public var waitingExchanges: [Origin: Int] { owner.pool.waitingExchanges }

    /// Returns the alternative services of an `https` origin, in the order of preference, each with its remaining lifetime ([RFC
    /// 7838](https://www.rfc-editor.org/rfc/rfc7838)). The services come from the last response with the field `Alt-Svc`.
    ///
    /// ```swift
    /// let offersHTTP3 = transport.alternativeServices(for: origin).contains { $0.protocolID == "h3" }
    /// ```
    ///
    /// The transport remembers the services, but does not use them, because the transport does not support HTTP/3. The services of the
    /// 1024 most recently used origins are kept, only in memory. The transport ignores the field in responses with the status 421, in
    /// interim responses and in trailers, and ignores ALTSVC frames.
    ///
    /// - Returns: the services; empty if the origin has announced no service or has withdrawn its services, or if the services have
    ///   expired.
    public func alternativeServices(for origin: Origin) -> [AlternativeService] {
        owner.pool.alternatives.services(for: origin, at: Pool.now())
    }

    /// Reports each connection that closes after this call to `observer`, on the connection's event loop. `observer` must be quick, and
    /// must not keep a reference to the transport.
    public func observeClosedConnections(as id: String, _ observer: @escaping @Sendable (ClosedConnection) -> Void) {
        owner.pool.observeClosedConnections(as: id, observer)
    }

    /// The type's name.
    public var description: String { "NIOTransport" }
    /// Shows only the open connections.
    package var shownFields: KeyValuePairs<String, Any> { ["openConnections": openConnections] }

    /// Sends a request, and returns its response as soon as the head has been received.
    ///
    /// - Throws: ``ErrandCore/TransportError``; `CancellationError`; ``/ErrandCore/UnsupportedOptionError`` for an option that requires a
    ///   capability that this transport does not have.
    public func send(_ request: Request) async throws -> Response {
        guard let origin = request.origin else { throw InvalidURLError(request.head.path ?? "", .missingHost) }
        let exchange = Exchange(request, to: try makeRoute(for: request, to: origin), owner: owner)
        if owner.isDraining.load(ordering: .relaxed) { throw exchange.failure(.shutDown, phase: .request, delivery: .notSent) }
        // A stack refuses an unsupported option itself. Without a stack, the transport must refuse this option.
        try request.checkOptions(supportedBy: capabilities)
        if let problem = exchange.upgrade?.problem(of: request) {
            throw exchange.failure(.invalidRequest, phase: .request, message: problem, delivery: .notSent)
        }
        exchange.events?.record(.start)
        var response: Response = try await withTaskCancellationHandler {
            // A checked continuation would allocate memory. `Exchange.takeWaiter` returns each continuation once.
            try await withUnsafeThrowingContinuation { waiter in
                if exchange.register(waiter) {
                    owner.pool.send(exchange)
                } else {
                    exchange.events?.record(.end, failure: CancellationError())
                    waiter.resume(throwing: CancellationError())
                }
            }
        } onCancel: {
            exchange.cancel()
        }
        if owner.pool.settings.tls.uncheckedHostsForTesting.contains(origin.host) { response.metadata.serverIsUnverified = true }
        return response
    }

    private func makeRoute(for request: Request, to origin: Origin) throws(TransportError) -> Route {
        do throws(ProxySettingsError) {
            return try owner.pool.makeRoute(to: origin, isForUpgrade: request.options.upgrade != nil)
        } catch {
            throw TransportError(
                .proxy, phase: .request, message: "\(error)", underlying: error, request: request, delivery: .notSent)
        }
    }

    /// Opens connections to an origin in advance, so that the first requests don't wait for connections.
    ///
    /// ```swift
    /// try await transport.preconnect(to: Origin("https://a.example"), count: 2)
    /// ```
    ///
    /// The transport opens connections until the origin has `count` idle connections. Connections that are being opened count as idle
    /// connections. The limits ``Configuration/maxConnectionsPerOrigin`` and ``Configuration/maxConnections`` apply: no connection is
    /// opened beyond these limits. The connections are closed after ``Configuration/idleTimeout``. Until then, requests may use the
    /// connections.
    ///
    /// - Parameters:
    ///   - origin: the scheme, host and port to connect to.
    ///   - count: the number of idle connections to have. Default: 1. With zero or a negative number, the call does nothing.
    /// - Throws: ``ErrandCore/TransportError`` if a new connection fails, or if the transport was shut down. The
    ///   ``ErrandCore/TransportError`` has no request, and its description begins with the origin. `CancellationError` if the task is
    ///   cancelled. Connections that were opened before the error stay open. ``ErrandCore/ProxySettingsError`` if a closure has chosen a
    ///   proxy that can't be used.
    public func preconnect(to origin: Origin, count: Int = 1) async throws {
        try Task.checkCancellation()
        try await owner.pool.preconnect(to: owner.pool.makeRoute(to: origin), count: count)
    }

    /// Opens connections to the origin of a URL in advance.
    ///
    /// - Parameters:
    ///   - url: an absolute `http` or `https` URL. Only its origin is used.
    ///   - count: the number of idle connections to have. Default: 1. With zero or a negative number, the call does nothing.
    /// - Throws: ``ErrandCore/InvalidURLError`` if `url` is not an absolute `http` or `https` URL; also the errors of the method with an
    ///   ``ErrandCore/Origin``.
    public func preconnect(to url: String, count: Int = 1) async throws {
        try await preconnect(to: HTTPURL(url).origin, count: count)
    }

    /// Closes every connection. Exchanges in progress fail.
    ///
    /// Returns when all connections have closed, including connections that were being opened. After that, the app may shut down its
    /// event loops.
    public func shutdown() async throws { try await owner.pool.shutDown().get() }

    /// Lets the exchanges in progress end, and then closes every connection.
    ///
    /// ```swift
    /// try await transport.shutdown(drainingFor: .seconds(10))
    /// ```
    ///
    /// New requests fail immediately, with the code `shutDown`. Queued requests are sent. An exchange ends with its body. An upgraded
    /// exchange ends when its connection closes. If the task is cancelled, the transport shuts down immediately.
    ///
    /// - Parameter limit: the longest time to wait, at least zero. After this time, exchanges in progress fail.
    public func shutdown(drainingFor limit: Duration) async throws {
        precondition(limit >= .zero, "drainingFor must be at least zero (is \(limit.inWords))")
        let deadline = ContinuousClock.now + limit.bounded
        owner.isDraining.store(true, ordering: .relaxed)
        // While an exchange moves from one connection to another, the exchange briefly belongs to neither connection. Therefore
        // one check is not enough.
        var quietLooks = 0
        while quietLooks < 2, ContinuousClock.now < deadline {
            quietLooks = owner.pool.hasExchanges ? 0 : quietLooks + 1
            do { try await Task.sleep(for: .milliseconds(5)) } catch { break }
        }
        try await shutdown()
    }
}

/// Shuts the pool down when the last copy of the transport is released and all its exchanges have ended.
final class TransportOwner: Sendable {
    let pool: Pool
    /// Whether new requests are refused.
    let isDraining = Atomic(false)

    init(_ pool: Pool) { self.pool = pool }

    // After a shutdown, the app may have shut down the event loops.
    deinit { if !pool.isShutDown { _ = pool.shutDown() } }
}
#endif
