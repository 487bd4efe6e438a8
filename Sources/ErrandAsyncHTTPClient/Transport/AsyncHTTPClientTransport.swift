#if AsyncHTTPClient
public import AsyncHTTPClient
public import ErrandCore
internal import NIOSSL
internal import Synchronization

/// A transport over AsyncHTTPClient: HTTP/1.1 and HTTP/2, with its connection pool.
///
/// ```swift
/// try await withTransport(AsyncHTTPClientTransport()) { transport in
///     let response = try await transport.timeout(.seconds(10)).send(Request(.get, url: "https://a.example/"))
/// }
/// ```
///
/// It creates a client of its own and shuts it down (in ``shutdown()``, or when the last copy of the transport is released and every
/// exchange has ended), or it borrows a client of yours, which you shut down.
///
/// Deadlines apply to the end of the body. Bodies stream in both directions with back-pressure; up to 64 KiB of a response are read ahead.
/// It follows no redirects, and decodes content only if ``Configuration/decompresses`` is true. It does not report trailers and 1xx
/// responses.
public struct AsyncHTTPClientTransport: HTTPTransport, ConnectionSource, CustomStringConvertible, CustomReflectable {
    private let owner: ClientOwner

    /// Creates a transport with a client of its own and the default ``Configuration``.
    public init() {
        self.init(Configuration(), tls: .makeClientConfiguration())
    }

    /// Creates a transport with a client of its own.
    ///
    /// - Throws: the error of reading certificates or keys.
    public init(_ configuration: Configuration) throws {
        self.init(configuration, tls: try configuration.tls.nioConfiguration())
    }

    /// Returns a transport with a client of its own and the default ``Configuration``, which decodes gzip and deflate.
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
        // A client decodes for all its requests or for none, so requests that want the bytes as they are need another client.
        owner = ClientOwner(
            Clients(plain: client(decompressing: false), decompressing: configuration.decompresses ? client(decompressing: true) : nil),
            watch)
    }

    /// Creates a transport over a client of yours, with that client's settings. If its redirects and its decompression are on, this library
    /// does not see them. The client is not shut down.
    ///
    /// Connections of a borrowed client are not guarded against errors of AsyncHTTPClient 1.37: a response that is complete before its
    /// request, a status below 100, and a broken HTTP/2 connection can make requests stall or the process trap.
    public init(borrowing client: HTTPClient) {
        owner = ClientOwner(Clients(plain: client, decompressing: nil), nil)
    }

    public var capabilities: Capabilities {
        [.deadlines, .streamingDownload, .phaseEvents]
    }

    /// The open connections of a client of its own; empty for a borrowed client.
    public var openConnections: [OpenConnection] { owner.watch?.connections ?? [] }

    public var description: String { "AsyncHTTPClientTransport" }
    /// The open connections, without the client, whose settings may contain credentials of a proxy.
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

    /// Shuts a client of its own down: connections are closed, and exchanges in progress fail. A borrowed client is only released.
    public func shutdown() async throws {
        try await owner.shutdown()
    }
}

/// The clients of one transport.
struct Clients: Sendable {
    let plain: HTTPClient
    /// `nil` if nothing is decoded.
    let decompressing: HTTPClient?

    var all: [HTTPClient] { [plain] + (decompressing.map { [$0] } ?? []) }
}

/// Holds the clients, and shuts them down when it is released, unless they are borrowed.
final class ClientOwner: Sendable {
    private let state: Mutex<Clients?>
    /// `nil` if the clients are borrowed.
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
