#if AsyncHTTPClient
public import AsyncHTTPClient
public import ErrandCore
internal import NIOSSL
internal import Synchronization

/// Sends requests with AsyncHTTPClient: HTTP/1.1 and HTTP/2, with its connection pool.
///
/// ```swift
/// try await withTransport(AsyncHTTPClientTransport()) { transport in
///     let response = try await transport.timeout(.seconds(10)).send(Request(.get, url: "https://a.example/"))
/// }
/// ```
///
/// The transport either creates its own client or borrows yours. It shuts its own client down: in ``shutdown()``, or when the last copy of
/// the transport is gone and all exchanges have ended. It does not shut down a borrowed client.
///
/// Deadlines apply until the end of the body. Bodies are streamed with back-pressure in both directions; up to 64 KiB of a response are
/// read ahead. The transport does not follow redirects, and it decodes content only if ``Configuration/decompresses`` is set. It does not
/// support trailers and 1xx responses.
public struct AsyncHTTPClientTransport: HTTPTransport, ConnectionSource, CustomStringConvertible, CustomReflectable {
    private let owner: ClientOwner

    /// Creates a transport with its own client and the default ``Configuration``.
    public init() {
        self.init(Configuration(), tls: TLSSettings().baseConfiguration)
    }

    /// Creates a transport with its own client.
    ///
    /// - Parameter configuration: the settings of the client.
    /// - Throws: ``/ErrandCore/TLSSettingsError`` for certificates and keys that can't be read, and for certificate pins, which AsyncHTTPClient
    ///   does not support; ``/ErrandCore/ProxySettingsError`` for the settings of a proxy that it does not support.
    public init(_ configuration: Configuration) throws {
        try configuration.checkProxy()
        self.init(configuration, tls: try configuration.tls.nioConfiguration())
    }

    /// Returns a transport with its own client and the default ``Configuration``, which also decodes gzip and deflate.
    public static func decompressing() -> AsyncHTTPClientTransport {
        var configuration = Configuration()
        configuration.decompresses = true
        return AsyncHTTPClientTransport(configuration, tls: configuration.tls.baseConfiguration)
    }

    private init(_ configuration: Configuration, tls: TLSConfiguration) {
        let watch = ConnectionWatch()
        func client(decompressing: Bool) -> HTTPClient {
            HTTPClient(
                eventLoopGroup: HTTPClient.defaultEventLoopGroup,
                configuration: configuration.clientConfiguration(tls: tls, decompressing: decompressing, watch))
        }
        // A client decodes the responses to all its requests or to none. Requests for undecoded bytes therefore have their own client.
        var clients = Clients(plain: client(decompressing: false), decompressing: nil)
        if configuration.decompresses { clients.decompressing = client(decompressing: true) }
        if configuration.tls.trustsAnyCertificateForTesting != .none {
            clients.unchecked = Clients.Unchecked(configuration.tls.trustsAnyCertificateForTesting, tls)
        }
        owner = ClientOwner(clients, watch)
    }

    /// Creates a transport that uses an existing client of the app, with that client's settings. ``shutdown()`` does not shut this client
    /// down. If the client follows redirects or decompresses, this library doesn't see it.
    ///
    /// The connections of a borrowed client have no guards against three defects of AsyncHTTPClient 1.37: a response that is complete
    /// before its request, a status below 100, and a broken HTTP/2 connection can make requests hang, or end the process.
    ///
    /// - Parameter client: the client to use; the app shuts it down.
    public init(borrowing client: HTTPClient) {
        owner = ClientOwner(Clients(plain: client, decompressing: nil), nil)
    }

    /// The transport enforces deadlines, streams response bodies and reports the phases of an exchange.
    public var capabilities: Capabilities {
        [.deadlines, .streamingDownload, .phaseEvents]
    }

    /// The connections that the transport's own client has open now; empty for a borrowed client.
    public var openConnections: [OpenConnection] { owner.watch?.connections ?? [] }

    /// The type's name.
    public var description: String { "AsyncHTTPClientTransport" }
    /// A mirror without the client, whose settings may contain credentials of a proxy.
    public var customMirror: Mirror { Mirror(self, children: ["openConnections": openConnections]) }

    /// Sends a request, and returns its response as soon as the head has been received.
    ///
    /// - Throws: ``/ErrandCore/TransportError``; `CancellationError`.
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
            return try await Exchange(request, owner: owner).run(on: clients.plain, unchecked: clients.unchecked, preferring: eventLoop)
        }
        var request = request
        request.head.headerFields[.acceptEncoding] = "gzip, deflate"
        return try await Exchange(request, isDecompressing: true, owner: owner)
            .run(on: decompressing, unchecked: clients.unchecked, preferring: eventLoop)
    }

    /// Shuts the transport's own client down: its connections are closed, and exchanges in progress fail. A borrowed client is released,
    /// but not shut down.
    public func shutdown() async throws {
        try await owner.shutdown()
    }
}

/// The clients of one transport.
struct Clients: Sendable {
    let plain: HTTPClient
    /// `nil` if nothing is decoded.
    var decompressing: HTTPClient?
    /// The hosts whose certificates are not checked, for tests; `nil` if there are none.
    var unchecked: Unchecked?

    /// A reference: the clients are copied for each request.
    final class Unchecked: Sendable {
        private let hosts: TLSSettings.UncheckedHosts
        private let configuration: TLSConfiguration

        init(_ hosts: TLSSettings.UncheckedHosts, _ verifying: TLSConfiguration) {
            var configuration = verifying
            configuration.certificateVerification = .none
            (self.hosts, self.configuration) = (hosts, configuration)
        }

        /// The configuration for a request; `nil` if its host is checked.
        func configuration(for request: Request) -> TLSConfiguration? {
            request.origin.flatMap { hosts.contains($0.host) ? configuration : nil }
        }
    }

    var all: [HTTPClient] { [plain] + (decompressing.map { [$0] } ?? []) }
}

/// Owns the clients. Shuts them down when its last reference is gone, unless they are borrowed.
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
