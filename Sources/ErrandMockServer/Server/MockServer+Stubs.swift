#if MockServer
internal import ErrandCore
public import ErrandTesting
internal import Synchronization

extension MockServer {
    /// Adds a dispatcher that responds with stubs, as ``/ErrandTesting/StubTransport`` does without a socket.
    ///
    /// ```swift
    /// let stubs = server.serve(Stub(.get, "/users/7").responds(.json(["id": 7])))
    /// ```
    ///
    /// If a stub fails, the connection is closed without a response (HTTP/2: the stream is reset). Delays and rates are measured by the
    /// server's clock. If a request matches no stub, the request is passed to the next dispatcher.
    ///
    /// - Returns: the transport that selects the stubs and records the requests.
    @discardableResult
    public func serve(_ stubs: Stub...) -> StubTransport { serve(stubs) }

    /// Adds a dispatcher that responds with stubs. See ``serve(_:)-(Stub...)``.
    @discardableResult
    public func serve(_ stubs: [Stub]) -> StubTransport {
        let transport = StubTransport(stubs, clock: clock)
        dispatch { try await MockResponse(by: transport, to: $0) }
        return transport
    }
}

/// Runs `body` with a server that responds with stubs, and stops the server afterwards. See ``withMockServer(_:_:)``.
///
/// - Throws: the errors of the server's start, and the errors of `body`.
public func withMockServer<Result>(
    serving stubs: [Stub], _ configuration: MockServer.Configuration = MockServer.Configuration(),
    _ body: (MockServer) async throws -> Result
) async throws -> Result {
    try await withMockServer(configuration) { server in
        server.serve(stubs)
        return try await body(server)
    }
}

extension MockResponse {
    /// Creates the response of the first stub that matches; `nil` if no stub matches.
    fileprivate init?(by transport: StubTransport, to incoming: IncomingRequest) async throws {
        let events = InformationalResponses()
        let body: RequestBody
        if let length = incoming.headers[.contentLength].flatMap({ Int64($0) }) {
            body = length == 0 ? .empty : .stream(length: length, replay: .restartable) { _ in incoming.source }
        } else {
            body = .stream { _ in incoming.source }
        }
        var request = Request(head: incoming.head, body: body)
        request.options.acceptsRawResponses = true
        request.options.eventSink = events
        let response: Response
        do {
            response = try await transport.send(request)
        } catch is UnmatchedRequestError {
            return nil
        } catch is CancellationError {
            throw CancellationError()
        } catch let error as TransportError where error.code == .requestBody {
            throw error  // the client did not complete its request
        } catch {
            // The client must see only that no response arrives.
            self = MockResponse(HTTPResponse(status: .ok)).fault(
                incoming.httpVersion == .http2 ? .resetStream(code: 2) : .close, at: .responseStart)
            return
        }
        if let data = response.body.bufferedData {
            self.init(response.head, body: response.metadata.isRawResponse ? .raw(data) : .data(data))
        } else {
            self.init(response.head, body: .source { response.body.asSource() })
        }
        informational = events.heads
        isEarly = response.metadata.isStreamedResponse
    }
}

/// Collects the informational responses that a stub sends before its response.
private final class InformationalResponses: EventSink {
    private let state = Mutex<[HTTPResponse]>([])
    var heads: [HTTPResponse] { state.withLock { $0 } }

    func record(_ event: ExchangeEvent) {
        guard event.kind == .informationalResponse, let head = event.response else { return }
        state.withLock { $0.append(head) }
    }
}
#endif
