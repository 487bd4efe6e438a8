internal import Synchronization

/// How much work of this library's own goes on in the whole process, by kind: what no test may leave behind.
///
/// It costs an atomic addition when a piece of work begins, and one when it ends.
package enum LiveWork: Sendable, CaseIterable {
    /// An exchange whose ``ExchangeLifetime`` has not ended.
    case exchange
    /// The work of a ``SingleFlight``, whether or not anybody waits for it still.
    case flight

    private static let exchanges = Atomic(0)
    private static let flights = Atomic(0)

    /// How many are under way now.
    package var count: Int {
        switch self {
        case .exchange: Self.exchanges.load(ordering: .relaxed)
        case .flight: Self.flights.load(ordering: .relaxed)
        }
    }

    func begin() { add(1) }
    func end() { add(-1) }

    private func add(_ change: Int) {
        switch self {
        case .exchange: Self.exchanges.wrappingAdd(change, ordering: .relaxed)
        case .flight: Self.flights.wrappingAdd(change, ordering: .relaxed)
        }
    }
}
