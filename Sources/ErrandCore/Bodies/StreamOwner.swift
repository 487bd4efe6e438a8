internal import Synchronization

/// Holds the source of a stream until it is read, abandoned or released.
final class StreamOwner: Sendable {
    private struct State {
        var source: (any BodySource)?
        var isClaimed = false
        var isGivenUp = false
        var trailers: HTTPFields?
        /// Leads to the owner of the body that replaced this one; `nil` if there is none.
        var place: Place?

        var phase: Phase { isGivenUp ? .givenUp : source == nil ? .over : .open }
    }

    enum Phase: UInt8, AtomicRepresentable {
        /// There may be more to read.
        case open
        /// It reached its end, or its reader failed.
        case over
        /// It was abandoned, or moved into another body.
        case givenUp
    }

    /// Shared by all owners that replaced one another: a weak reference to the latest.
    private final class Place: Sendable {
        struct Weak: Sendable {
            weak var owner: StreamOwner?
            init(_ owner: StreamOwner) { self.owner = owner }
        }

        let owner = Mutex<Weak?>(nil)
        var current: StreamOwner? { owner.withLock { $0?.owner } }
    }

    private let state: Mutex<State>
    /// The state's phase, for a reader that checks it before each chunk. Written under the lock.
    private let currentPhase: Atomic<Phase>
    let request: Request?
    /// Notified if the stream ends without being read to its end.
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

    /// Returns the source, for the first caller only.
    func claim() -> (any BodySource)? {
        state.withLock { state in
            defer { state.isClaimed = true }
            return state.isClaimed ? nil : state.source
        }
    }

    /// Returns the source, for a body that replaces this one; `nil` if it was read or abandoned.
    func move() -> (any BodySource)? {
        state.withLock { state in
            guard !state.isClaimed, let source = state.source else { return nil }
            (state.isClaimed, state.isGivenUp) = (true, true)
            letGo(&state)
            return source
        }
    }

    /// The owner of a body that replaces this one. Abandoning this body abandons that one.
    func successor(over source: some BodySource, observers: [BodyObserver]) -> StreamOwner {
        let successor = StreamOwner(source, request: request, observers: observers)
        let place = state.withLock { state in
            let place = state.place ?? Place()
            state.place = place
            return place
        }
        successor.state.withLock { $0.place = place }
        place.owner.withLock { $0 = Place.Weak(successor) }
        return successor
    }

    /// Returns false if it was abandoned before.
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
        let (source, successor) = state.withLock { state in
            if state.source != nil { state.isGivenUp = true }
            return (release(&state), state.place?.current)
        }
        if let successor, successor !== self { successor.abandon() }
        guard let source else { return }
        // Notified first: abandoning may end the source, and its reader must not take that for the end of the body.
        for observer in observers { observer.end(.abandoned) }
        source.abandon()
    }

    /// Releases a source that has failed.
    func sourceFailed(_ error: any Error) {
        guard let source = state.withLock({ release(&$0) }) else { return }
        for observer in observers { observer.end(.failed(error)) }
        source.abandon()
    }

    /// Ends a source that has not failed, because a stage of the body has failed.
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

/// The state that copies of an iterator share: all read the same stream, and the last one abandons it.
final class StreamReader: Sendable, BodyInput {
    private let owner: StreamOwner
    private let source: (any BodySource)?
    /// Whether there is one: to look at it would copy it.
    private let hasSource: Bool
    /// How often a pipeline has read.
    private let turns = Atomic(0)

    init(_ owner: StreamOwner) {
        self.owner = owner
        source = owner.claim()
        hasSource = source != nil
    }

    var request: Request? { owner.request }

    /// Returns the next chunk; `nil` at the end of the body.
    func next() async throws -> Data? {
        if let chunk = try await pull() { return chunk }
        try finish()
        return nil
    }

    /// Whether there is nothing more to read.
    ///
    /// - Throws: ``BodyAlreadyUsedError`` for a second reader, and if another task abandoned the body.
    var isOver: Bool {
        get throws {
            switch owner.phase {
            case .open where hasSource: false
            case .over where hasSource: true
            case .open, .over, .givenUp: throw BodyAlreadyUsedError()
            }
        }
    }

    /// Returns the next chunk of the source; `nil` at its end.
    func pull() async throws -> Data? {
        if try isOver { return nil }
        guard let source else { throw BodyAlreadyUsedError() }
        do {
            if let chunk = try await source.next() { return chunk }
            // A source may end when it is cancelled or abandoned: neither is the end of the body.
            try Task.checkCancellation()
            if owner.phase == .givenUp { throw BodyAlreadyUsedError() }
            return nil
        } catch let error as BodyAlreadyUsedError {
            // Another reader is reading, and continues.
            throw error
        } catch {
            owner.sourceFailed(error)
            throw error
        }
    }

    var trailers: HTTPFields? { source?.trailers }

    /// Records the end of the body.
    ///
    /// - Throws: ``BodyAlreadyUsedError`` if another task has abandoned it: then its end must not pass for a complete body.
    func finish() throws {
        if owner.phase == .over { return }
        guard let source, owner.finish(trailers: source.trailers) else { throw BodyAlreadyUsedError() }
    }

    /// Ends the body because one of its stages has failed.
    func fail(_ error: any Error) { owner.readerFailed(error) }

    /// Checks for cancellation and for the deadline.
    ///
    /// - Throws: `CancellationError`; ``TransportError`` once the deadline of the exchange has passed.
    func checkLimits() throws {
        try Task.checkCancellation()
        guard let request = owner.request, let deadline = request.deadline, deadline.hasPassed else { return }
        throw TransportError.timedOut(.body, after: nil, request: request, delivery: .sent)
    }

    /// Returns false if another copy of the iterator has read since.
    func takeTurn(_ turn: Int) -> Bool {
        turns.compareExchange(expected: turn, desired: turn + 1, ordering: .acquiringAndReleasing).exchanged
    }

    deinit { if source != nil { owner.abandon() } }
}
