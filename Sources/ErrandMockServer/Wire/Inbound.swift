#if MockServer
internal import ErrandCore
internal import ErrandFormats
internal import Synchronization

/// A part of a request. Parts arrive in order.
enum RequestPart: Sendable {
    case head(HTTPRequest, version: HTTPVersion)
    case body(Data)
    case end(trailers: HTTPFields?)

    /// The size of this part of the body, in bytes; 0 for other parts.
    var bodyBytes: Int { if case .body(let data) = self { data.count } else { 0 } }
}

/// A buffer of the received and unread parts of an HTTP/1.1 connection or an HTTP/2 stream. The event loop fills the buffer, and one task
/// reads from the buffer. While the buffer is full, the socket is not read.
final class Inbound: Sendable {
    private static let limitBytes = 64 * 1024
    private static let limitParts = 64

    private struct State {
        var parts = ChunkQueue<RequestPart>()
        var waiter: CheckedContinuation<RequestPart?, any Error>?
        var end: Result<Void, any Error>?
        var isHeld = false
        var isSlow = false
        var wantsRead = false
        var read: (@Sendable () -> Void)?

        var mayRead: Bool {
            if end != nil { return true }
            if isHeld { return false }
            return isSlow ? parts.isEmpty : parts.bytes < Inbound.limitBytes && parts.count < Inbound.limitParts
        }

        /// If the buffer has room again, returns the closure that the caller must call outside the lock.
        mutating func demand() -> (@Sendable () -> Void)? {
            guard wantsRead, mayRead else { return nil }
            wantsRead = false
            return read
        }
    }

    private let state = Mutex(State())

    // MARK: - The event loop's side

    /// Sets the closure that requests more data from the connection.
    func attach(read: @escaping @Sendable () -> Void) { state.withLock { $0.read = read } }

    /// Returns whether the connection may be read now. If the result is false, the connection is read when the buffer has room.
    func allowsRead() -> Bool {
        state.withLock { state in
            if state.mayRead { return true }
            state.wantsRead = true
            return false
        }
    }

    func receive(_ part: RequestPart) {
        let waiter = state.withLock { state -> CheckedContinuation<RequestPart?, any Error>? in
            guard state.end == nil else { return nil }
            if let waiter = state.waiter {
                state.waiter = nil
                return waiter
            }
            state.parts.append(part, bytes: part.bodyBytes)
            return nil
        }
        waiter?.resume(returning: part)
    }

    /// Ends the buffer. `error` is `nil` if the connection ended correctly.
    func finish(_ error: (any Error)?) {
        let waiter = state.withLock { state -> CheckedContinuation<RequestPart?, any Error>? in
            guard state.end == nil else { return nil }
            state.end = error.map { .failure($0) } ?? .success(())
            state.read = nil
            return state.waiter.take()
        }
        if let error { waiter?.resume(throwing: error) } else { waiter?.resume(returning: nil) }
    }

    // MARK: - The reader's side

    /// Returns the next part; `nil` if the connection has ended. Earlier received parts can still be read, even by a cancelled task.
    func next() async throws -> RequestPart? {
        try await waitInQueue { _, continuation in
            let (result, demand) = state.withLock { state -> (Result<RequestPart?, any Error>?, (@Sendable () -> Void)?) in
                if let part = state.parts.popFirst() { return (.success(part), state.demand()) }
                if let end = state.end { return (end.map { nil }, nil) }
                if Task.isCancelled { return (.failure(CancellationError()), nil) }
                if state.waiter != nil {
                    return (.failure(BrokenRequestError("two tasks read the request body at the same time")), nil)
                }
                state.waiter = continuation
                return (nil, state.demand())
            }
            demand?()
            return result
        } leave: { [self] _ in
            state.withLock { $0.waiter.take() }
        }
    }

    /// Whether a part is buffered. Buffered parts are not lost when the connection ends.
    var hasParts: Bool { state.withLock { !$0.parts.isEmpty } }

    /// Stops reading from the socket. The server still detects when the connection ends.
    func hold() { state.withLock { $0.isHeld = true } }

    /// Limits the number of parts that are read in advance to one.
    func slowDown() { state.withLock { $0.isSlow = true } }
}

