internal import Synchronization

/// The owner of a stream's source until the source is read, abandoned or released.
final class StreamOwner: Sendable {
    private struct State {
        var source: (any BodySource)?
        var isClaimed = false
        var isGivenUp = false
        var trailers: HTTPFields?
        /// The newest owner in a series of replacements; `nil` if this body is not part of such a series.
        var latest: Latest?

        var phase: Phase { isGivenUp ? .givenUp : source == nil ? .over : .open }
    }

    enum Phase: UInt8, AtomicRepresentable {
        /// The stream may have more bytes.
        case open
        /// The stream reached its end, or its reader failed.
        case over
        /// The stream was abandoned, or moved into another body.
        case givenUp
    }

    /// A weak reference to the latest owner. All owners in a series of replacements share this reference.
    private final class Latest: Sendable {
        private struct Weak: Sendable { weak var owner: StreamOwner? }

        private let weak = Mutex(Weak())

        var owner: StreamOwner? {
            get { weak.withLock(\.owner) }
            set { weak.withLock { $0.owner = newValue } }
        }
    }

    private let state: Mutex<State>
    /// The phase of the state, which a reader checks before each chunk. Written under the lock.
    private let currentPhase: Atomic<Phase>
    let request: Request?
    /// The observers to notify if the stream is closed before all bytes have been read.
    let observers: [BodyObserver]

    init(_ source: some BodySource, request: Request?, observers: [BodyObserver] = []) {
        state = Mutex(State(source: source))
        currentPhase = Atomic(.open)
        (self.request, self.observers) = (request, observers)
    }

    /// Creates the owner of a body that was already read or abandoned.
    init(usedUp request: Request?) {
        state = Mutex(State(isClaimed: true, isGivenUp: true))
        currentPhase = Atomic(.givenUp)
        (self.request, observers) = (request, [])
    }

    var trailers: HTTPFields? { state.withLock(\.trailers) }
    var phase: Phase { currentPhase.load(ordering: .acquiring) }

    /// Claims the stream, and returns its source. Returns `nil` to all callers after the first caller.
    func claim() -> (any BodySource)? {
        state.withLock { state in
            defer { state.isClaimed = true }
            return state.isClaimed ? nil : state.source
        }
    }

    /// Returns the source, for a body that replaces this body; `nil` if this body was read or abandoned.
    func move() -> (any BodySource)? {
        state.withLock { state in
            guard !state.isClaimed, let source = state.source else { return nil }
            (state.isClaimed, state.isGivenUp) = (true, true)
            letGo(&state)
            return source
        }
    }

    /// Returns the owner of a body that replaces this body. Abandoning this body abandons the new body.
    func successor(over source: some BodySource, observers: [BodyObserver]) -> StreamOwner {
        let latest = state.withLock { state in
            let latest = state.latest ?? Latest()
            state.latest = latest
            return latest
        }
        let successor = StreamOwner(source, request: request, observers: observers)
        successor.state.withLock { $0.latest = latest }
        latest.owner = successor
        return successor
    }

    /// Ends the stream with its trailer fields. Returns false if the stream was already abandoned.
    func finish(trailers: HTTPFields?) -> Bool {
        let (source, isGivenUp) = state.withLock { state in
            if !state.isGivenUp { state.trailers = trailers }
            defer { letGo(&state) }
            return (state.source, state.isGivenUp)
        }
        _ = source
        return !isGivenUp
    }

    func abandon() {
        let (source, latest) = state.withLock { state in
            if state.source != nil { state.isGivenUp = true }
            return (release(&state), state.latest?.owner)
        }
        if let latest, latest !== self { latest.abandon() }
        guard let source else { return }
        // The observers are notified first. Abandoning may end the source, and the observers must not see that end as the end of
        // the body.
        for observer in observers { observer.end(.abandoned) }
        source.abandon()
    }

    /// Releases a source that has failed.
    func sourceFailed(_ error: any Error) {
        guard let source = state.withLock({ release(&$0) }) else { return }
        for observer in observers { observer.end(.failed(error)) }
        source.abandon()
    }

    /// Ends a source that has not failed, because a later stage of the body has failed.
    func readerFailed(_ error: any Error) {
        guard let source = state.withLock({ release(&$0) }) else { return }
        for observer in observers { observer.end(.failed(error)) }
        source.fail(with: error)
    }

    private func release(_ state: inout State) -> (any BodySource)? {
        state.isClaimed = true
        defer { letGo(&state) }
        return state.source
    }

    private func letGo(_ state: inout State) {
        state.source = nil
        currentPhase.store(state.phase, ordering: .releasing)
    }

    deinit {
        guard let source = state.withLock(\.source) else { return }
        for observer in observers { observer.end(.abandoned) }
        source.abandon()
    }
}
