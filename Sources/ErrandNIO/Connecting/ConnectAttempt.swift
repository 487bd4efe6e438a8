#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore
internal import Synchronization

/// An attempt to connect: the lookup of the host, and the channels that are opened. The attempt can be cancelled.
final class ConnectAttempt: Sendable {
    private struct State: Sendable {
        var channels: [any Channel] = []
        var lookup: Task<Void, Never>?
        /// The future that completes when the trusted certificates are loaded.
        var loading: EventLoopFuture<Void>?
        var isCancelled = false
        var progress = ConnectProgress()
        var addresses: [IPAddress] = []
    }

    /// The promise that is completed with the opened connection.
    let ready: EventLoopPromise<Connection>
    /// The event log of the exchange that the attempt was made for; `nil` if the exchange has no observer.
    private let events: ExchangeEventLog?
    private let state = Mutex(State())

    init(_ ready: EventLoopPromise<Connection>, for exchange: Exchange?) { (self.ready, events) = (ready, exchange?.events) }

    var isCancelled: Bool { state.withLock(\.isCancelled) }

    func enter(_ step: ConnectStep?) {
        state.withLock { $0.progress.step = step ?? $0.progress.step }
        events?.enter(step)
    }

    /// Records the start of the TLS handshake with a proxy. For observers, the whole dialog with a proxy is a part of connecting, without
    /// separate steps.
    func enterProxyTLS() { state.withLock { $0.progress.step = .tls } }

    /// Records that the attempt asks a proxy for a tunnel.
    func enterTunnel(through proxy: String) {
        state.withLock {
            $0.progress.tunnel = proxy
            $0.progress.proxyResponds = false
            $0.progress.isWithinReply = false
            $0.progress.step = .connect
        }
    }

    /// Records that the proxy has sent bytes in the dialog for a tunnel.
    func recordProxyResponse() { state.withLock { ($0.progress.proxyResponds, $0.progress.isWithinReply) = (true, true) } }

    /// Records that the proxy has responded, and that the attempt sends its next request to the proxy.
    func recordNextProxyRequest() { state.withLock { $0.progress.isWithinReply = false } }

    /// Removes the recorded state of the dialog with the proxy. This method is called when the attempt reconnects to the proxy, and when
    /// the tunnel is open. The recorded peer is also removed, because the proxy is not the peer of an open tunnel.
    func forgetTunnel() {
        state.withLock { ($0.progress.tunnel, $0.progress.peer, $0.progress.addresses) = (nil, nil, TriedAddresses()) }
    }

    /// Records that the tunnel is open.
    func leaveTunnel(_ step: ConnectStep?) {
        forgetTunnel()
        state.withLock { $0.progress.proxy = nil }
        enter(step)
    }

    /// The text for the end of a message, with the current step and its addresses: `, during the TLS handshake with 192.0.2.1:443`.
    var progress: String { state.withLock { $0.progress.text } }
    /// See ``ConnectProgress/slowProxy``.
    var slowProxy: ProxyAddress? { state.withLock { $0.progress.slowProxy } }

    /// Records that the attempt tries an address.
    func recordTry(of address: SocketAddress) { state.withLock { $0.progress.addresses.begin(address) } }
    /// Records that an address can't be reached.
    func recordFailure(of address: SocketAddress, because error: any Error) {
        state.withLock { $0.progress.addresses.fail(address, error) }
    }
    /// Records the other end of the open channel.
    func recordPeer(_ address: SocketAddress?) { state.withLock { $0.progress.peer = address } }
    /// Records the proxy of the route.
    func recordProxy(_ proxy: ProxyAddress?) { state.withLock { $0.progress.proxy = proxy } }
    /// Records the path of the Unix socket.
    func recordUnixSocket(at path: String) { state.withLock { $0.progress.unixSocketPath = path } }

    /// Adds the peer's address to the error of a failed TLS handshake: `, during the TLS handshake with 192.0.2.1:443`.
    func explained(_ error: any Error) -> any Error {
        if error is CancellationError || error is ConnectTimeoutError || error is ProxyFailure { return error }
        let during = state.withLock { $0.progress.step == .tls ? $0.progress.withoutProxy : nil }
        return during.map { HandshakeFailure(error, during: $0) } ?? error
    }

