#if NIO
internal import ErrandCore
internal import NIOCore
internal import Synchronization

/// An attempt to connect, which can be cancelled: the lookup of the host, and the channels.
final class ConnectAttempt: Sendable {
    private struct State: Sendable {
        var channels: [any Channel] = []
        var lookup: Task<Void, Never>?
        var isCancelled = false
    }

    /// Of the connection.
    let ready: EventLoopPromise<Connection>
    /// Of the exchange that the attempt was made for; `nil` if nobody observes it.
    private let events: ExchangeEventLog?
    private let state = Mutex(State())

    init(_ ready: EventLoopPromise<Connection>, for exchange: Exchange?) { (self.ready, events) = (ready, exchange?.events) }

    func enter(_ step: ConnectStep?) { events?.enter(step) }

    /// Returns false if the attempt was cancelled.
    func add(_ channel: any Channel) -> Bool {
        state.withLock { state in
            if !state.isCancelled { state.channels.append(channel) }
            return !state.isCancelled
        }
    }

    /// Looks the host of an origin up.
    ///
    /// - Returns: its addresses, at least one. The future also fails when the attempt is cancelled.
    func lookUp(_ origin: Origin, with resolver: any HostResolver, on loop: any EventLoop) -> EventLoopFuture<[IPAddress]> {
        let (host, port) = (origin.bareHost, origin.effectivePort)
        enter(.dns)
        let found = loop.makePromise(of: [IPAddress].self)
        ready.futureResult.whenFailure { error in
            found.fail(error)
            // Addresses that could not be reached are asked for again.
            if !(error is CancellationError) { resolver.discardAddresses(of: host, port: port) }
        }
        if let known = (resolver as? CachedHostResolver)?.knownAddresses(of: host, port: port) {
            found.succeed(known)
            return found.futureResult
        }
        // The task belongs to the attempt, which ends it.
        let task = Task {
            do {
                let addresses = try await resolver.addresses(of: host, port: port)
                if addresses.isEmpty { throw HostNotFoundError(host, reason: "it has no addresses") }
                found.succeed(addresses)
            } catch {
                found.fail(HostLookupFailure(host: host, cause: error))
            }
        }
        let isCancelled = state.withLock { state in
            state.lookup = task
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
        return found.futureResult
    }

    func cancel() {
        let (channels, lookup) = state.withLock { state in
            state.isCancelled = true
            defer { (state.channels, state.lookup) = ([], nil) }
            return (state.channels, state.lookup)
        }
        lookup?.cancel()
        for channel in channels { channel.close(promise: nil) }
        // A resolver may not heed the cancellation.
        ready.fail(CancellationError())
    }
}

/// The addresses of a host were not found.
struct HostLookupFailure: Error {
    let host: String
    let cause: any Error
}
#endif
