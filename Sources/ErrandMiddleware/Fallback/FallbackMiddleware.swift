public import ErrandCore

/// Replaces a failure, or a response with an unwanted status. The replacement is a value, a response from a closure, or the response of
/// another sender.
///
/// ```swift
/// primary.fallback(to: mirror)                                             // if there is no response
/// stack.fallback(statuses: [503]) { request, _ in await kept.response(to: request) }   // nil: the 503 is returned
/// ```
///
/// **Place:** inside `validateStatus`, and outside `retry`, so that the fallback acts after the last attempt has failed. A cancelled call
/// has no fallback. If the fallback fails too, the first failure is thrown, or the unwanted response is returned. The property `attempts`
/// of the first failure contains the second failure.
///
/// **Two servers:** give each sender its own `server` as an inner layer. A `server` layer outside both senders makes the URL
/// absolute. An inner `server` does not change a URL of another origin. With an outer `server`, the second server would get no request. The
/// following stack is correct:
///
/// ```swift
/// let api = transport.server("https://a.example").retry()
///     .fallback(to: transport.server("https://b.example"), statuses: [503])
///     .validateStatus()
/// ```
///
/// In a stack that sorts its layers, `server` is outside `fallback`. Begin a sorted stack with the first server: `HTTPStack.sorted(around:
/// transport.server("https://a.example"))`. The description of a stack reports a `server` that is outside both senders.
///
/// **Deadline:** if the request can be sent again, the first sender gets an earlier deadline. A quarter of the remaining time
/// (`deadlineShare`) is reserved for the other sender. With an outer `timeout(.seconds(10))`, the first sender has 7.5 s, including the
/// body of its response. If your servers need much time to send a body, set `deadlineShare` to 0. If the request has no deadline, and the
/// first sender never responds, there is no fallback. If the replacement is a value or comes from a closure, no time is reserved. If the
/// first sender fails, a value or a closure gives the response, even after the deadline.
///
/// **Per request:** with `request.options.fallback = .off`, there is no fallback.
public struct FallbackMiddleware: HTTPMiddleware {
    /// The reason for a fallback.
    public enum Cause: Sendable {
        /// The inner sender threw this error.
        case failure(any Error)
        /// The inner sender returned this response, whose status is in `statuses`. The body of this response is unread. If the
        /// closure returns another response that does not use the body, the body is released. A closure that reads the body must
        /// return another response.
        case response(Response)
    }

    private let name: String
    private let statuses: StatusRule
    /// The share of the remaining time that is reserved for the fallback.
    private let deadlineShare: Double
    private let makeResponse: @Sendable (Request, Cause) async throws -> Response?
    /// Whether the other sender has its own server.
    private let hasServer: Bool

    /// Creates a fallback that gets its response from a closure.
    ///
    /// - Parameters:
    ///   - name: the name of the layer in the stack's description.
    ///   - statuses: the statuses of the responses to replace. Default: none.
    ///   - makeResponse: a closure that returns the replacement. If the closure returns `nil`, the failure or the unwanted
    ///     response is kept.
    public init(
        _ name: String = "closure", statuses: StatusRule = [],
        _ makeResponse: @escaping @Sendable (_ request: Request, _ cause: Cause) async throws -> Response?
    ) {
        self.init(name: name, statuses: statuses, deadlineShare: 0, hasServer: false, makeResponse)
    }

    private init(
        name: String, statuses: StatusRule, deadlineShare: Double, hasServer: Bool,
        _ makeResponse: @escaping @Sendable (Request, Cause) async throws -> Response?
    ) {
        precondition((0..<1).contains(deadlineShare), "deadlineShare must be at least 0 and less than 1 (is \(deadlineShare))")
        (self.name, self.statuses, self.makeResponse) = (name, statuses, makeResponse)
        (self.deadlineShare, self.hasServer) = (deadlineShare, hasServer)
    }

    /// Creates a fallback that sends the request to another sender.
    ///
    /// The request is sent only if its body can be sent again. A request with an idempotent method ([RFC 9110, section
    /// 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)) or with an `Idempotency-Key` may be sent twice. Any other
    /// request is sent only if the first server certainly did not process the request.
    ///
    /// - Parameters:
    ///   - sender: the sender that gets the request if this sender fails.
    ///   - statuses: the statuses of the responses to replace. Default: none.
    ///   - deadlineShare: the share of the remaining time that is reserved for the other sender, at least 0 and less than 1.
    ///     Default: 0.25. With 0, no time is reserved.
    public init(to sender: some HTTPSender, statuses: StatusRule = [], deadlineShare: Double = 0.25) {
        // If `sender` is a transport, the stack adds the transport's boundary.
        let stack = HTTPStack(sender)
        let hasServer = stack.alwaysPasses(.server)
        self.init(name: "another sender", statuses: statuses, deadlineShare: deadlineShare, hasServer: hasServer) { request, cause in
            guard request.body.canBeSent, cause.allowsSending(request) else { return nil }
            // The call continues in the stack of the other sender. That stack need not support every option that the call sets.
            return try await stack.sendWithinCall(request)
        }
    }

    public var place: MiddlewarePlace { .fallback }
    public var appliesToPreparedRequests: Bool { false }
    /// True, because a request to the other sender skips the inner layers.
    public var mayBypassInnerLayers: Bool { true }

