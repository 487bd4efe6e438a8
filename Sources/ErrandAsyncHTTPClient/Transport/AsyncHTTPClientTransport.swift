#if AsyncHTTPClient
public import AsyncHTTPClient
public import ErrandCore
internal import Synchronization

/// Sends requests with an existing client of AsyncHTTPClient: with its settings, its connections and its event loops.
///
/// ```swift
/// try await withTransport(AsyncHTTPClientTransport(borrowing: client)) { transport in
///     let response = try await transport.timeout(.seconds(10)).send(Request(.get, url: "https://a.example/"))
/// }
/// ```
///
/// An app without such a client needs `NIOTransport`, the default on Linux. This module needs the trait `AsyncHTTPClient`, and
/// `import Errand` does not bring it.
///
/// Deadlines apply until the end of the body. Bodies are streamed with back-pressure in both directions; up to 64 KiB of a response are
/// read ahead. The transport does not support trailers, 1xx responses and upgrades, and does not report connections. If the client follows
/// redirects or decodes content, as `HTTPClient.shared` does, the transport can't see that: lend a client that does neither.
///
/// AsyncHTTPClient 1.37 has defects that only the client itself could prevent. A response that is complete before its request, a status
/// below 100, and an HTTP/2 connection that breaks the rules can make requests hang until their deadline, or end the process. Over
/// HTTP/2, requests can also hang until their deadline if other requests are cancelled while the connection is opened. Bytes after the
/// end of an HTTP/1.1 response can be taken for the beginning of the next response. Therefore, use this transport only for servers that
/// you trust, and always with a deadline.
public struct AsyncHTTPClientTransport: HTTPTransport, CustomStringConvertible, HidesStorage {
    private let loan: ClientLoan

    /// Creates a transport that uses a client of the app.
    ///
    /// - Parameter client: the client to use. The app shuts it down, after ``shutdown()`` and after the last exchange.
    public init(borrowing client: HTTPClient) { loan = ClientLoan(client) }

    /// The transport enforces deadlines, streams response bodies and reports the phases of an exchange.
    public var capabilities: Capabilities { [.deadlines, .streamingDownload, .phaseEvents] }

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

/// The borrowed client, until the transport is shut down.
final class ClientLoan: Sendable {
    private let lent: Mutex<HTTPClient?>

    init(_ client: HTTPClient) { lent = Mutex(client) }

    /// `nil` after the end.
    var client: HTTPClient? { lent.withLock { $0 } }

    func end() {
        // Released outside the lock.
        let client = lent.withLock { $0.take() }
        _ = client
    }
}
#endif
