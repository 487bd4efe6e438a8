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
/// It makes a client of its own and shuts it down (by ``shutdown()``, or when the last copy of the transport goes away), or
/// borrows yours and leaves that to you.
///
/// Deadlines hold to the end of the body. Bodies stream both ways with back-pressure; up to 64 KiB of a response are read ahead.
/// It follows no redirect and decodes no content by itself. It does not see trailers and 1xx responses.
public struct AsyncHTTPClientTransport: HTTPTransport, CustomStringConvertible {
    private let owner: ClientOwner

    /// A transport with a client of its own, by the default ``Configuration``.
    public init() {
        self.init(owning: Configuration().clientConfiguration(tls: .makeClientConfiguration()))
    }

    /// A transport with a client of its own.
    ///
    /// - Throws: what reading certificates or keys throws.
    public init(_ configuration: Configuration) throws {
        self.init(owning: configuration.clientConfiguration(tls: try configuration.tls.nioConfiguration()))
    }

    private init(owning settings: HTTPClient.Configuration) {
        owner = ClientOwner(HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: settings), isOwned: true)
    }

    /// A transport over a client that the app has already, with that client's settings. Its redirects and its decompression, if
    /// they are on, happen out of this library's sight. It is not shut down.
    public init(borrowing client: HTTPClient) {
        owner = ClientOwner(client, isOwned: false)
    }

    public var capabilities: Capabilities { [.deadlines, .streamingUpload, .streamingDownload, .http2] }

    public var description: String { "AsyncHTTPClientTransport" }

    public func send(_ request: Request) async throws -> Response {
        try Task.checkCancellation()
        guard let client = owner.client else {
            throw TransportError(.shutDown, phase: .request, request: request, wasSent: .no)
        }
        guard request.options.upgrade == nil else {
            throw TransportError(
                .unsupported, phase: .request, message: "this transport can't change protocols", request: request, wasSent: .no)
        }
        return try await Exchange(request).run(on: client)
    }

    /// Shuts a client of its own down: connections are closed, and exchanges under way fail. A borrowed one is only let go of.
    public func shutdown() async throws {
        try await owner.shutdown()
    }
}

/// Holds the client, and shuts it down when nobody else has.
private final class ClientOwner: Sendable {
    private let state: Mutex<HTTPClient?>
    private let isOwned: Bool

    init(_ client: HTTPClient, isOwned: Bool) {
        state = Mutex(client)
        self.isOwned = isOwned
    }

    var client: HTTPClient? { state.withLock { $0 } }

    private func take() -> HTTPClient? {
        state.withLock { client in
            defer { client = nil }
            return client
        }
    }

    func shutdown() async throws {
        guard let client = take(), isOwned else { return }
        try await client.shutdown()
    }

    deinit {
        guard let client = take(), isOwned else { return }
        client.shutdown { _ in }
    }
}
#endif
