#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats
internal import NIOCore
internal import Synchronization

/// One request and its response: first in the pool's queue, then on a connection.
///
/// The waiting task, the pool and the event loop of a connection share the exchange. The connection handles everything on the wire. This
/// type knows the current place of the exchange, and the task that waits for the response.
final class Exchange: Sendable {
    typealias Waiter = UnsafeContinuation<Response, any Error>

    /// The part of the transport that holds the exchange: the pool's queue or a connection.
    private enum Place: Sendable {
        /// The exchange is moving between the queue and a connection, or is over.
        case unassigned
        case queue(Pool.Ticket)
        case connection(Connection)

        func canBecome(_ ticket: Pool.Ticket) -> Bool {
            switch self {
            case .unassigned: true
            case .queue(let other): ticket.isLater(than: other)
            case .connection: false
            }
        }
    }

    /// The reasons to send the request again over another connection.
    private struct Repetitions: OptionSet, Sendable {
        let rawValue: UInt8
        static let lostConnection = Repetitions(rawValue: 1)
        static let misdirected = Repetitions(rawValue: 2)
        static let needsHTTP1 = Repetitions(rawValue: 4)
        static let unprocessed = Repetitions(rawValue: 8)
        static let expectation = Repetitions(rawValue: 16)
    }

    private struct State: Sendable {
        var place = Place.unassigned
        var isCancelled = false
        /// The reasons for which the request was sent again. Each reason applies at most once.
        var repetitions: Repetitions = []
        /// Whether a lost connection may have sent the request.
        var delivery = Delivery.notSent
        /// Whether a connection has begun to read the request's body.
        var isBodyClaimed = false
        var waiter: Waiter?
        var dialog = ProxyDialog()
        /// The other side of the last connection that took the exchange; `nil` for a Unix domain socket.
        var peer: (address: String, port: Int)?
    }

    let request: Request
    private let firstRoute: Route
    /// Whether the server requires HTTP/1.1 although HTTP/2 was possible.
    private let needsHTTP1 = Atomic(false)
    /// Whether the server has refused the request's `Expect`. If true, further attempts omit the field.
    private let isWithoutExpect = Atomic(false)
    /// The owner of the transport. The owner lives as long as the transport's exchanges.
    let owner: TransportOwner
    let events: ExchangeEventLog?
    /// The limits of the phases; `nil` if no phase is limited.
    let limits: PhaseTimeouts?
    /// The protocol that the request asks to change to; `nil` if the request does not ask for a change.
    let upgrade: UpgradeRequest?
    let started = NIODeadline.now()
    private let state = Mutex(State())

    init(_ request: Request, to route: Route, owner: TransportOwner) {
        (self.request, firstRoute, self.owner) = (request, route, owner)
        upgrade = request.options.upgrade
        events = request.options.eventSink.map { ExchangeEventLog($0, request: request.id) }
        // If the stack sets limits, the stack has already added these limits to the request's options.
        if case .use(let limits) = request.options.phaseTimeouts, !limits.isEmpty, limits.clock is ContinuousClock {
            self.limits = limits
        } else {
            limits = nil
        }
    }

    var origin: Origin { firstRoute.origin }
    var route: Route { isMovedToHTTP1 ? firstRoute.overHTTP1 : firstRoute }
    var isMovedToHTTP1: Bool { needsHTTP1.load(ordering: .relaxed) }

    /// Whether a sink, or the limit of the first byte, needs the instant at which the request was sent.
    var isFollowed: Bool { events != nil || limits?.firstByte != nil }

    // MARK: - Waiting

    /// Keeps the continuation of the task that waits for the response. If the exchange was already cancelled, returns false and does not
    /// keep the continuation.
    func register(_ waiter: Waiter) -> Bool {
        state.withLock { state in
            guard !state.isCancelled else { return false }
            state.waiter = waiter
            return true
        }
    }

    /// Returns the waiter, once.
    private func takeWaiter() -> Waiter? {
        state.withLock { state in
            defer { (state.waiter, state.place) = (nil, .unassigned) }
            return state.waiter
        }
    }

    func resume(returning response: Response) { takeWaiter()?.resume(returning: response) }

    /// Ends the wait for the response with an error. For failures after the head of the response, see ``ExchangeBodySource``.
    func resume(throwing error: any Error) {
        guard let waiter = takeWaiter() else { return }
        events?.record(.end, failure: error)
        waiter.resume(throwing: error)
    }

