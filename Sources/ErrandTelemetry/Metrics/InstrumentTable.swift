#if Telemetry
internal import Metrics
internal import Synchronization

/// A table with a bounded number of instruments, one for each key. Metrics backends never remove an instrument. Therefore, keys beyond the
/// bound share a common instrument.
struct InstrumentTable<Key: Hashable & Sendable, Instrument: Sendable>: ~Copyable, Sendable {
    // If this type were private, the compiler of Swift 6.3 would crash in files that use the table.
    struct State {
        var factory: (any MetricsFactory)?
        var instruments: [Key: Instrument] = [:]
    }

    private let limit: Int
    private let state: Mutex<State>

    /// Creates an empty table.
    ///
    /// - Parameters:
    ///   - limit: the largest number of instruments, without the common instruments.
    ///   - factory: the factory that creates the instruments. `nil`: the factory of `MetricsSystem` when the first instrument is created.
    init(limit: Int, factory: (any MetricsFactory)?) {
        self.limit = limit
        state = Mutex(State(factory: factory))
    }

    /// Returns the instrument of a key, or the common instrument if the table is full.
    ///
    /// - Parameters:
    ///   - key: the key of the instrument.
    ///   - common: the key of the common instrument. There must be only a few common keys.
    ///   - make: a closure that creates an instrument. The table holds no lock during a call of `make`, because `make` runs the code of a
    ///     backend.
    func instrument(
        of key: Key, orBeyondLimit common: @autoclosure () -> Key, make: (Key, any MetricsFactory) -> Instrument
    ) -> Instrument {
        if let known = state.withLock({ $0.instruments[key] }) { return known }
        let (factory, isFull) = state.withLock { state -> (any MetricsFactory, Bool) in
            let factory = state.factory ?? MetricsSystem.factory
            state.factory = factory
            return (factory, state.instruments.count >= limit)
        }
        let common = common()
        if isFull, let known = state.withLock({ $0.instruments[common] }) { return known }
        let made = make(isFull ? common : key, factory)
        return state.withLock { state in
            if let known = state.instruments[key] { return known }
            // Other tasks may have filled the table in the meantime.
            if !isFull, state.instruments.count >= limit { return state.instruments[common] ?? made }
            let known = state.instruments[isFull ? common : key] ?? made
            state.instruments[isFull ? common : key] = known
            return known
        }
    }

    /// Returns the instruments of the keys that satisfy a condition.
    func instruments(where isIncluded: (Key) -> Bool) -> [Instrument] {
        state.withLock { $0.instruments.filter { isIncluded($0.key) }.map(\.value) }
    }
}
#endif
