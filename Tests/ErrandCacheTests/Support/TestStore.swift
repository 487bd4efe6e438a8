import ErrandCore
import Synchronization

@testable import ErrandCache

/// A store that waits like a store on disk: over a store in memory, with gates, failures and slow steps.
final class TestStore: OwnRemovalStore {
    /// The functions that a test can stop or let fail.
    enum Step: Hashable, CaseIterable { case lookUp, body, writer, write, publish, update, remove }

    struct Failed: Error, CustomStringConvertible { let description = "no space left on device" }

    private struct State {
        var failing: Set<Step> = []
        var error: any Error = Failed()
        var refusal: CacheStatus.Refusal?
        var refusing: Set<Step> = []
        var stopped: Set<Step> = []
        var waiters: [(Step, QueueTicket, CheckedContinuation<Void, any Error>)] = []
        var calls: [Step: Int] = [:]
        var yields: [Step: Int] = [:]
    }

    let memory: MemoryCacheStore
    private let state = Mutex(State())

    init(_ memory: MemoryCacheStore = MemoryCacheStore()) { self.memory = memory }

    func fail(_ steps: Set<Step>, with error: any Error = Failed()) { state.withLock { ($0.failing, $0.error) = (steps, error) } }
    /// From now on, the store refuses each entry at a step; `nil`: no entry.
    func refuse(_ refusal: CacheStatus.Refusal?, at step: Step = .writer) {
        state.withLock { ($0.refusal, $0.refusing) = (refusal, [step]) }
    }
    func stop(_ step: Step) { state.withLock { _ = $0.stopped.insert(step) } }
    /// From now on, a step lets other tasks run before the step begins.
    func slow(_ step: Step, byYields count: Int) { state.withLock { $0.yields[step] = count } }
    func calls(_ step: Step) -> Int { state.withLock { $0.calls[step] ?? 0 } }
    func waiting(_ step: Step) -> Int { state.withLock { $0.waiters.count { $0.0 == step } } }

    func go(_ step: Step) {
        let waiters = state.withLock { state in
            state.stopped.remove(step)
            defer { state.waiters.removeAll { $0.0 == step } }
            return state.waiters.filter { $0.0 == step }
        }
        for waiter in waiters { waiter.2.resume() }
    }

    private func enter(_ step: Step) async throws {
        let (error, refusal, yields) = state.withLock { state in
            state.calls[step, default: 0] += 1
            return (
                state.failing.contains(step) ? state.error : nil, state.refusing.contains(step) ? state.refusal : nil,
                state.yields[step] ?? 0
            )
        }
        if let error { throw error }
        if let refusal { throw refusal }
        for _ in 0..<yields { await Task.yield() }
        try await waitInQueue { (ticket, continuation: CheckedContinuation<Void, any Error>) in
            state.withLock { state -> Result<Void, any Error>? in
                guard state.stopped.contains(step) else { return .success(()) }
                state.waiters.append((step, ticket, continuation))
                return nil
            }
        } leave: { [self] ticket in
            state.withLock { state in
                state.waiters.firstIndex { $0.1 == ticket }.map { state.waiters.remove(at: $0).2 }
            }
        }
    }

    var label: String { "test" }
    var work: CacheWork { memory.work }
    var usage: CacheUsage { get async throws { memory.usage } }

    func lookUp(_ key: CacheKey) async throws -> CacheLookup {
        try await enter(.lookUp)
        return try await memory.lookUp(key)
    }

    func body(of id: CacheEntry.ID, offsets: Range<Int64>) async throws -> (any BodySource)? {
        try await enter(.body)
        return try await memory.body(of: id, offsets: offsets)
    }

    func entries(limit: Int) async throws -> [ListedCacheEntry] { try await memory.entries(limit: limit) }

    func makeWriter(
        for key: CacheKey, head: CacheEntry.Head, expectedBytes: Int64?, since generation: CacheGeneration
    ) async throws -> any CacheWriter {
        try await enter(.writer)
        let writer = try await memory.makeWriter(for: key, head: head, expectedBytes: expectedBytes, since: generation)
        return Writer(store: self, writer: writer)
    }

    func updateHeads(_ entries: [CacheEntry]) async throws {
        try await enter(.update)
        try await memory.updateHeads(entries)
    }

    func remove(_ ids: [CacheEntry.ID]) async throws {
        try await enter(.remove)
        try await memory.remove(ids)
    }

    func removeAll(urls: [String]) async throws -> Int {
        try await enter(.remove)
        return try await memory.removeAll(urls: urls)
    }

    func removeAll(groups: [String], of origin: Origin) async throws { try await memory.removeAll(groups: groups, of: origin) }

    func remove(
        _ removal: CacheRemoval, by key: CacheKey, head: CacheEntry.Head, since generation: CacheGeneration
    ) async throws -> CacheGeneration {
        try await enter(.remove)
        return try await memory.remove(removal, by: key, head: head, since: generation)
    }

    func removeAll(of origin: Origin) async throws { try await memory.removeAll(of: origin) }
    func removeAll() async throws { try await memory.removeAll() }
    func forget(_ identity: CredentialIdentity) async throws { try await memory.forget(identity) }
    func digest(_ octets: [UInt8]) -> [UInt8]? { memory.digest(octets) }

    private struct Writer: CacheWriter {
        let store: TestStore
        let writer: any CacheWriter

        func write(_ chunk: Data) async throws {
            try await store.enter(.write)
            try await writer.write(chunk)
        }

        func publish(_ head: CacheEntry.Head, replacing replaced: [CacheEntry.ID]) async throws -> CacheEntry.ID {
            try await store.enter(.publish)
            return try await writer.publish(head, replacing: replaced)
        }

        func discard() { writer.discard() }
    }
}