    // MARK: - From place to place

    /// Records a place in the pool's queue. If the result is true, the exchange was cancelled, and the caller must remove the exchange from
    /// the queue.
    func enqueued(_ ticket: Pool.Ticket) -> Bool {
        state.withLock { state in
            // After the ticket was made, a connection may have taken the exchange and may have been lost. After the loss, the exchange may
            // be queued again, and only the later ticket is valid.
            guard state.waiter != nil, state.place.canBecome(ticket) else { return false }
            state.place = .queue(ticket)
            return state.isCancelled
        }
    }

    /// Assigns the exchange to a connection. Returns false if the exchange was cancelled, or is over.
    func assign(to connection: Connection) -> Bool {
        state.withLock { state in
            guard !state.isCancelled, state.waiter != nil else { return false }
            (state.place, state.peer) = (.connection(connection), connection.peer)
            return true
        }
    }

    /// Moves the exchange off a lost connection. If the request may have been sent, its method or its `Idempotency-Key` must allow a second
    /// sending. Returns true at most once. If the result is true, the request may be sent over another connection.
    func moveOn(after delivery: Delivery) -> Bool {
        guard delivery == .notSent || request.method.mayBeSentAgain(hasKey: request.headers.contains(.idempotencyKey)) else { return false }
        return moveOn(for: .lostConnection, after: delivery)
    }

    /// Moves the exchange off a connection whose server reports that the request was not processed. Returns true at most once. If the
    /// result is true, the request may be sent over another connection, with any method ([RFC 9113, section
    /// 8.7](https://www.rfc-editor.org/rfc/rfc9113#section-8.7)).
    func moveOnAsUnprocessed() -> Bool { moveOn(for: .unprocessed) }

    /// Moves the exchange off a connection whose server has refused the request as misdirected. Returns true at most once. If the result
    /// is true, the request may be sent over another connection, with any method
    /// ([RFC 9110, section 15.5.20](https://www.rfc-editor.org/rfc/rfc9110#section-15.5.20)).
    func moveOnAsMisdirected() -> Bool { moveOn(for: .misdirected) }

    /// Moves the exchange off a connection whose server requires HTTP/1.1. Returns true at most once. If the result is true, the request
    /// may be sent over a connection of HTTP/1.1. Any method is allowed, because the server has not processed the request.
    func moveOnToHTTP1() -> Bool {
        guard moveOn(for: .needsHTTP1) else { return false }
        useHTTP1()
        return true
    }

    /// Moves the exchange off a connection whose server has refused the expectation (417) and does not wait for the body. Returns true
    /// at most once. If the result is true, the request may be sent without `Expect`, with any method
    /// ([RFC 9110, section 10.1.1](https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1)).
    func moveOnWithoutExpect() -> Bool {
        guard moveOn(for: .expectation) else { return false }
        isWithoutExpect.store(true, ordering: .relaxed)
        return true
    }

    /// The request for the next attempt. If the server has refused the `Expect` field, the request omits the field.
    var sentRequest: Request {
        var sent = request
        if hasLostExpect { sent.headers[.expect] = nil }
        return sent
    }

    var hasLostExpect: Bool { isWithoutExpect.load(ordering: .relaxed) }

    /// Restricts the exchange to connections of HTTP/1.1.
    func useHTTP1() { needsHTTP1.store(true, ordering: .relaxed) }

    private func moveOn(for reason: Repetitions, after delivery: Delivery = .notSent) -> Bool {
        let canRestart = request.body.replay.canRestart
        guard canRestart || request.body.canBeSent else { return false }
        return state.withLock { state in
            guard canRestart || !state.isBodyClaimed else { return false }
            guard !state.repetitions.contains(reason), !state.isCancelled, state.waiter != nil else { return false }
            state.repetitions.insert(reason)
            state.delivery = max(state.delivery, delivery)
            state.place = .unassigned
            return true
        }
    }

    /// Whether the request can be sent once more: the body of the request can be sent again, and the caller still waits for the response.
    var canRepeat: Bool {
        let canRestart = request.body.replay.canRestart
        guard canRestart || request.body.canBeSent else { return false }
        return state.withLock { (canRestart || !$0.isBodyClaimed) && !$0.isCancelled && $0.waiter != nil }
    }

    /// Detaches the exchange from its connection. The exchange continues on the same connection or another connection.
    func leaveConnection() { state.withLock { $0.place = .unassigned } }

