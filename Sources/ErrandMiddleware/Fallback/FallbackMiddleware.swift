public import ErrandCore

/// Answers in another way where a request fails: by a value, by an answer that was kept, by another sender.
///
/// ```swift
/// primary.fallback(to: mirror)                                             // where there is no answer
/// stack.fallback(statuses: [503]) { request, _ in await kept.answer(to: request) }   // nil: the 503 stands
/// ```
///
/// **Place:** inside `validateStatus`, outside `retry`: it comes when all attempts are used up. A call that was cancelled is over, and
/// never answered in another way. Where the other way fails as well, what failed first is thrown, with the second failure in its `attempts`.
///
/// **Two servers:** give each sender a server of its own, inside. A `server` outside of both makes the URL absolute, and a `server` inside
/// leaves a URL alone that names another origin, so the second server would never be asked:
///
/// ```swift
/// let api = transport.server("https://a.example").retry()
///     .fallback(to: transport.server("https://b.example"), statuses: [503])
///     .validateStatus()
/// ```
///
/// **Deadline:** if the request can be sent again, the first sender gets an earlier deadline, which leaves a quarter of the remaining time
/// (`deadlineShare`) to the other sender. With `timeout(.seconds(10))` outside, the first sender has 7.5 s, its body included. Use a share of 0 for
/// bodies that take long. Without a deadline, a first sender that hangs keeps the other from being asked. Values and closures have no share: they
/// are asked when the first sender has failed, after the deadline too.
///
/// **Per request:** `request.options.fallback = .off`.
public struct FallbackMiddleware: HTTPMiddleware {
    /// Why the first way is not good enough.
    public enum Cause: Sendable {
        case failure(any Error)
        /// The answer, with its body unread. It is released when another one is given that is not made of it; whoever reads it must give
        /// another one.
        case response(Response)
    }

    private let name: String
    private let statuses: Set<Int>
    /// Of the time to the deadline, the part that is kept for the other way.
    private let deadlineShare: Double
    private let answer: @Sendable (Request, Cause) async throws -> Response?

    /// - Parameters:
    ///   - name: for the stack's description.
    ///   - statuses: which answers are replaced; none by default.
    ///   - answer: the other answer; nil leaves what there is.
    public init(
        _ name: String = "closure", statuses: Set<Int> = [],
        _ answer: @escaping @Sendable (_ request: Request, _ cause: Cause) async throws -> Response?
    ) {
        self.init(name: name, statuses: statuses, deadlineShare: 0, answer)
    }

    private init(
        name: String, statuses: Set<Int>, deadlineShare: Double, _ answer: @escaping @Sendable (Request, Cause) async throws -> Response?
    ) {
        precondition((0..<1).contains(deadlineShare), "deadlineShare must be at least 0 and less than 1 (is \(deadlineShare))")
        (self.name, self.statuses, self.deadlineShare, self.answer) = (name, statuses, deadlineShare, answer)
    }

    /// Another sender gets the request, unless its body can't be sent again, or it might be done twice: one that is not idempotent
    /// (RFC 9110, 9.2.2) and has no `Idempotency-Key` is sent only where the first sender's server provably did nothing of it.
    ///
    /// - Parameter deadlineShare: the part of the remaining time that is kept for the other sender: at least 0, which keeps nothing, and less
    ///   than 1; 0.25 by default.
    public init(to sender: some HTTPSender, statuses: Set<Int> = [], deadlineShare: Double = 0.25) {
        // A transport gets the boundary that every request passes.
        let stack = HTTPStack(sender)
        self.init(name: "another sender", statuses: statuses, deadlineShare: deadlineShare) { request, cause in
            guard request.body.canBeSent, cause.allowsSending(request) else { return nil }
            // The other sender's stack is a part of the call: it need not serve all that the call asks for.
            return try await stack.send(inCallOf: request)
        }
    }

    public var place: MiddlewarePlace? { .fallback }

