internal import Synchronization

/// A body in memory, which can be read once.
struct BufferedBytes: Sendable {
    let data: Data
    let trailers: HTTPFields?
    /// The observers, innermost first, and the bytes that each observer gets.
    let taps: [BodyTap]
    /// The state of reading; `nil` for an empty body without trailers or observers.
    private let use: Use?

    init(_ data: Data, trailers: HTTPFields? = nil, taps: [BodyTap] = []) {
        (self.data, self.trailers, self.taps) = (data, trailers, taps)
        use = data.isEmpty && trailers == nil && taps.isEmpty ? nil : Use()
    }

    private final class Use: Sendable {
        enum Phase: UInt8, AtomicRepresentable {
            case unread
            /// The body has a reader.
            case claimed
            /// The reader has the bytes.
            case delivered
            /// The reader has reached the end.
            case over
            /// The body was abandoned, or another body replaced it.
            case givenUp
        }

        private let current = Atomic(Phase.unread)

        var phase: Phase { current.load(ordering: .acquiring) }

        func change(from old: Phase, to new: Phase) -> Bool {
            current.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing).exchanged
        }

        /// Abandons the body. Returns false if the reader had reached the end, or the body was already abandoned or replaced.
        func giveUp() -> Bool {
            while true {
                let phase = phase
                if phase == .over || phase == .givenUp { return false }
                if change(from: phase, to: .givenUp) { return true }
            }
        }
    }

    /// Whether the reader has reached the end.
    var isRead: Bool { use.map { $0.phase == .over } ?? true }

    /// Claims the body for a reader. Returns true for the first caller only.
    func claim() -> Bool { use?.change(from: .unread, to: .claimed) ?? true }

    /// Returns the bytes, then `nil`. Only the reader calls this function.
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

    /// Returns all bytes. Only the first reader can call this function.
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

    /// Returns `data` as the bytes of a body that replaces this body; `nil` if this body was already read, abandoned or replaced.
    func moved(_ data: Data, to taps: [BodyTap]) -> BufferedBytes? {
        if let use, !use.change(from: .unread, to: .givenUp) { return nil }
        return BufferedBytes(data, trailers: trailers, taps: taps)
    }
}

/// An observer of bytes in memory, and the bytes for this observer.
struct BodyTap: Sendable {
    let observer: BodyObserver
    let data: Data
}
