public import ErrandCore
internal import Synchronization

/// Lets so many exchanges be under way at once, and has the others wait in line: by ``RequestPriority`` first, then by arrival.
///
/// **Place:** inside `retry` (a slot is not held during a backoff), the cache and `coalesce`; just around the transport. With N slots, at most
/// N exchanges are on the wire. A slot is freed when the exchange ends there, whether or not its body has been read: a response of at most
/// 64 KiB needs nobody to read it.
///
/// Who waits can be cancelled at any time, and obeys its deadline: it fails with the code `timedOut`, in the phase `queue`.
///
/// **Per request:** `request.options.concurrencyLimit = .off` goes past the line; `request.options.priority` moves it forward.
public struct LimitConcurrencyMiddleware: HTTPMiddleware {
    /// What a limit is for.
    public struct Scope: Sendable, CustomStringConvertible {
        public let description: String
        let key: @Sendable (Request) -> String?

        /// All requests together.
        public static let all = Scope(description: "all") { _ in "" }
        /// Each origin for itself.
        public static let origin = Scope(description: "origin") { $0.originText }
        /// What the closure names; nil is without a limit.
        public static func key(_ description: String = "key", _ key: @escaping @Sendable (Request) -> String?) -> Scope {
            Scope(description: description, key: key)
        }
    }

    private let limiter: ConcurrencyLimiter
    private let scope: Scope
    private let clock: any Clock<Duration>

    /// - Parameter clock: what an adaptive limit measures answers by.
    public init(_ limit: ConcurrencyLimit, per scope: Scope = .origin, clock: any Clock<Duration> = ContinuousClock()) {
        (limiter, self.scope, self.clock) = (ConcurrencyLimiter(limit), scope, clock)
    }

    public var place: MiddlewarePlace? { .limitConcurrency }
    public var label: String { "limitConcurrency(\(limiter.limit) per \(scope))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.concurrencyLimit.isOff, let key = scope.key(request) else { return try await next.send(request) }
        try await limiter.acquire(key, for: request)
        let elapsed = stopwatch(clock)
        let response: Response
        do {
            response = try await next.send(request)
        } catch {
            limiter.release(key, error is CancellationError ? .cancelled : .dropped)
            throw error
        }
        let isRefused = [429, 503].contains(response.head.status.code)
        let outcome = isRefused ? ConcurrencyLimit.Outcome.dropped : .answered(after: elapsed())
        response.exchange.onEnd { [limiter] _ in limiter.release(key, outcome) }
        return response
    }

    /// What goes on behind a key.
    public struct Load: Sendable, Hashable {
        /// Exchanges.
        public let underWay: Int
        public let waiting: Int
        /// As it is now.
        public let limit: Int
    }

    /// What goes on behind a key: an origin, as `https://a.example`, or an empty text where all requests have one limit. For a gauge.
    public func load(of key: String) -> Load { limiter.load(of: key) }
}

/// Slots by key, and who waits for them.
final class ConcurrencyLimiter: Sendable {
    private struct Waiter: Sendable {
        let ticket: Ticket
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Line: Sendable {
        var limit: Double
        var inUse = 0
        var queue = WaitQueue<Waiter>()

        var hasRoom: Bool { inUse < Int(limit) }
        var isIdle: Bool { inUse == 0 && queue.isEmpty }
    }

    let limit: ConcurrencyLimit
    private let lines = Mutex<[String: Line]>([:])

    init(_ limit: ConcurrencyLimit) { self.limit = limit }

    func load(of key: String) -> LimitConcurrencyMiddleware.Load {
        lines.withLock { lines in
            guard let line = lines[key] else { return .init(underWay: 0, waiting: 0, limit: limit.initial) }
            return .init(underWay: line.inUse, waiting: line.queue.count, limit: Int(line.limit))
        }
    }