    public var neighbors: [MiddlewareNeighbor] {
        guard !statuses.isEmpty else { return [] }
        return [.inside(.validateStatus, because: "fallback would see an error where it looks for a status")]
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
                // The request may have reached the other sender's server: the failure says so.
                guard var failure = error as? any RequestFailure else { throw error }
                failure.attempts.append(AttemptRecord(number: failure.attempts.count + 1, outcome: .failure(second), delay: .zero))
                throw failure
            }
        }
        guard statuses.contains(first.head.status.code) else { return first }
        do {
            // The first is let go of, not abandoned, where there is another: that may be made of it.
            if case .success(let other?) = try await other(request, .response(first)) { return other }
            return first
        } catch {
            first.discard()
            throw error
        }
    }

    /// The first way. Its deadline is one of its own, and no cancellation, so that the layers inside see a server that is too slow.
    private func first(_ request: Request, _ next: some HTTPSender) async throws -> Response {
        guard deadlineShare > 0, let deadline = request.deadline, request.body.replay.canRestart, request.mayBeSentAgain,
            case let remaining = deadline.remaining, remaining > .zero
        else { return try await next.send(request) }
        var first = request
        first.deadline = deadline.earlier(by: remaining * deadlineShare)
        return try await next.send(first, inCallOf: request)
    }

    /// - Throws: `CancellationError` alone.
    private func other(_ request: Request, _ cause: Cause) async throws -> Result<Response?, any Error> {
        do {
            var response = try await answer(request, cause)
            response?.metadata.isFallback = true
            return .success(response)
        } catch {
            if Task.isCancelled || error is CancellationError { throw CancellationError() }
            return .failure(error)
        }
    }
}

extension FallbackMiddleware.Cause {
    /// Whether sending `request` once more can't do it twice.
    fileprivate func allowsSending(_ request: Request) -> Bool {
        if request.mayBeSentAgain { return true }
        guard case .failure(let error) = self, let failure = error as? any RequestFailure else { return false }
        if failure.delivery == .notSent { return true }
        return (failure as? TransportError)?.isUnprocessed == true && failure.attempts.delivery == .notSent
    }
}

private enum FallbackOptionKey: OptionKey {
    static var defaultValue: OptionOverride<Never> { .inherited }
    static var crossesOrigins: Bool { true }
}

private enum IsFallbackKey: MetadataKey { static var defaultValue: Bool { false } }

extension RequestOptions {
    /// `.off` lets this request fail.
    public var fallback: OptionOverride<Never> {
        get { self[FallbackOptionKey.self] }
        set { self[FallbackOptionKey.self] = newValue }
    }
}

extension ResponseMetadata {
    /// Whether the response came in another way, because the first one failed.
    public var isFallback: Bool {
        get { self[IsFallbackKey.self] }
        set { self[IsFallbackKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Sends what fails by another sender. See ``FallbackMiddleware``.
    public func fallback(to sender: some HTTPSender, statuses: Set<Int> = [], deadlineShare: Double = 0.25) -> HTTPStack {
        wrapped(by: FallbackMiddleware(to: sender, statuses: statuses, deadlineShare: deadlineShare))
    }

    /// Answers what fails with a value.
    public func fallback(status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields(), data: Data, statuses: Set<Int> = [])
        -> HTTPStack
    {
        wrapped(
            by: FallbackMiddleware("a value", statuses: statuses) { request, _ in
                Response(head: HTTPResponse(status: status, headerFields: headers), data: data, request: request)
            })
    }

    /// Answers what fails by a closure. See ``FallbackMiddleware``.
    public func fallback(
        statuses: Set<Int> = [],
        _ answer: @escaping @Sendable (_ request: Request, _ cause: FallbackMiddleware.Cause) async throws -> Response?
    ) -> HTTPStack { wrapped(by: FallbackMiddleware(statuses: statuses, answer)) }
}
