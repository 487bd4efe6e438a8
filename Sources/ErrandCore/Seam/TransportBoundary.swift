/// What every request passes just before the transport: cancellation is seen, a request without an authority is refused, secret
/// fields get their never-index flag, and a deadline is obeyed for transports that can't do it themselves.
struct TransportBoundary<Transport: HTTPTransport>: HTTPSender {
    let transport: Transport

    func send(_ request: Request) async throws -> Response {
        try Task.checkCancellation()
        var request = request
        guard request.head.authority != nil, request.head.scheme != nil else {
            throw InvalidURL(request.head.path ?? "", .missingHost)
        }
        try Self.check(request.head)
        let ownFields = request.head.headerFields
        for field in request.options.fallbackHeaders where !ownFields.contains(field.name) {
            request.head.headerFields.append(field)
        }
        request.head.headerFields = request.head.headerFields.markingSensitive(by: request.options.sensitivity)
        if case .use(let limits) = request.options.phaseTimeouts, !limits.isEmpty { return try await watched(request, by: limits) }
        return try await sent(request)
    }

    /// The answer of the transport, before the deadline.
    private func sent(_ request: Request) async throws -> Response {
        guard let deadline = request.deadline else { return try await transport.send(request) }
        if deadline.hasPassed { throw TransportError.timedOut(.queue, after: .zero, request: request, wasSent: .no) }
        if transport.capabilities.contains(.deadlines), deadline.continuousInstant != nil { return try await transport.send(request) }
        return try await raced(request, by: deadline)
    }

    /// The same, with a limit for each phase.
    private func watched(_ request: Request, by limits: PhaseTimeouts) async throws -> Response {
        let watch = PhaseWatch(limits, tellsPhases: transport.capabilities.contains(.phaseEvents), sink: request.options.eventSink)
        var watched = request
        watched.options.eventSink = watch
        if limits.idleWrite != nil { watched.body = request.body.watched(by: watch) }
        let sent = watched
        var response: Response = try await racing(
            { try await watch.expiry(of: request) }, discard: { $0.body.abandon() }, operation: { try await self.sent(sent) })
        response.request.body = request.body
        response.request.options.eventSink = request.options.eventSink
        guard let limit = limits.idleRead, response.body.bufferedData == nil else { return response }
        response.body = ResponseBody(
            IdleBodySource(reading: response.body, limit: limit, clock: limits.clock, request: request),
            expectedLength: response.body.expectedLength, request: request)
        return response
    }

    /// A head may be of the caller's own making: nothing in it may end a line or a word of the message (RFC 9112, 3).
    private static func check(_ head: HTTPRequest) throws(InvalidURL) {
        let scheme = head.scheme ?? ""
        guard scheme == "https" || scheme == "http" else { throw InvalidURL("\(scheme)://", .unsupportedScheme(scheme)) }
        let authority = head.authority ?? ""
        if let octet = authority.utf8.first(where: { $0 <= 0x20 || $0 >= 0x7F || "/?#@".utf8.contains($0) }) {
            throw InvalidURL(
                "\(scheme)://\(authority)", octet == UInt8(ascii: "@") ? .credentials : .invalidOctet(octet, component: "authority"))
        }
        let target = head.path ?? ""
        if let octet = target.utf8.first(where: { $0 <= 0x20 || $0 >= 0x7F || $0 == UInt8(ascii: "#") }) {
            throw InvalidURL(target, .invalidOctet(octet, component: "path"))
        }
    }

    private func raced(_ request: Request, by deadline: Deadline) async throws -> Response {
        let started = deadline.remaining
        let transport = transport
        let response: Response = try await racing(
            deadline, onTimeout: { .timedOut(.response, after: started - deadline.remaining, request: request, wasSent: .maybe) },
            discard: { $0.body.abandon() },
            operation: { try await transport.send(request) })
        guard response.body.bufferedData == nil else { return response }
        var bounded = response
        bounded.body = ResponseBody(
            DeadlineBodySource(reading: response.body, deadline: deadline, started: started, request: request),
            expectedLength: response.body.expectedLength, request: request)
        return bounded
    }
}

/// Reads a body, each read raced against the deadline.
private final class DeadlineBodySource: BodySource {
    private let body: ResponseBody
    private let reader: ResponseBody.Reader?
    private let deadline: Deadline
    private let started: Duration
    private let request: Request

    init(reading body: ResponseBody, deadline: Deadline, started: Duration, request: Request) {
        (self.body, self.deadline, self.started, self.request) = (body, deadline, started, request)
        reader = body.makeReader()
    }

    var trailers: HTTPFields? { body.trailers }

    func next() async throws -> Data? {
        guard let reader else { return nil }
        return try await racing(
            deadline,
            onTimeout: { [started, deadline, request] in
                .timedOut(.body, after: started - deadline.remaining, request: request, wasSent: .yes)
            },
            discard: { _ in },
            operation: { try await reader.next() })
    }

    func abandon() { body.abandon() }
}

/// The result of `operation`, or the error of `onTimeout` if `deadline` passes first; then `operation` is cancelled and awaited.
private func racing<Result: Sendable>(
    _ deadline: Deadline, onTimeout: @escaping @Sendable () -> TransportError, discard: @escaping @Sendable (Result) -> Void,
    operation: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await racing(
        {
            try await deadline.wait()
            return onTimeout()
        }, discard: discard, operation: operation)
}

private enum Finisher<Result: Sendable>: Sendable {
    case result(Result)
    case expiry(TransportError)
}

/// The result of `operation`, or the error of `expiry` if that returns first; then `operation` is cancelled and awaited.
func racing<Result: Sendable>(
    _ expiry: @escaping @Sendable () async throws -> TransportError, discard: @escaping @Sendable (Result) -> Void,
    operation: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Finisher<Result>.self) { group in
        group.addTask { .result(try await operation()) }
        group.addTask { .expiry(try await expiry()) }
        defer { group.cancelAll() }
        let error: TransportError
        switch try await group.next() {
        case .result(let result): return result
        case .expiry(let expired): error = expired
        case nil: throw CancellationError()  // two were added
        }
        group.cancelAll()
        // The operation may have finished at the same moment: what it holds must not be lost unreleased.
        while let late = await group.nextResult() {
            if case .success(.result(let result)) = late { discard(result) }
        }
        try Task.checkCancellation()
        throw error
    }
}
