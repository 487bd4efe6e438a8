#if AsyncHTTPClient
public import AsyncHTTPClient
public import ErrandCore
internal import NIOSSL
internal import Synchronization

/// Sends requests by AsyncHTTPClient: HTTP/1.1 and HTTP/2, with its connection pool.
///
/// ```swift
/// try await withTransport(AsyncHTTPClientTransport()) { transport in
///     let response = try await transport.timeout(.seconds(10)).send(Request(.get, url: "https://a.example/"))
/// }
/// ```
///
/// It makes a client of its own and shuts it down (by ``shutdown()``, or when the last copy of the transport is gone and every
/// exchange has ended), or borrows yours and leaves that to you.
///
/// Deadlines hold to the end of the body. Bodies stream both ways with back-pressure; up to 64 KiB of a response are read ahead.
/// It follows no redirect, and decodes content only if
/// ``Configuration/decompresses`` says so. It does not see trailers and 1xx responses.
public struct AsyncHTTPClientTransport: HTTPTransport, ConnectionSource, CustomStringConvertible, CustomReflectable {
    private let owner: ClientOwner

    /// A transport with a client of its own, by the default ``Configuration``.
    public init() {
        self.init(Configuration(), tls: .makeClientConfiguration())
    }

    /// A transport with a client of its own.
    ///
    /// - Throws: what reading certificates or keys throws.
    public init(_ configuration: Configuration) throws {
        self.init(configuration, tls: try configuration.tls.nioConfiguration())
    }

    /// A transport with a client of its own, by the default ``Configuration``, which decodes gzip and deflate.
    public static func decompressing() -> AsyncHTTPClientTransport {
        var configuration = Configuration()
        configuration.decompresses = true
        return AsyncHTTPClientTransport(configuration, tls: .makeClientConfiguration())
    }

    private init(_ configuration: Configuration, tls: TLSConfiguration) {
        let watch = ConnectionWatch()
        func client(decompressing: Bool) -> HTTPClient {
            HTTPClient(
                eventLoopGroup: HTTPClient.defaultEventLoopGroup,
                configuration: configuration.clientConfiguration(tls: tls, decompressing: decompressing, watch))
        }
        // A client decodes for all its requests or for none, so that those which want the bytes as they are have one of their own.
        owner = ClientOwner(
            Clients(plain: client(decompressing: false), decompressing: configuration.decompresses ? client(decompressing: true) : nil),
            watch)
    }

    /// A transport over a client that the app has already, with that client's settings. Its redirects and its decompression, if
    /// they are on, happen out of this library's sight. It is not shut down.
    ///
    /// Connections of a borrowed client are not guarded against what AsyncHTTPClient 1.37 makes of a response that is whole before its
    /// request is, of a status below 100, and of an HTTP/2 connection that is broken: requests that stand still, or the process's end.
    public init(borrowing client: HTTPClient) {
        owner = ClientOwner(Clients(plain: client, decompressing: nil), nil)
    }

    public var capabilities: Capabilities {
        [.deadlines, .streamingDownload, .phaseEvents]
    }

    /// The connections of a client of its own that are open now; empty for a borrowed one.
    public var openConnections: [OpenConnection] { owner.watch?.connections ?? [] }

    public var description: String { "AsyncHTTPClientTransport" }
    /// Without the client, whose settings may hold credentials of a proxy.
    public var customMirror: Mirror { Mirror(self, children: ["openConnections": openConnections]) }

    public func send(_ request: Request) async throws -> Response {
        try Task.checkCancellation()
        guard let clients = owner.clients else {
            throw TransportError(.shutDown, phase: .request, request: request, delivery: .notSent)
        }
        guard request.options.upgrade == nil else {
            throw TransportError(
                .unsupported, phase: .request, message: "this transport can't change protocols", request: request, delivery: .notSent)
        }
        let eventLoop = request.head.authority.flatMap { owner.watch?.takeEventLoop(for: $0) }
        let fields = request.head.headerFields
        guard let decompressing = clients.decompressing, fields[.acceptEncoding] == nil, fields[.range] == nil else {
            return try await Exchange(request, owner: owner).run(on: clients.plain, preferring: eventLoop)
        }
        var request = request
        request.head.headerFields[.acceptEncoding] = "gzip, deflate"
        return try await Exchange(request, isDecompressing: true, owner: owner).run(on: decompressing, preferring: eventLoop)
    }

    /// Shuts a client of its own down: connections are closed, and exchanges under way fail. A borrowed one is only let go of.
    public func shutdown() async throws {
        try await owner.shutdown()
    }
}

/// The clients of one transport.
struct Clients: Sendable {
    let plain: HTTPClient
    /// Nil where nothing is decoded.
    let decompressing: HTTPClient?

    var all: [HTTPClient] { [plain] + (decompressing.map { [$0] } ?? []) }
}

/// Holds the clients, and shuts them down when nobody else has, unless they are borrowed.
final class ClientOwner: Sendable {
    private let state: Mutex<Clients?>
    /// Nil where the clients are borrowed.
    let watch: ConnectionWatch?
    private var isOwned: Bool { watch != nil }

    init(_ clients: Clients, _ watch: ConnectionWatch?) {
        state = Mutex(clients)
        self.watch = watch
    }

    var clients: Clients? { state.withLock { $0 } }

    private func take() -> [HTTPClient] {
        state.withLock { clients in
            defer { clients = nil }
            return clients?.all ?? []
        }
    }

    func shutdown() async throws {
        let clients = take()
        guard isOwned else { return }
        for client in clients { try await client.shutdown() }
    }

    deinit {
        let clients = take()
        guard isOwned else { return }
        for client in clients { client.shutdown { _ in } }
    }
}
#endif
