internal import ErrandCore
internal import Synchronization

/// The parts of a cache that all its calls share: the store, the rules, the clocks, and the work that writes to the store.
final class CacheRuntime: Sendable {
    /// The time for which a store is neither read nor written after a failure: 60 s.
    static let pauseAfterFailure: Duration = .seconds(60)
    /// The longest time that a call waits for one result of the store: 1 s.
    static let answerLimit: Duration = .seconds(1)

    /// The uptimes until which the store is not used.
    private struct Pauses {
        var reads = Duration.zero
        var writes = Duration.zero
    }

    let store: any CacheStore
    let engine: CacheEngine
    let clock: any Clock<Duration>
    let now: @Sendable () -> CacheInstant
    /// Whether the transport decodes bodies.
    let isDecoded: Bool
    /// The writes and changes in progress. The body that is stored owns its write.
    let writes = SingleFlight<Int, Void>()
    private let lastWrite = Atomic(0)
    private let pauses = Mutex(Pauses())

    init(
        _ store: any CacheStore, _ policy: CachePolicy, isDecoded: Bool, clock: any Clock<Duration>,
        now: @escaping @Sendable () -> CacheInstant
    ) {
        (self.store, self.isDecoded, self.clock, self.now) = (store, isDecoded, clock, now)
        engine = CacheEngine(policy) { [store] text in store.digest(Array(text.utf8)) }
    }

    func nextWrite() -> Int { lastWrite.wrappingAdd(1, ordering: .relaxed).newValue }

    // MARK: The request

    /// Returns the parts of a request that decide how the cache handles it; `nil` if the request has no absolute URL.
    func cacheRequest(_ request: Request, mode: CachePolicy.Mode) -> CacheRequest? {
        var digest: [UInt8]?
        if request.method == .query, let body = request.body.bufferedData {
            digest = store.digest(Array(body)).flatMap { $0.isEmpty ? nil : $0 }
        }
        return CacheRequest(request, mode: mode, scope: engine.policy.scope, bodyDigest: digest, isDecoded: isDecoded)
    }

    // MARK: Reading

    /// Returns the entries of a request; `nil` if the store can't be asked.
    ///
    /// - Throws: only `CancellationError`.
    func lookUp(_ cached: CacheRequest, for request: Request) async throws -> CacheLookup? {
        try await cached.lookUp(by: engine.policy) { try await lookUp($0, for: request) }
    }

    private func lookUp(_ key: CacheKey, for request: Request) async throws -> CacheLookup? {
        if let lookup = store.immediateLookUp(key) { return lookup }
        guard mayRead else { return nil }
        return try await answer(to: request, "find entries") { [store] in try await store.lookUp(key) }
    }

    /// Returns a body of stored bytes; `nil` if the entry is gone.
    ///
    /// - Throws: only `CancellationError`.
    func body(of serving: CacheServing, for request: Request) async throws -> ResponseBody? {
        let offsets: Range<Int64>
        switch serving.body {
        case .none: return ResponseBody()
        case .whole: offsets = 0..<serving.entry.head.extent.storedBytes
        case .part(let part): offsets = part
        }
        if let bytes = store.immediateBody(of: serving.entry.id, offsets: offsets) { return ResponseBody(bytes) }
        guard let source = try await source(of: serving.entry.id, offsets, for: request) else { return nil }
        // The deadline limits the exchange, and stored bytes need no exchange.
        var request = request
        request.deadline = nil
        return ResponseBody(source, expectedLength: offsets.upperBound - offsets.lowerBound, request: request)
    }

    /// Returns a source of stored bytes; `nil` if the entry is gone.
    ///
    /// - Throws: only `CancellationError`.
    func source(of id: CacheEntry.ID, _ offsets: Range<Int64>, for request: Request) async throws -> (any BodySource)? {
        if let bytes = store.immediateBody(of: id, offsets: offsets) { return ChunksBodySource([bytes]) }
        guard mayRead else { return nil }
        let found = try await answer(to: request, "read an entry", discard: { $0?.abandon() }) { [store] in
            try await store.body(of: id, offsets: offsets)
        }
        return found ?? nil
    }

    // MARK: Changing

