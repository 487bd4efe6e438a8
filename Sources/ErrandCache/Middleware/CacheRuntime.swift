internal import ErrandCore
internal import Synchronization

/// The parts of a cache that all its calls share: the store, the rules and the clocks.
final class CacheRuntime: Sendable {
    /// The time for which a store is not used after its first failure: 1 s. After a failed write of a body, only writes pause.
    ///
    /// Each further failure after a pause doubles the time, up to ``longestPause``. A failure during a pause does not count, because its
    /// work began before the pause. After a success, the next failure counts as the first, so one slow look-up never causes a long pause.
    static let pauseAfterFailure: Duration = .seconds(1)
    /// The longest pause: 60 s.
    static let longestPause: Duration = .seconds(60)
    /// The timeout for one result of the store: 1 s.
    static let storeLimit: Duration = .seconds(1)

    /// A time for which the store is not used.
    private struct Pause {
        /// The uptime at which the pause ends. The clock of a test may be before 1970.
        var end = Duration.seconds(Int64.min)
        /// The length of the latest pause; zero after a success.
        var length = Duration.zero

        /// Begins a pause, unless a pause is in progress. Returns the length of the pause.
        mutating func begin(at now: Duration) -> Duration {
            guard now >= end else { return length }
            length = min(CacheRuntime.longestPause, max(CacheRuntime.pauseAfterFailure, length * 2))
            end = now + length
            return length
        }

        /// Ends the sequence of failures. A pause in progress is not shortened, because the successful work began before the pause.
        mutating func succeed(at now: Duration) { if now >= end { length = .zero } }
    }

    private struct Pauses {
        var reads = Pause()
        var writes = Pause()
    }

    let store: any CacheStore
    let engine: CacheEngine
    let clock: any Clock<Duration>
    let now: @Sendable () -> CacheInstant
    /// Whether the transport decodes bodies.
    let isDecoded: Bool
    private let pauses = Mutex(Pauses())

    init(
        _ store: any CacheStore, _ policy: CachePolicy, isDecoded: Bool, clock: any Clock<Duration>,
        now: @escaping @Sendable () -> CacheInstant
    ) {
        (self.store, self.isDecoded, self.clock, self.now) = (store, isDecoded, clock, now)
        engine = CacheEngine(policy) { [store] text in store.digest(Array(text.utf8)) }
    }

    // MARK: The request

    /// Returns the parts of a request that decide how the cache handles the request; `nil` if the request has no absolute URL.
    func cacheRequest(_ request: Request, mode: CachePolicy.Mode) -> CacheRequest? {
        var digest: [UInt8]?
        if request.method == .query, let body = request.body.bufferedData {
            digest = store.digest(Array(body)).flatMap { $0.isEmpty ? nil : $0 }
        }
        return CacheRequest(request, mode: mode, scope: engine.policy.scope, bodyDigest: digest, isDecoded: isDecoded)
    }

    // MARK: Reading

    /// Returns the entries of a key; `nil` if the store fails, or is not used after a failure.
    ///
    /// - Throws: only `CancellationError`.
    func lookUp(_ cached: CacheRequest, for request: Request) async throws -> CacheLookup? {
        try await cached.lookUp(by: engine.policy) { try await lookUp($0, for: request) }
    }

    private func lookUp(_ key: CacheKey, for request: Request) async throws -> CacheLookup? {
        if let lookup = store.immediateLookUp(key) { return lookup }
        guard mayRead else { return nil }
        return try await ask("find entries", for: request) { [store] in try await store.lookUp(key) }
    }

    /// Returns a body of stored bytes; `nil` if the entry is gone.
    ///
    /// - Throws: only `CancellationError`.
    func body(of serving: CacheServing, for request: Request) async throws -> ResponseBody? {
        if serving.body == .none { return ResponseBody() }
        let (id, offsets) = (serving.entry.id, serving.offsets)
        if let bytes = store.immediateBody(of: id, offsets: offsets) { return ResponseBody(bytes) }
        guard let source = try await waitingSource(of: id, offsets, for: request) else { return nil }
        // The deadline limits exchanges, and stored bytes are read without an exchange.
        var request = request
        request.deadline = nil
        return ResponseBody(source, expectedLength: offsets.byteCount, request: request)
    }

    /// Returns a source of stored bytes; `nil` if the entry is gone.
    ///
    /// - Throws: only `CancellationError`.
    func source(of id: CacheEntry.ID, _ offsets: Range<Int64>, for request: Request) async throws -> (any BodySource)? {
        if let bytes = store.immediateBody(of: id, offsets: offsets) { return ChunksBodySource([bytes]) }
        return try await waitingSource(of: id, offsets, for: request)
    }

    /// Returns a source from a store that has no immediate body; `nil` if the entry is gone.
    private func waitingSource(of id: CacheEntry.ID, _ offsets: Range<Int64>, for request: Request) async throws -> (any BodySource)? {
        guard mayRead else { return nil }
        let found = try await ask("read an entry", for: request, discard: { $0?.abandon() }) { [store] in
            try await store.body(of: id, offsets: offsets)
        }
        return found ?? nil
    }

    // MARK: Changing