    /// Adds a channel of the attempt. Returns false if the attempt was cancelled.
    func add(_ channel: any Channel) -> Bool {
        state.withLock { state in
            if !state.isCancelled { state.channels.append(channel) }
            return !state.isCancelled
        }
    }

    /// Looks up the host of an origin.
    ///
    /// - Returns: the addresses of the host, at least one. The future fails if the lookup fails, or when the attempt fails or is cancelled.
    func lookUp(_ origin: Origin, with resolver: any HostResolver, on loop: any EventLoop) -> EventLoopFuture<[IPAddress]> {
        let (host, port) = (origin.bareHost, origin.effectivePort)
        state.withLock { $0.progress.host = host }
        enter(.dns)
        let found = loop.makePromise(of: [IPAddress].self)
        ready.futureResult.whenFailure { found.fail($0) }
        if let known = resolver.knownAddresses(of: host, port: port), !known.isEmpty {
            found.succeed(known)
            return found.futureResult
        }
        state.withLock { state in
            guard !state.isCancelled else { return }
            // If the attempt is cancelled, this task is cancelled too.
            state.lookup = Task {
                do {
                    let addresses = try await resolver.addresses(of: host, port: port)
                    if addresses.isEmpty { throw HostNotFoundError(host, reason: "it has no addresses") }
                    finish(found, .success(addresses))
                } catch {
                    finish(found, .failure(HostLookupFailure(host: host, cause: error)))
                }
            }
        }
        return found.futureResult
    }

    /// The addresses of the host; empty if the connections of the route must not be shared with other hosts.
    var addresses: [IPAddress] { state.withLock(\.addresses) }
    func found(_ addresses: [IPAddress]) { state.withLock { $0.addresses = addresses } }

    /// Waits until the trusted certificates are loaded. The certificates are loaded only once. Observers get no step for this wait.
    ///
    /// - Returns: a future that succeeds when the certificates are loaded. If the attempt was cancelled, the future fails.
    func load(_ load: () -> EventLoopFuture<Void>) -> EventLoopFuture<Void> {
        enter(nil)
        let loading = state.withLock { state -> EventLoopFuture<Void>? in
            guard !state.isCancelled else { return nil }
            state.loading = load()
            state.progress.isLoading = true
            return state.loading
        }
        guard let loading else { return ready.futureResult.eventLoop.makeFailedFuture(CancellationError()) }
        return loading.flatMapThrowing { [self] _ in
            try state.withLock { state in
                (state.loading, state.progress.isLoading) = (nil, false)
                if state.isCancelled { throw CancellationError() }
            }
        }
    }

    /// Completes the lookup. After a cancellation, this method does nothing, because the event loop may be shut down.
    private func finish(_ found: EventLoopPromise<[IPAddress]>, _ result: Result<[IPAddress], any Error>) {
        state.withLock { state in
            if !state.isCancelled { found.futureResult.eventLoop.execute { found.completeWith(result) } }
        }
    }

    func cancel() {
        let (channels, lookup) = state.withLock { state in
            state.isCancelled = true
            defer { state.lookup = nil }
            return (state.channels, state.lookup)
        }
        // The promise fails before the channels close, because a closed channel would fail the promise with another error. A resolver may
        // ignore the cancellation, so the promise does not wait for the lookup.
        ready.fail(CancellationError())
        lookup?.cancel()
        for channel in channels { channel.close(promise: nil) }
    }

    /// Closes everything that the attempt has opened. Must be called on the attempt's event loop.
    ///
    /// - Returns: a future that succeeds when everything is closed.
    func close() -> EventLoopFuture<Void> {
        let (channels, loading) = state.withLock { state in
            state.isCancelled = true
            defer { state.channels = [] }
            return (state.channels, state.loading)
        }
        // A shutdown waits for these channels. Therefore, the channels must not wait for the close_notify of the other side.
        for channel in channels { channel.closeAtOnce() }
        // If the certificates are still loading, the load completes on the event loop. The event loop must run until the load is complete.
        return .andAllComplete(channels.map(\.closeFuture) + [loading].compactMap(\.self), on: ready.futureResult.eventLoop)
    }
}

/// The failure of the lookup of a host.
struct HostLookupFailure: Error {
    let host: String
    let cause: any Error
}
#endif