    public var neighbors: [MiddlewareNeighbor] {
        var rules: [MiddlewareNeighbor] = []
        if !statuses.isEmpty { rules.append(.inside(.validateStatus, because: "fallback would get an error instead of the status")) }
        if hasServer { rules.append(.outside(.server, because: "the fallback server would get the URL of the first server")) }
        return rules
    }

    public var label: String { "fallback(\(name))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.fallback.isOff else { return try await next.send(request) }
        let first: Response
        do {
            first = try await self.first(request, next)
        } catch {
            if Task.isCancelled || error is CancellationError { throw CancellationError() }
            switch try await other(request, .failure(error)) {
            case .success(let other?): return other
            case .success(nil): throw error
            case .failure(let second):
                // The failure must show that the request may have reached the other sender's server.
                guard var failure = error as? any RequestFailure else { throw error }
                failure.attempts.append(AttemptRecord(number: failure.attempts.count + 1, outcome: .failure(second), delay: .zero))
                throw failure
            }
        }
        guard statuses.contains(first.head.status) else { return first }
        do {
            // The first response is not abandoned, because the other response may use the body of the first response.
            if case .success(let other?) = try await other(request, .response(first)) { return other }
            return first
        } catch {
            first.discard()
            throw error
        }
    }

    /// Sends the request to the first sender, with an earlier deadline. If this deadline passes, the failure is a timeout and not a
    /// cancellation. A timeout shows the inner layers that the server is slow.
    private func first(_ request: Request, _ next: some HTTPSender) async throws -> Response {
        guard deadlineShare > 0, let deadline = request.deadline, request.body.replay.canRestart, request.mayBeSentAgain,
            case let remaining = deadline.remaining, remaining > .zero
        else { return try await next.send(request) }
        var first = request
        first.deadline = deadline.earlier(by: remaining * deadlineShare)
        return try await next.send(first)
    }

    /// - Throws: only `CancellationError`.
    private func other(_ request: Request, _ cause: Cause) async throws -> Result<Response?, any Error> {
        do {
            var response = try await makeResponse(request, cause)
            response?.metadata.isFallback = true
            return .success(response)
        } catch {
            if Task.isCancelled || error is CancellationError { throw CancellationError() }
            return .failure(error)
        }
    }
}

extension FallbackMiddleware.Cause {
    /// Returns whether `request` may be sent once more, because a repetition does no harm. After a failure, the request may also be sent if
    /// the first server did not process it.
    fileprivate func allowsSending(_ request: Request) -> Bool {
        switch self {
        case .failure(let error): request.mayBeSentAgain(after: error)
        case .response: request.mayBeSentAgain
        }
    }
}

private enum FallbackOptionKey: SwitchOptionKey {}

private enum IsFallbackKey: MetadataKey { static var defaultValue: Bool { false } }

extension RequestOptions {
    /// Whether a fallback applies to this request. `.off`: the failure reaches the caller.
    public var fallback: OptionOverride<Never> {
        get { self[FallbackOptionKey.self] }
        set { self[FallbackOptionKey.self] = newValue }
    }
}

extension ResponseMetadata {
    /// Whether the response replaces a failure, or a response with an unwanted status.
    public var isFallback: Bool {
        get { self[IsFallbackKey.self] }
        set { self[IsFallbackKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Sends a request to another sender if this sender fails. See ``FallbackMiddleware``.
    ///
    /// ```swift
    /// primary.fallback(to: mirror, statuses: [503])
    /// ```
    ///
    /// - Parameters:
    ///   - sender: the sender that gets the request.
    ///   - statuses: the statuses of the responses to replace. Default: none.
    ///   - deadlineShare: the share of the remaining time that is reserved for `sender`, at least 0 and less than 1. Default: 0.25.
    public func fallback(to sender: some HTTPSender, statuses: StatusRule = [], deadlineShare: Double = 0.25) -> HTTPStack {
        wrapped(by: FallbackMiddleware(to: sender, statuses: statuses, deadlineShare: deadlineShare))
    }

    /// Returns a fixed response in place of a failure. See ``FallbackMiddleware``.
    ///
    /// ```swift
    /// stack.fallback(headers: [.contentType: "application/json"], data: Data("[]".utf8))
    /// ```
    ///
    /// - Parameters:
    ///   - status: the status of the fixed response. Default: 200.
    ///   - headers: the header fields of the fixed response. Default: none.
    ///   - data: the body of the fixed response. Default: empty.
    ///   - statuses: the statuses of the responses to replace. Default: none.
    public func fallback(status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields(), data: Data, statuses: StatusRule = [])
        -> HTTPStack
    {
        wrapped(
            by: FallbackMiddleware("a value", statuses: statuses) { request, _ in
                Response(head: HTTPResponse(status: status, headerFields: headers), data: data, request: request)
            })
    }

    /// Replaces a failure with the response that a closure returns. See ``FallbackMiddleware``.
    ///
    /// - Parameters:
    ///   - statuses: the statuses of the responses to replace. Default: none.
    ///   - makeResponse: a closure that returns the replacement. If the closure returns `nil`, the failure or the unwanted
    ///     response is kept.
    public func fallback(
        statuses: StatusRule = [],
        _ makeResponse: @escaping @Sendable (_ request: Request, _ cause: FallbackMiddleware.Cause) async throws -> Response?
    ) -> HTTPStack { wrapped(by: FallbackMiddleware(statuses: statuses, makeResponse)) }
}
