#if AsyncHTTPClient
internal import ErrandCore
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// Knows the connections of one transport's own clients, and tells exchanges which of them they got.
///
/// The client does not say which connection a request goes over. So a request whose events somebody wants carries the number of its
/// exchange in a field of its own, which the guard of the connection takes out again before anything is written.
final class ConnectionWatch: Sendable {
    /// No request has this field by itself: nobody else knows the name.
    let fieldName = "errand-exchange-\(String(UInt64.random(in: .min ... .max), radix: 16))"

    private struct State {
        var lastConnection = 0
        var lastExchange = 0
        var open: [Int: ConnectionRecord] = [:]
        var expected: [Int: Exchange] = [:]
        /// A stream without a guard was seen: the field would be sent.
        var isBlind = false
    }

    private let state = Mutex(State())
    /// Whether a head may have the field. For ever: one may be written when its exchange has ended.
    private let mayHaveField = Atomic(false)

    var connections: [OpenConnection] {
        state.withLock { $0.open.values.sorted { $0.number < $1.number } }.map(\.shown)
    }

    // MARK: Connections

    func opened(_ channel: any Channel) -> ConnectionRecord {
        let record = state.withLock { state in
            state.lastConnection += 1
            let record = ConnectionRecord(state.lastConnection, channel.remoteAddress)
            state.open[record.number] = record
            return record
        }
        channel.closeFuture.whenComplete { [weak self] _ in _ = self?.state.withLock { $0.open.removeValue(forKey: record.number) } }
        return record
    }

    func foundStreamWithoutGuard() { state.withLock { $0.isBlind = true } }

    // MARK: Exchanges

    /// A number for the field; nil where it could not be taken out again.
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
        // It is let go of outside the lock.
        let forgotten = state.withLock { $0.expected.removeValue(forKey: number) }
        _ = forgotten
    }

    /// Takes the field out of a head that is about to be written; nil where it has none, no exchange where that has ended.
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
    private let address: SocketAddress?
    private let state = Mutex(State())

    init(_ number: Int, _ address: SocketAddress?) { (self.number, self.address) = (number, address) }

    var shown: OpenConnection {
        state.withLock { OpenConnection(number: number, authority: $0.authority, exchanges: $0.exchanges, exchangesStarted: $0.begun) }
    }

    func begin(_ head: HTTPRequestHead) -> ConnectionInfo {
        let isReused = state.withLock { state in
            if state.authority == nil { state.authority = head.headers.first(name: "host") }
            state.exchanges += 1
            state.begun += 1
            return state.begun > 1
        }
        return ConnectionInfo(number: number, isReused: isReused, peerAddress: address?.ipAddress, peerPort: address?.port)
    }

    func end() { state.withLock { $0.exchanges -= 1 } }
}
#endif
