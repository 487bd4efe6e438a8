#if AsyncHTTPClient
internal import ErrandCore
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import Synchronization

/// Keeps track of the connections of a transport's own clients, and notifies exchanges of the connection that they use.
///
/// The client doesn't report which connection a request uses. Therefore, a request whose events are recorded carries the number of its
/// exchange in a special header field. The guard of the connection removes this field before anything is written.
final class ConnectionWatch: Sendable {
    /// The name of the special field. It is random, so that no request has this field already.
    let fieldName = "errand-exchange-\(String(UInt64.random(in: .min ... .max), radix: 16))"

    private struct State {
        var lastConnection = 0
        var lastExchange = 0
        var open: [Int: ConnectionRecord] = [:]
        /// Connections that can take a request, by their authority.
        var idle: [String: IdleConnections] = [:]
        var lastIdleTicket = 0
        var expected: [Int: Exchange] = [:]
        /// Whether a stream without a guard was seen. Such a stream would send the field.
        var isBlind = false

        mutating func removeIdle(_ record: ConnectionRecord) {
            guard let authority = record.authority else { return }
            if let ticket = record.endIdleness() { idle[authority]?.remove(ticket) }
            if idle[authority]?.isEmpty == true { idle[authority] = nil }
        }

        /// The event loop of the connection that became idle last, which takes one more request: it is not idle any more, unless it takes
        /// several at once. The list of the authority is kept, as the connection soon comes back.
        mutating func takeEventLoop(for authority: String) -> (any EventLoop)? {
            guard let last = idle[authority]?.last else { return nil }
            if !last.isMultiplexed, let ticket = last.endIdleness() { idle[authority]?.remove(ticket) }
            return last.eventLoop
        }
    }

    private let state = Mutex(State())
    /// Whether a head may have the field. Never set back: a head may be written after its exchange has ended.
    private let mayHaveField = Atomic(false)

    var connections: [OpenConnection] {
        state.withLock { $0.open.values.sorted { $0.number < $1.number } }.map(\.shown)
    }

    // MARK: Connections

    /// - Parameter isMultiplexed: whether it takes several requests at once.
    func opened(_ channel: any Channel, isMultiplexed: Bool) -> ConnectionRecord {
        let record = opened(
            on: channel.eventLoop, to: channel.remoteAddress, scheme: Self.scheme(of: channel), isMultiplexed: isMultiplexed)
        channel.closeFuture.whenComplete { [weak self] _ in self?.closed(record) }
        return record
    }

