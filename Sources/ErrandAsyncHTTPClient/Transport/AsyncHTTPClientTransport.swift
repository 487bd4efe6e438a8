#if AsyncHTTPClient
public import AsyncHTTPClient
public import ErrandCore
internal import Synchronization

/// Sends requests with an existing `HTTPClient` of the app. The client's settings, connections and event loops are used.
///
/// ```swift
/// try await withTransport(AsyncHTTPClientTransport(borrowing: client)) { transport in
///     let response = try await transport.timeout(.seconds(10)).send(Request(.get, url: "https://a.example/"))
/// }
/// ```
///
/// An app without such a client needs `NIOTransport`, the default. This module needs the trait `AsyncHTTPClient`.
/// `import Errand` does not include this module.
///
/// Deadlines apply until the end of the body. Bodies are streamed with back-pressure in both directions. Up to 64 KiB of a response are
/// read ahead. The transport does not support trailers, 1xx responses and upgrades, and does not report connections. If the client follows
/// redirects or decodes content, as `HTTPClient.shared` does, the transport can't see these steps. Pass a client that neither follows
/// redirects nor decodes content.
///
/// AsyncHTTPClient 1.37 has defects that only the client itself could prevent. Three faults of a server can make requests hang until
/// their deadline, or end the process. They are a response that is complete before its request, a status below 100, and an HTTP/2
/// connection that breaks the rules. Over HTTP/2, requests can also hang until their deadline if other requests are cancelled while the
/// connection is opened. Bytes after the end of an HTTP/1.1 response can be read as the beginning of the next response. Therefore use
/// this transport only for servers that you trust, and always with a deadline.
public struct AsyncHTTPClientTransport: HTTPTransport, CustomStringConvertible, HidesStorage {
    private let loan: ClientLoan

    /// Creates a transport that uses a client of the app.
    ///
    /// - Parameter client: the client to use. The app must shut the client down, after ``shutdown()`` and after the last
    ///   exchange.
    public init(borrowing client: HTTPClient) { loan = ClientLoan(client) }

    /// The transport enforces deadlines, streams response bodies and reports the phases of an exchange.
    public var capabilities: TransportCapabilities { [.deadlines, .streamingDownload, .phaseEvents] }

    /// The type's name.
    public var description: String { "AsyncHTTPClientTransport" }

    /// Sends a request, and returns its response as soon as the head has been received.
    ///
    /// - Throws: ``/ErrandCore/TransportError``; `CancellationError`.
    public func send(_ request: Request) async throws -> Response {
        try Task.checkCancellation()
        guard let client = loan.client else {
            throw TransportError(.shutDown, phase: .request, request: request, delivery: .notSent)
        }
        guard request.options.upgrade == nil else {
            throw TransportError(
                .unsupported, phase: .request, message: "this transport can't change protocols", request: request, delivery: .notSent)
        }
        return try await Exchange(request, loan: loan).run(on: client)
    }

    /// Releases the client. Later calls of ``send(_:)`` throw ``/ErrandCore/TransportError`` with the code `shutDown`. The client
    /// is not shut down: its connections stay open, and exchanges in progress continue.
    public func shutdown() async throws { loan.end() }
}

/// Holds the client until the transport is shut down.
final class ClientLoan: Sendable {
    private let lent: Mutex<HTTPClient?>

    init(_ client: HTTPClient) { lent = Mutex(client) }

    /// The client; `nil` after the end.
    var client: HTTPClient? { lent.withLock { $0 } }

    func end() {
        // The client is released outside the lock.
        let client = lent.withLock { $0.take() }
        _ = client
    }
}
#endif
