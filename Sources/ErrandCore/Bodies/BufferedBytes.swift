internal import Synchronization

/// A body in memory, which is read once.
struct BufferedBytes: Sendable {
    let data: Data
    let trailers: HTTPFields?
    /// Who observes it, and what each of them gets to see, innermost first.
    let taps: [BodyTap]
    /// Nil for an empty body without trailers or observers.
    private let use: Use?

    init(_ data: Data, trailers: HTTPFields? = nil, taps: [BodyTap] = []) {
        (self.data, self.trailers, self.taps) = (data, trailers, taps)
        use = data.isEmpty && trailers == nil && taps.isEmpty ? nil : Use()
    }

    private final class Use: Sendable {
        enum Phase: UInt8, AtomicRepresentable {
            case unread
            /// It has a reader.
            case claimed
            /// Its reader has the bytes.
            case delivered
            /// Its reader knows that there are no more.
            case over
            /// It was given up, or another body stands in its place.
            case givenUp
        }

        private let current = Atomic(Phase.unread)

        var phase: Phase { current.load(ordering: .acquiring) }

        func change(from old: Phase, to new: Phase) -> Bool {
            current.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing).exchanged
        }

        /// False where there is nothing left to give up.
        func giveUp() -> Bool {
            while true {
                let phase = phase
                if phase == .over || phase == .givenUp { return false }
                if change(from: phase, to: .givenUp) { return true }
            }
        }
    }

    /// Whether its reader has come to its end.
    var isRead: Bool { use.map { $0.phase == .over } ?? true }

    /// True for the first caller alone.
    func claim() -> Bool { use?.change(from: .unread, to: .claimed) ?? true }

    /// For the reader.
    func next() throws -> Data? {
        guard let use else { return nil }
        if use.change(from: .claimed, to: .delivered) {
            for tap in taps where !tap.data.isEmpty { tap.observer.chunk(tap.data) }
            if !data.isEmpty { return data }
        }
        if use.change(from: .delivered, to: .over) {
            for tap in taps { tap.observer.end(.complete, trailers: trailers) }
            return nil
        }
        guard use.phase == .over else { throw BodyAlreadyUsedError() }
        return nil
    }

    /// For the only reader.
    func readAll() throws -> Data {
        guard claim() else { throw BodyAlreadyUsedError() }
        guard let all = try next() else { return Data() }
        _ = try next()
        return all
    }

    func abandon() {
        guard use?.giveUp() == true else { return }
        for tap in taps { tap.observer.end(.abandoned) }
    }

    /// The same bytes, for a body that stands in this one's place; nil if they were read or given up.
    func moved(_ data: Data, to taps: [BodyTap]) -> BufferedBytes? {
        if let use, !use.change(from: .unread, to: .givenUp) { return nil }
        return BufferedBytes(data, trailers: trailers, taps: taps)
    }
}

/// An observer of bytes in memory, and what it gets to see.
struct BodyTap: Sendable {
    let observer: BodyObserver
    let data: Data
}
