public import ErrandCore

/// Waits until the device has a network, up to a limit. After the limit, the request is sent even if there is no network.
///
/// ```swift
/// let stack = HTTPStack.default.retry().waitForNetwork(upTo: .seconds(30), monitor: .system)
/// ```
///
/// With a gate, a view can show the number of waiting calls:
///
/// ```swift
/// let gate = NetworkGate(.system)
/// let shown = HTTPStack.default.waitForNetwork(upTo: .seconds(30), at: gate)
/// ```
///
/// The middleware never fails a request because of the state of the path. A satisfied path only ends the wait: the server may still be
/// unreachable. If the path is still not satisfied after the limit, the request is sent, and the transport reports the failure. If the
/// transport can't find or reach the host, and the path is still not satisfied, the failure has the code
/// ``/ErrandCore/TransportError/Code/notConnected``. For this failure, `isOffline` is true. If the request's deadline passes during the
/// wait, the request fails with the code `timedOut`, in the phase ``/ErrandCore/ExchangePhase/connectivity`` and with the number
/// ``/ErrandCore/FailureNumber/networkTimedOut``. A request does not wait if the path is satisfied, or if the host is this machine itself:
/// a loopback address, `localhost`, or a name under `localhost`.
///
/// ``/ErrandCore/RequestOptions/waitsForConnectivity`` waits inside `URLSession`, on Apple's platforms only. Usually, choose
/// `waitForNetwork`. `waitForNetwork` works with every transport, has a limit, and shows the waiting calls. Choose `waitsForConnectivity`
/// only if `URLSession` must decide when a network is usable.
///
/// When a path is available again, the waiting requests continue by priority, spread over 250 ms (see ``NetworkGate``).
///
/// The events of a wait are `networkWaitStart` and `networkWaitEnd`. In a profile, the value `own` of this layer includes the wait:
///
/// ```
/// waitForNetwork(up to 30 s)      12.1 s  own      12.0 s  200
///   NIOTransport                   84 ms  200
/// ```
///
/// The limit is for a call: all attempts of `retry` together wait at most this long. The limit does not include the waits of `retry`
/// itself.
///
/// **Place:** inside `retry`, so that a later attempt waits for the rest of the limit. The layer is outside `concurrencyLimit`, so that a
/// waiting request takes no slot. The layer is also outside `phaseTimeouts`, so that no phase includes the wait. The body of the request is
/// not read during the wait.
///
/// **Per request:** set `request.options.waitForNetwork` to `.off`, or to a value such as `.use(.seconds(5))`.
public struct WaitForNetworkMiddleware: HTTPMiddleware {
    private let limit: Duration
    private let gate: NetworkGate
    private let clock: any Clock<Duration>

    /// Creates the middleware. Stacks with the same gate share the queue of the gate.
    ///
    /// - Parameters:
    ///   - limit: the longest wait of a call, for all its attempts together; at least zero.
    ///   - gate: the gate, with the monitor of the network path.
    ///   - clock: the clock that measures the wait.
    public init(upTo limit: Duration, at gate: NetworkGate, clock: any Clock<Duration> = ContinuousClock()) {
        precondition(limit >= .zero, "limit must be at least zero (is \(limit.inWords))")
        (self.limit, self.gate, self.clock) = (limit, gate, clock)
    }

    public var place: MiddlewarePlace { .waitForNetwork }
    public var appliesToPreparedRequests: Bool { false }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.retry, because: "only the first attempt would wait for a network"),
            .inside(.circuitBreaker, because: "a request that the breaker refuses would wait for a network"),
            .outside(.concurrencyLimit, because: "a slot would be held while its request waits for a network"),
            .outside(.phaseTimeouts, because: "the timeout of an attempt would include the wait for a network"),
        ]
    }

    public var label: String { "waitForNetwork(up to \(limit.inWords))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let waited = request.earlierNetworkWait
        guard !gate.monitor.currentPath.isSatisfied, let limit = request.options.waitForNetwork.resolved(limit), limit > .zero,
            request.origin?.isLoopback != true
        else {
            guard let waited else { return try await next.send(request) }
            return try await next.send(request.noting(networkWait: waited))
        }
        let (earlier, elapsed) = (waited ?? .zero, makeStopwatch(on: clock))
        if earlier < limit { try await wait(for: request, upTo: limit - earlier) }
        do {
            return try await next.send(request.noting(networkWait: earlier + elapsed()))
        } catch let error as TransportError where error.mayComeFromMissingNetwork && !gate.monitor.currentPath.isSatisfied {
            throw error.withoutNetwork
        }
    }

    private func wait(for request: Request, upTo limit: Duration) async throws {
        try Task.checkCancellation()
        request.report(.networkWaitStart)
        defer { request.report(.networkWaitEnd) }
        try await request.withinDeadline(
            .connectivity, delivery: .notSent, discard: { _ in },
            operation: { [gate, clock] in try await withLimit(limit, on: clock) { try await gate.wait(for: request) } })
    }
}