    /// Removes and updates entries as the decision on a response says.
    ///
    /// - Parameters:
    ///   - reception: the decision on the response.
    ///   - cached: the request.
    ///   - lookup: the look-up before the exchange; `nil` if nothing is stored.
    /// - Returns: the look-up, whose generation counts the removals of the response itself, so that the response can be stored.
    /// - Throws: only `CancellationError`. The changes are made even if the task is cancelled.
    func change(
        _ reception: CacheReception, of cached: CacheRequest, after lookup: CacheLookup?, for request: Request
    ) async throws -> CacheLookup? {
        let removal = reception.removal(of: cached.url.origin)
        guard !removal.isEmpty || !reception.removals.isEmpty || !reception.updates.isEmpty else { return lookup }
        let generation = Mutex<CacheGeneration?>(nil)
        let changes: @Sendable () async throws -> Void = { [store, engine] in
            if case .pass(let write?) = reception.outcome, let lookup, let key = cached.key(of: write.head, by: engine.policy),
                !removal.isEmpty
            {
                let changed = try await store.removeOwn(removal, by: key, head: write.head, since: lookup.generation)
                generation.withLock { $0 = changed }
            } else {
                try await store.remove(removal)
            }
            if !reception.removals.isEmpty { try await store.remove(reception.removals) }
            if !reception.updates.isEmpty { try await store.updateHeads(reception.updates.map { CacheEntry(id: $0.id, head: $0.head) }) }
        }
        if store.isImmediate {
            do { try await changes() } catch { failed("change entries", error, request, reads: true) }
        } else {
            // The changes must be made even if the call is cancelled.
            _ = try await ask("change entries", for: request) { [work = store.work] in
                try await work.writes.run(work.nextNumber(), mustFinish: true, changes)
            }
        }
        guard let lookup, let changed = generation.withLock({ $0 }) else { return lookup }
        return CacheLookup(entries: lookup.entries, generation: changed, noVarySearch: lookup.noVarySearch)
    }

    /// Removes the stored responses of an origin if a response says so (`Clear-Site-Data`).
    ///
    /// - Throws: only `CancellationError`. The response is then released.
    func clear(by response: Response, to cached: CacheRequest) async throws {
        guard let origin = InvalidationRule.origin(clearedBy: response.head, to: cached) else { return }
        var reception = CacheReception(outcome: .pass(nil), status: CacheStatus(.forwarded(.bypass)))
        reception.clearedOrigin = origin
        do {
            _ = try await change(reception, of: cached, after: nil, for: cached.request)
        } catch {
            response.discard()
            throw error
        }
    }

    /// Stores the pointer for a response with `No-Vary-Search`, unless the store has the pointer. See ``SearchRule``.
    ///
    /// The pointer is written in the background. Without the pointer, the store has the response, but no request finds the response.
    func writePointer(to head: CacheEntry.Head, of key: CacheKey, after lookup: CacheLookup, for request: Request) {
        guard let pointer = SearchRule.pointer(to: head, of: key, after: lookup) else { return }
        do throws(CacheStatus.Refusal) {
            let writer = try store.makeImmediateWriter(
                for: pointer.key, head: pointer.head, expectedBytes: 0, since: pointer.generation)
            if let writer {
                _ = try writer.publish(pointer.head, replacing: [])
                return
            }
        } catch {
            return
        }
        store.work.writes.begin(store.work.nextNumber()) { [self] in
            do {
                try await store.write(pointer)
            } catch {
                failed("write an entry", error, request, reads: false)
            }
        }
    }

    // MARK: Failures

    var mayRead: Bool { pauses.withLock(\.reads.end) <= now().uptime }
    var mayWrite: Bool { pauses.withLock(\.writes.end) <= now().uptime }

    /// Reports a failure of the store, and stops the use of the store: see ``pauseAfterFailure``. If `reads` is false, only writes stop.
    func failed(_ work: String, _ error: any Error, _ request: Request, reads: Bool) {
        let now = now().uptime
        let length = pauses.withLock { pauses in
            let writes = pauses.writes.begin(at: now)
            return reads ? pauses.reads.begin(at: now) : writes
        }
        let description = safeDescription(of: error)
        request.report(
            .cacheDecision,
            decision: .init(
                continues: true,
                "the store could not \(work), and is not \(reads ? "used" : "written") for \(length.components.seconds) s: "
                    + description))
        store.work.warn(
            "the cache's store (\(store.label)) could not \(work): \(description). Later failures of this kind are not reported here",
            kind: "\(work) \(Self.kind(of: error))")
    }

    /// Returns the kind of an error: its type, and its code or its description. The path of a file does not count, because each body can
    /// have a file of its own.
    private static func kind(of error: any Error) -> String {
        let detail =
            switch error {
            case let error as FileWriteError: "\(error.operation) \(error.code)"
            case let error as FileReadError: "\(error.operation) \(error.code)"
            default: safeDescription(of: error)
            }
        return "\(type(of: error)) \(detail)"
    }

    /// Counts a success of the store: see ``pauseAfterFailure``.
    func succeeded(reads: Bool) {
        let now = now().uptime
        pauses.withLock { pauses in
            if reads { pauses.reads.succeed(at: now) } else { pauses.writes.succeed(at: now) }
        }
    }

    /// Returns the value from the store; `nil` if the store fails or takes too long.
    ///
    /// - Throws: only `CancellationError`.
    private func ask<Value: Sendable>(
        _ work: String, for request: Request, discard: @escaping @Sendable (Value) -> Void = { _ in },
        _ operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        do {
            if store.isImmediate { return try await operation() }
            let value = try await withExpiry(
                { [clock] in
                    try await clock.sleep(for: Self.storeLimit)
                    return TransportError(
                        .timedOut, phase: .queue, message: "the store did not respond within 1 s", request: nil, delivery: .notSent)
                }, discard: discard, operation: operation)
            succeeded(reads: true)
            return value
        } catch {
            try Task.checkCancellation()
            failed(work, error, request, reads: true)
            return nil
        }
    }
}

extension CacheReception {
    /// Returns the removals of all entries of a URL, an origin or a group.
    ///
    /// - Parameter origin: the origin of the response.
    fileprivate func removal(of origin: Origin) -> CacheRemoval {
        CacheRemoval(clearedOrigin: clearedOrigin, groups: invalidatedGroups, of: origin, urls: invalidated)
    }
}