/// The body of one request as a source. Records the bytes that are read, up to 16 MiB.
final class IncomingBody: BodySource {
    private struct State {
        var request: MockRequest
        var isOver = false
        var owesContinue: Bool
        var slow: (bytes: Int, pause: Duration)?
        /// The rest of a part that is passed on slowly.
        var rest = Data()

        mutating func keep(_ data: Data) {
            request.bodyBytes += data.count
            request.body.append(data.prefix(IncomingBody.keptBytes - request.body.count))
        }

        mutating func popRest() -> Data? {
            guard !rest.isEmpty else { return nil }
            let piece = rest.prefix(slow?.bytes ?? .max)
            rest = rest.dropFirst(piece.count)
            keep(piece)
            return piece
        }
    }

    static let keptBytes = 16 * 1024 * 1024

    private let inbound: Inbound
    private let clock: any Clock<Duration>
    private let sendInformational: @Sendable (HTTPResponse) async throws -> Void
    private let onEnd: @Sendable (MockRequest) -> Void
    private let state: Mutex<State>

    init(_ request: MockRequest, inbound: Inbound, core: ServerCore, wire: any ExchangeWire) {
        (self.inbound, clock) = (inbound, core.configuration.clock)
        sendInformational = { try await wire.inform($0) }
        onEnd = { request in core.change { $0.requests.append(request) } }
        let expects = request.headers[.expect]?.isExactlyIgnoringCase("100-continue") == true && request.httpVersion != .http1_0
        state = Mutex(State(request: request, owesContinue: expects && core.configuration.sendsContinue))
    }

    var request: MockRequest { state.withLock(\.request) }
    var trailers: HTTPFields? { state.withLock(\.request.trailers) }
    /// Whether the body has ended.
    var isOver: Bool { state.withLock(\.isOver) }
    /// Whether the client waits for `100 Continue`.
    var owesContinue: Bool { state.withLock { $0.owesContinue && !$0.isOver } }

    /// Sends `100 Continue` if the client waits for this response.
    func grantContinue() async throws {
        let owed = state.withLock { state in
            defer { state.owesContinue = false }
            return state.owesContinue
        }
        if owed, !inbound.hasParts { try await sendInformational(HTTPResponse(status: .continue)) }
    }

    /// Sends an informational response.
    func inform(_ head: HTTPResponse) async throws { try await sendInformational(head) }

    /// Makes the reader fail after the buffered parts. Then, the connection is closed (HTTP/2: the stream is reset).
    func breakOff(_ reason: String) { inbound.finish(BrokenRequestError(reason)) }

    /// Reads the buffered parts, then records the request. If the end of the request was not read, the request is recorded as
    /// incomplete.
    func close(_ reason: String) async {
        state.withLock { state in
            (state.owesContinue, state.slow) = (false, nil)
            _ = state.popRest()
        }
        while !isOver, inbound.hasParts { _ = try? await next() }
        fail(reason)
    }

    /// Limits later reads to pieces of at most `bytes` bytes of the body, with a pause before each piece.
    func slowDown(bytes: Int, pause: Duration) {
        inbound.slowDown()
        state.withLock { $0.slow = (bytes, pause) }
    }

    func next() async throws -> Data? {
        let (isOver, slow) = state.withLock { ($0.isOver, $0.slow) }
        guard !isOver else { return nil }
        do {
            try await grantContinue()
            if let slow { try await clock.sleep(for: slow.pause.bounded) }
            if let piece = state.withLock({ $0.popRest() }) { return piece }
            switch try await inbound.next() {
            case .body(let data):
                return state.withLock { state in
                    state.rest = data
                    return state.popRest()
                }
            case .end(let trailers):
                finish { $0.trailers = trailers }
                return nil
            case .head, nil:
                throw BrokenRequestError("the client ended the request before it was complete")
            }
        } catch {
            fail(error is CancellationError ? "the server stopped" : "\(error)")
            throw error
        }
    }

    func abandon() {}

    /// Records the request as incomplete, unless the end of the request was read.
    func fail(_ reason: String) { finish { $0.failure = reason } }

    private func finish(_ change: (inout MockRequest) -> Void) {
        let finished = state.withLock { state -> MockRequest? in
            guard !state.isOver else { return nil }
            state.isOver = true
            change(&state.request)
            return state.request
        }
        if let finished { onEnd(finished) }
    }
}
#endif