extension Request {
    /// The time that the earlier attempts of this call have waited; `nil` if no earlier attempt has waited.
    fileprivate var earlierNetworkWait: Duration? {
        let count = options.resendCount
        guard count > 0, let wait = options.networkWait, wait.resendCount < count else { return nil }
        return wait.elapsed
    }

    /// Returns a copy of this request that records the waited time for the later attempts of this call.
    fileprivate func noting(networkWait elapsed: Duration) -> Request {
        var request = self
        request.options.networkWait = NetworkWait(elapsed: elapsed, resendCount: options.resendCount)
        return request
    }
}

extension TransportError {
    /// Whether the failure may come from a missing network. A failure of a request through a proxy is excluded, because a proxy on this
    /// machine needs no network.
    fileprivate var mayComeFromMissingNetwork: Bool { (code == .cannotFindHost || code == .cannotConnect) && proxy == nil }

    /// A copy of this failure with the code `notConnected`, for a device without a network.
    fileprivate var withoutNetwork: TransportError {
        var error = self
        error.code = .notConnected
        error.message = "no network path; " + code.description + (message.isEmpty ? "" : ": \(message)")
        return error
    }
}

private enum WaitForNetworkOptionKey: CrossOriginOptionKey {
    static var defaultValue: OptionOverride<Duration> { .inherited }
    static var requiredMiddleware: MiddlewarePlace { .waitForNetwork }
}

extension RequestOptions {
    /// Replaces the stack's longest wait for a network. `.off`: the request is sent without a wait. Default: `.inherited`: the stack's
    /// longest wait applies. The option ``/ErrandCore/RequestOptions/waitsForConnectivity`` belongs to `URLSession`, and does not change
    /// this wait.
    public var waitForNetwork: OptionOverride<Duration> {
        get { self[WaitForNetworkOptionKey.self] }
        set { self[WaitForNetworkOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Waits until the device has a network. After `limit`, the request is sent even if there is no network. Requests to this machine
    /// (such as `localhost` and `127.0.0.1`) never wait. See ``WaitForNetworkMiddleware``.
    ///
    /// ```swift
    /// let stack = HTTPStack.default.waitForNetwork(upTo: .seconds(30), monitor: .system)
    /// ```
    ///
    /// - Parameters:
    ///   - limit: the longest wait of a call, for all its attempts together; at least zero.
    ///   - monitor: the monitor of the network path. The monitor `.system` of Apple's platforms is in the module `ErrandURLSession`.
    ///   - clock: the clock that measures the wait.
    public func waitForNetwork(
        upTo limit: Duration, monitor: some NetworkPathMonitor, clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack { waitForNetwork(upTo: limit, at: NetworkGate(monitor, clock: clock), clock: clock) }

    /// Waits at a gate until the device has a network. After `limit`, the request is sent even if there is no network. Requests to this
    /// machine (such as `localhost` and `127.0.0.1`) never wait. See ``WaitForNetworkMiddleware``.
    ///
    /// - Parameters:
    ///   - limit: the longest wait of a call, for all its attempts together; at least zero.
    ///   - gate: the gate, which shows the number of waiting calls.
    ///   - clock: the clock that measures the wait.
    public func waitForNetwork(
        upTo limit: Duration, at gate: NetworkGate, clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack { wrapped(by: WaitForNetworkMiddleware(upTo: limit, at: gate, clock: clock)) }
}