    /// Changes the state of the dialog with the proxy. `body` may call an authenticator, which may cancel the exchange.
    func withDialog<Result, Failure>(_ body: (inout ProxyDialog) throws(Failure) -> Result) throws(Failure) -> Result {
        var dialog = state.withLock(\.dialog)
        let result = try body(&dialog)
        state.withLock { [dialog] in $0.dialog = dialog }
        return result
    }

    /// Claims the body for the task that is about to open the body. After the claim, a body that can't be opened again is not
    /// sent over another connection.
    ///
    /// - Throws: `CancellationError` if the task was cancelled. If the connection is lost, the task is cancelled before the exchange moves
    ///   on. Therefore, the task can't consume the body that the next connection sends.
    func claimBody() throws {
        try state.withLock { state in
            try Task.checkCancellation()
            state.isBodyClaimed = true
        }
    }

    func cancel() {
        let place = state.withLock { state in
            state.isCancelled = true
            return state.place
        }
        switch place {
        case .unassigned: break
        case .queue(let ticket): owner.pool.withdraw(self, ticket, because: CancellationError())
        case .connection(let connection): connection.end(self, because: CancellationError())
        }
    }

    // MARK: - Failures

    /// The failure of a request that can't be written; `nil` if the request is valid.
    var unwritable: TransportError? { RequestEncoder.problem(of: request.head, form: route.form).map { unwritable($0) } }

    func unwritable(_ error: UnwritableRequestError) -> TransportError {
        failure(.invalidRequest, phase: .request, message: "\(error)", underlying: error, delivery: .notSent)
    }

    func failure(
        _ code: TransportError.Code, phase: ExchangePhase, message: String = "", underlying: (any Error)? = nil,
        response: HTTPResponse? = nil, delivery: Delivery
    ) -> TransportError {
        completed(
            TransportError(
                code, phase: phase, message: message, elapsed: elapsed,
                underlying: underlying, request: request, response: response, delivery: delivery))
    }

    /// Returns the failure of an exchange whose deadline has passed.
    func deadlinePassed(_ phase: ExchangePhase, response: HTTPResponse? = nil, delivery: Delivery) -> TransportError {
        completed(.timedOut(phase, after: elapsed, request: request, response: response, delivery: delivery))
    }

    /// Returns the failure of an exchange that has passed the limit of a phase.
    func limitPassed(
        _ limit: PhaseLimit, _ phase: ExchangePhase, response: HTTPResponse? = nil, delivery: Delivery
    ) -> TransportError {
        let message = limits?.message(limit.kind)
        return completed(.timedOut(phase, after: elapsed, message, request: request, response: response, delivery: delivery))
    }

    private var elapsed: Duration { .nanoseconds((NIODeadline.now() - started).nanoseconds) }

    /// Completes the `delivery` and the message of a failure. An earlier connection may already have delivered the request. If the server
    /// may have caused the failure, the message ends with the server's address, such as ` (192.0.2.1:443)`. Through a proxy, the message
    /// ends with the proxy, such as ` (through the HTTP proxy proxy.example:3128)`.
    private func completed(_ failure: TransportError) -> TransportError {
        var failure = failure
        let (earlier, peer) = state.withLock { ($0.delivery, $0.peer) }
        failure.delivery = max(failure.delivery, earlier)
        let hasConnection = ![.request, .queue, .connect].contains(failure.phase)
        let isOfServer = ![.requestBody, .shutDown, .proxy].contains(failure.code)
        guard hasConnection, isOfServer, let peer else { return failure }
        failure.message += failure.message.isEmpty ? "" : " "
        if let proxy = route.proxy {
            failure.message += "(through the \(proxy.shown))"
            // The client is connected only to the proxy, so a lost connection or a TLS error is a failure of the proxy.
            if route.isForwarded, failure.code == .connectionLost || failure.code == .tls { failure.proxy = proxy.shown }
        } else {
            let address = peer.address.containsOctet(UInt8(ascii: ":")) ? "[\(peer.address)]" : peer.address
            failure.message += "(\(address):\(peer.port))"
        }
        return failure
    }

    /// The deadline on the clock of event loops; `nil` if the request has no deadline.
    var deadline: NIODeadline? {
        guard let instant = request.deadline?.continuousInstant else { return nil }
        return .now() + .nanoseconds(ContinuousClock.now.duration(to: instant).wholeNanoseconds)
    }
}
#endif