    /// Returns with a slot.
    ///
    /// - Throws: `CancellationError`; ``TransportError`` when the deadline passes first.
    func acquire(_ key: String, for request: Request) async throws {
        try Task.checkCancellation()
        if take(key) { return }
        guard let deadline = request.deadline else { return try await wait(key, for: request) }
        let waited = stopwatch(ContinuousClock())
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await self.wait(key, for: request)
                return true
            }
            group.addTask {
                try await deadline.wait()
                return false
            }
            let first = await group.nextResult()
            if case .success(true) = first { return group.cancelAll() }
            group.cancelAll()
            // The turn may have come at the same moment: it is not lost.
            if case .success(true) = await group.nextResult() {
                if case .failure = first { release(key, .cancelled) } else { return }
            }
            try Task.checkCancellation()
            _ = try first?.get()
            throw TransportError(.timedOut, phase: .queue, elapsed: waited(), request: request, wasSent: .no)
        }
    }

    /// Changes a line where it stands: a copy of a long one would cost its length.
    private func within<Result: Sendable>(_ key: String, _ body: (inout Line) -> Result) -> Result {
        lines.withLock { lines in
            let result = body(&lines[key, default: Line(limit: Double(limit.initial))])
            // An adaptive limit is remembered.
            if limit.kind == .fixed, lines[key]?.isIdle == true { lines[key] = nil }
            return result
        }
    }

    private func take(_ key: String) -> Bool {
        within(key) { line in
            guard line.hasRoom, line.queue.isEmpty else { return false }
            line.inUse += 1
            return true
        }
    }

    private func wait(_ key: String, for request: Request) async throws {
        let ticket = Ticket()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = within(key) { line -> Result<Void, any Error>? in
                    if ticket.isCancelled { return .failure(CancellationError()) }
                    if line.hasRoom, line.queue.isEmpty {
                        line.inUse += 1
                        return .success(())
                    }
                    ticket.place = line.queue.append(
                        Waiter(ticket: ticket, continuation: continuation), lane: request.options.priority.urgency)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let waiter = within(key) { line -> Waiter? in
                ticket.isCancelled = true
                return ticket.place.flatMap { line.queue.remove($0) }
            }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Gives a slot back, to whoever is next.
    func release(_ key: String, _ outcome: ConcurrencyLimit.Outcome) {
        let next = within(key) { line -> [Waiter] in
            line.limit = limit.next(after: outcome, limit: line.limit, inUse: line.inUse)
            line.inUse -= 1
            var next: [Waiter] = []
            while line.hasRoom, let waiter = line.queue.popFirst() {
                line.inUse += 1
                waiter.ticket.place = nil  // another line may give the number again
                next.append(waiter)
            }
            return next
        }
        for waiter in next { waiter.continuation.resume() }
    }

    /// What the two sides of a wait know of each other; under the lock of the lines.
    private final class Ticket: Sendable {
        private let state = Mutex<(place: Int?, isCancelled: Bool)>((nil, false))
        var place: Int? {
            get { state.withLock(\.place) }
            set { state.withLock { $0.place = newValue } }
        }
        var isCancelled: Bool {
            get { state.withLock(\.isCancelled) }
            set { state.withLock { $0.isCancelled = newValue } }
        }
    }
}

private enum ConcurrencyLimitKey: TypedKey { static var defaultValue: Override<Never> { .inherited } }

extension RequestOptions {
    /// `.off` goes past every line.
    public var concurrencyLimit: Override<Never> {
        get { self[ConcurrencyLimitKey.self] }
        set { self[ConcurrencyLimitKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Lets at most `count` exchanges be under way at once. See ``LimitConcurrencyMiddleware``.
    public func limitConcurrency(to count: Int, per scope: LimitConcurrencyMiddleware.Scope = .origin) -> HTTPStack {
        limitConcurrency(.fixed(count), per: scope)
    }

    /// Lets as many exchanges be under way at once as the limit has it. See ``LimitConcurrencyMiddleware``.
    public func limitConcurrency(
        _ limit: ConcurrencyLimit, per scope: LimitConcurrencyMiddleware.Scope = .origin, clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack { wrapped(by: LimitConcurrencyMiddleware(limit, per: scope, clock: clock)) }
}