    /// The scheme of a new connection, on its event loop; `nil` where Apple's Network framework may do TLS, which has no handler.
    private static func scheme(of channel: any Channel) -> String? {
        if (try? channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)) != nil { return "https" }
        return MultiThreadedEventLoopGroup.currentEventLoop == nil ? nil : "http"
    }

    func opened(
        on eventLoop: any EventLoop, to address: SocketAddress? = nil, scheme: String? = nil, isMultiplexed: Bool
    ) -> ConnectionRecord {
        state.withLock { state in
            state.lastConnection += 1
            let record = ConnectionRecord(
                state.lastConnection, address, scheme: scheme, isMultiplexed: isMultiplexed, eventLoop: eventLoop)
            state.open[record.number] = record
            return record
        }
    }

    /// A request is about to be written.
    ///
    /// - Parameter host: its field; read only for the first request.
    /// - Returns: whether there was one before on this connection.
    func began(_ host: @autoclosure () -> String?, on record: ConnectionRecord) -> Bool {
        // As a rule it is not there any more, as the request was sent where it is.
        if !record.isMultiplexed, record.isIdle { state.withLock { $0.removeIdle(record) } }
        return record.begin(host())
    }

    /// A response is over.
    func ended(on record: ConnectionRecord) {
        guard let authority = record.end() else { return }
        state.withLock { state in
            guard state.open[record.number] != nil, !record.isIdle else { return }
            state.lastIdleTicket += 1
            record.beginIdleness(ticket: state.lastIdleTicket)
            state.idle[authority, default: IdleConnections()].append(record, ticket: state.lastIdleTicket)
        }
    }

    func closed(_ record: ConnectionRecord) {
        // It is let go of outside the lock.
        let closed = state.withLock { state in
            state.removeIdle(record)
            return state.open.removeValue(forKey: record.number)
        }
        _ = closed
    }

    /// The event loop of the connection that the client is most likely to use next; nil where none is known.
    func takeEventLoop(for authority: String) -> (any EventLoop)? {
        state.withLock { $0.takeEventLoop(for: authority) }
    }

    func foundStreamWithoutGuard() { state.withLock { $0.isBlind = true } }

    // MARK: Exchanges

    /// Returns a number for the field; `nil` if no guard could remove the field.
    func expect(_ exchange: Exchange) -> Int? {
        mayHaveField.store(true, ordering: .relaxed)
        return state.withLock { state in
            guard !state.isBlind else { return nil }
            state.lastExchange += 1
            state.expected[state.lastExchange] = exchange
            return state.lastExchange
        }
    }

    func forget(_ number: Int) {
        // Released outside the lock.
        let forgotten = state.withLock { $0.expected.removeValue(forKey: number) }
        _ = forgotten
    }

    /// Removes the field from a head that is about to be written. Returns `nil` if the head doesn't have the field, and no exchange if the
    /// exchange has ended.
    func take(_ head: inout HTTPRequestHead) -> (exchange: Exchange?, Void)? {
        guard mayHaveField.load(ordering: .relaxed), let value = head.headers.first(name: fieldName) else { return nil }
        head.headers.remove(name: fieldName)
        return (Int(value).flatMap { number in state.withLock { $0.expected[number] } }, ())
    }
}

/// One connection, and what goes on on it.
final class ConnectionRecord: Sendable {
    private struct State {
        var authority: String?
        var exchanges = 0
        var begun = 0
    }

    let number: Int
    let isMultiplexed: Bool
    let eventLoop: any EventLoop
    /// Its ticket in the list of connections that can take a request; 0 if it is not there. Written under the lock of that list.
    private let idleTicket = Atomic(0)
    private let address: SocketAddress?
    /// `nil` if it is not known.
    private let scheme: String?
    private let opened = ContinuousClock.now
    private let state = Mutex(State())

    init(_ number: Int, _ address: SocketAddress?, scheme: String? = nil, isMultiplexed: Bool, eventLoop: any EventLoop) {
        (self.number, self.address, self.scheme) = (number, address, scheme)
        (self.isMultiplexed, self.eventLoop) = (isMultiplexed, eventLoop)
    }

    /// Whether it is in the list of connections that can take a request.
    var isIdle: Bool { idleTicket.load(ordering: .acquiring) != 0 }

    func beginIdleness(ticket: Int) { idleTicket.store(ticket, ordering: .releasing) }

    /// - Returns: its ticket; nil if it was not idle.
    func endIdleness() -> Int? {
        let ticket = idleTicket.exchange(0, ordering: .acquiringAndReleasing)
        return ticket == 0 ? nil : ticket
    }

    /// Nil before the first request.
    var authority: String? { state.withLock(\.authority) }

    var shown: OpenConnection {
        state.withLock {
            OpenConnection(
                number: number, authority: $0.authority, exchanges: $0.exchanges, exchangesStarted: $0.begun, scheme: scheme,
                peerAddress: address?.ipAddress, peerPort: address?.port, age: opened.duration(to: .now))
        }
    }

    /// - Returns: whether there was a request before.
    func begin(_ host: @autoclosure () -> String?) -> Bool {
        state.withLock { state in
            if state.authority == nil { state.authority = host() }
            state.exchanges += 1
            state.begun += 1
            return state.begun > 1
        }
    }

    func info(isReused: Bool) -> ConnectionInfo {
        ConnectionInfo(number: number, isReused: isReused, peerAddress: address?.ipAddress, peerPort: address?.port)
    }

    /// - Returns: the authority.
    func end() -> String? {
        state.withLock { state in
            state.exchanges -= 1
            return state.authority
        }
    }
}
#endif