    /// Removes and updates what a response has made invalid.
    ///
    /// - Throws: only `CancellationError`. The changes are made nevertheless.
    func change(_ reception: CacheReception, of origin: Origin, for request: Request) async throws {
        guard reception.changesStore else { return }
        let changes: @Sendable () async throws -> Void = { [store] in
            if let cleared = reception.clearedOrigin { try await store.removeAll(of: cleared) }
            if !reception.invalidatedGroups.isEmpty { try await store.removeAll(groups: reception.invalidatedGroups, of: origin) }
            if !reception.invalidated.isEmpty { try await store.removeAll(urls: reception.invalidated) }
            if !reception.removals.isEmpty { try await store.remove(reception.removals) }
            if !reception.updates.isEmpty { try await store.update(reception.updates.map { CacheEntry(id: $0.id, head: $0.head) }) }
        }
        if store.isImmediate {
            do { try await changes() } catch { failed("change entries", error, request, reads: true) }
            return
        }
        // The changes must not end with the call that has caused them.
        let number = nextWrite()
        _ = try await answer(to: request, "change entries") { [writes] in
            try await writes.run(number, mustFinish: true, changes)
        }
    }

    /// Stores the pointer to the responses with the `No-Vary-Search` of a response, unless the store has the pointer.
    ///
    /// The pointer is written in the background. Without the pointer, the store has the response, but no request finds the response.
    func writePointer(to head: CacheEntry.Head, of key: CacheKey, after lookup: CacheLookup, for request: Request) {
        guard key.search != nil, lookup.noVarySearch != head.noVarySearch else { return }
        let (pointerKey, pointer) = (SearchRule.pointerKey(for: key), SearchRule.pointerHead(of: head))
        switch store.immediateWriter(for: pointerKey, head: pointer, expectedBytes: 0, since: lookup.generation) {
        case .refused: break
        case .writer(let writer): _ = writer.publish(pointer, replacing: [])
        case .unsupported:
            writes.begin(nextWrite()) { [self] in
                do {
                    guard let writer = try await store.writer(for: pointerKey, head: pointer, expectedBytes: 0, since: lookup.generation)
                    else { return }
                    _ = try await writer.publish(pointer, replacing: [])
                } catch {
                    failed("write an entry", error, request, reads: false)
                }
            }
        }
    }

    // MARK: Failures

    var mayRead: Bool { pauses.withLock(\.reads) <= now().uptime }
    var mayWrite: Bool { pauses.withLock(\.writes) <= now().uptime }

    /// Reports a failure of the store, and does not use the store for some time.
    func failed(_ work: String, _ error: any Error, _ request: Request, reads: Bool) {
        let end = now().uptime + Self.pauseAfterFailure
        pauses.withLock { pauses in
            if reads { pauses.reads = end }
            pauses.writes = end
        }
        request.report(
            .cacheDecision,
            decision: .init(continues: true, "the store could not \(work), and is not used for 60 s: \(safeDescription(of: error))"))
    }

    /// Returns the value from the store; `nil` if the store fails or takes too long.
    ///
    /// - Throws: only `CancellationError`.
    private func answer<Answer: Sendable>(
        to request: Request, _ work: String, discard: @escaping @Sendable (Answer) -> Void = { _ in },
        _ ask: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer? {
        do {
            if store.isImmediate { return try await ask() }
            return try await withExpiry(
                { [clock] in
                    try await clock.sleep(for: Self.answerLimit)
                    return TransportError(
                        .timedOut, phase: .queue, message: "the store did not answer within 1 s", request: nil, delivery: .notSent)
                }, discard: discard, operation: ask)
        } catch {
            try Task.checkCancellation()
            failed(work, error, request, reads: true)
            return nil
        }
    }
}

extension CacheReception {
    /// Whether entries change, or are removed.
    fileprivate var changesStore: Bool {
        !invalidated.isEmpty || !removals.isEmpty || !updates.isEmpty || clearedOrigin != nil || !invalidatedGroups.isEmpty
    }
}

extension CacheInstant {
    private static let start = ContinuousClock.now
    private static let processRun = UInt64.random(in: 0 ... .max)

    /// The current instant of the system's clocks.
    static func current() -> CacheInstant {
        CacheInstant(
            sinceEpoch: .seconds(Date().timeIntervalSince1970), uptime: start.duration(to: .now), run: processRun)
    }
}
