internal import Synchronization

/// The kinds of this library's work, with a count of the work in progress in the whole process. After a test, every number must be
/// zero.
///
/// The count costs one atomic addition at the beginning and one at the end of each piece of work.
package enum LiveWork: Sendable, CaseIterable {
    /// An exchange whose ``ExchangeLifetime`` has not ended.
    case exchange
    /// The work of a ``SingleFlight``, whether or not a caller still waits for it.
    case flight

    private static let exchanges = Atomic(0)
    private static let flights = Atomic(0)

    /// The number of pieces of work in progress.
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
