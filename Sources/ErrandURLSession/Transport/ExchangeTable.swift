internal import Synchronization

/// The exchanges in progress, of all sessions of a transport.
final class ExchangeTable: Sendable {
    /// The number of a task is unique only within its session. Each session has its own delegate.
    struct Key: Hashable, Sendable {
        let delegate: ObjectIdentifier
        let task: Int
    }

    private struct State {
        var isClosed = false
        var exchanges: [Key: SessionExchange] = [:]
    }

    private let state = Mutex(State())

    var count: Int { state.withLock(\.exchanges.count) }
    subscript(_ key: Key) -> SessionExchange? { state.withLock { $0.exchanges[key] } }

    /// Adds an exchange. After ``close()``, returns false, and adds nothing.
    func add(_ exchange: SessionExchange, for key: Key) -> Bool {
        state.withLock { state in
            if !state.isClosed { state.exchanges[key] = exchange }
            return !state.isClosed
        }
    }

    func remove(_ key: Key) {
        // The exchange is released outside the lock.
        let exchange = state.withLock { $0.exchanges.removeValue(forKey: key) }
        _ = exchange
    }

    /// Refuses further exchanges. Returns the exchanges in progress, which stay in the table until they end.
    func close() -> [SessionExchange] {
        state.withLock { state in
            state.isClosed = true
            return Array(state.exchanges.values)
        }
    }
}
