import ErrandCache
import ErrandCore
import ErrandStoreConformance
import HTTPTypes
import Synchronization

/// A store in memory with one fault. Without a fault, the store has all behaviors. Stores with the same place share their entries.
final class FaultyCacheStore: CacheStore {
    enum Fault: CaseIterable {
        case hasOtherLimits, losesSelections, losesDecoding, readsFromTheStart, losesEmptyBodies, stopsRemovedBodies, mixesContents
        case listsOldestFirst, changesDigests, publishesEarly, publishesDiscarded, discardsPublished, replacesNothing, repeatsNumbers
        case keepsFewVariants, keepsHeads, mixesBodies, keepsRemoved, countsNothing, removesOtherOrigins, keepsWritersOfOrigins
        case forgetsEverybody, keepsAccounts, keepsGroups, keepsWriters, obeysCancellation, keepsMoreEntries, keepsMoreBytes
        case keepsLargeEntries, keepsReplacedBytes, sharesNothing, keepsVolatileAccounts
        case usesFreshGenerations, keepsWritersOfGroups, sharesNoRemovals, hidesReasons, hasOneReason

        /// The names of the behaviors that must find the fault.
        var foundBy: Set<String> {
            switch self {
            case .hasOtherLimits: ["EmptyAtFirst"]
            case .losesSelections: ["KeepsTheWholeEntry"]
            case .losesDecoding: ["KeepsParts"]
            case .readsFromTheStart: ["ReadsAnyRange"]
            case .losesEmptyBodies: ["KeepsEmptyBodies"]
            case .stopsRemovedBodies: ["ReadsRemovedBodies"]
            case .mixesContents: ["KeepsKeysApart"]
            case .listsOldestFirst: ["ListsRecentlyUsedFirst"]
            case .changesDigests: ["RepeatsDigests", "KeepsEntriesBetweenRuns"]
            case .publishesEarly: ["HidesUnpublished"]
            case .publishesDiscarded: ["DiscardsWriters"]
            case .discardsPublished: ["KeepsPublished"]
            case .replacesNothing: ["ReplacesEntries"]
            case .repeatsNumbers: ["NeverRepeatsNumbers"]
            case .keepsFewVariants: ["BoundsVariants"]
            case .keepsHeads: ["UpdatesHeads"]
            case .mixesBodies: ["WritesConcurrently"]
            case .keepsRemoved: ["RemovesEntries"]
            case .countsNothing: ["RemovesURLs"]
            case .removesOtherOrigins, .keepsWritersOfOrigins: ["RemovesOrigins"]
            case .forgetsEverybody, .keepsAccounts: ["ForgetsAccounts"]
            case .keepsGroups: ["RemovesGroups"]
            case .keepsWriters: ["RemovesEverything", "SharesSignOuts"]
            case .obeysCancellation: ["RemovesAfterCancellation"]
            case .keepsMoreEntries: ["BoundsEntries"]
            case .keepsMoreBytes: ["BoundsBytes"]
            case .keepsLargeEntries: ["RefusesLargeEntries", "StopsLargeEntries"]
            case .keepsReplacedBytes: ["ReleasesBytes"]
            case .sharesNothing: ["KeepsEntriesBetweenRuns", "SharesEntries", "SharesSignOuts"]
            case .keepsVolatileAccounts: ["KeepsNoVolatileAccounts"]
            case .usesFreshGenerations: ["RefusesLateResponses", "SharesRemovals"]
            case .keepsWritersOfGroups: ["GivesUpWritersOfGroups"]
            case .sharesNoRemovals: ["SharesRemovals"]
            case .hidesReasons: ["StopsLargeEntries", "RefusesWithoutRoom", "RefusesGivenUpEntries"]
            case .hasOneReason: ["RefusesLargeEntries", "RefusesLateResponses", "KeepsNoVolatileAccounts"]
            }
        }
    }

    /// The entries that several stores share.
    final class Place: Sendable {
        let memory = Mutex<MemoryCacheStore?>(nil)
    }

    let fault: Fault?
    let work = CacheWork()
    let memory: MemoryCacheStore
    /// Whether only durable identities have entries.
    private let isDurable: Bool
    /// The number of the latest removal by this store, which other stores of the place don't change.
    private let ownRemoval = Mutex<Int64>(0)
    /// The number of published entries, the hidden entries, and the last writer.
    let state = Mutex<(published: Int64, hidden: Set<CacheEntry.ID>, last: FaultyCacheWriter?)>((0, [], nil))

    init(_ limits: CacheStoreBehavior.Limits, at place: Place?, _ fault: Fault?) {
        func make() -> MemoryCacheStore {
            MemoryCacheStore(
                bytes: fault == .keepsMoreBytes ? limits.bytes * 2 : limits.bytes,
                entries: fault == .keepsMoreEntries ? limits.entries + 1 : limits.entries,
                entryBytes: fault == .keepsLargeEntries ? limits.bytes : limits.entryBytes)
        }
        self.fault = fault
        isDurable = place != nil
        guard let place, fault != .sharesNothing else {
            memory = make()
            return
        }
        memory = place.memory.withLock { memory in
            let shared = memory ?? make()
            memory = shared
            return shared
        }
    }

    var label: String { "faulty" }

    var usage: CacheUsage {
        get async throws {
            let usage = memory.usage
            return CacheUsage(
                entries: usage.entries, bytes: usage.bytes + (fault == .keepsReplacedBytes ? state.withLock { $0.published } : 0),
                entryLimit: fault == .hasOtherLimits ? 7 : usage.entryLimit, limitBytes: usage.limitBytes)
        }
    }

    // MARK: Reading

    /// Returns the key under which an entry is stored.
    private func stored(_ key: CacheKey) throws -> CacheKey {
        fault == .mixesContents ? CacheKey(url: try HTTPURL(key.url), partition: key.partition) : key
    }

    func lookUp(_ key: CacheKey) async throws -> CacheLookup {
        let found = try await memory.lookUp(stored(key))
        let hidden = state.withLock { $0.hidden }
        var entries = found.entries.filter { !hidden.contains($0.id) }.map { CacheEntry(id: $0.id, head: changed($0.head)) }
        if fault == .keepsFewVariants { entries = Array(entries.prefix(8)) }
        return CacheLookup(entries: entries, generation: found.generation)
    }

    private func changed(_ head: CacheEntry.Head) -> CacheEntry.Head {
        guard fault == .losesSelections || fault == .losesDecoding else { return head }
        return CacheEntry.Head(
            response: head.response, requestTime: head.requestTime, responseTime: head.responseTime,
            selection: fault == .losesSelections ? CacheSelection() : head.selection, extent: head.extent, lifetimes: head.lifetimes,
            isDecoded: fault == .losesDecoding ? false : head.isDecoded)
    }

    func body(of id: CacheEntry.ID, offsets: Range<Int64>) async throws -> (any BodySource)? {
        if fault == .losesEmptyBodies && offsets.isEmpty { return nil }
        let offsets = fault == .readsFromTheStart ? 0..<Int64(offsets.count) : offsets
        guard let source = try await memory.body(of: id, offsets: offsets) else { return nil }
        return fault == .stopsRemovedBodies ? StoppingSource(source, memory) : source
    }

    func entries(limit: Int) async throws -> [ListedCacheEntry] {
        let entries = try await memory.entries(limit: fault == .listsOldestFirst ? .max : limit)
        return fault == .listsOldestFirst ? Array(entries.reversed().prefix(limit)) : entries
    }

    // MARK: Writing

    func makeWriter(
        for key: CacheKey, head: CacheEntry.Head, expectedBytes: Int64?, since generation: CacheGeneration
    ) async throws -> any CacheWriter {
        do throws(CacheStatus.Refusal) {
            return try begin(key, head, expectedBytes, generation)
        } catch {
            throw fault == .hasOneReason ? .storeRefused : error
        }
    }

    private func begin(
        _ key: CacheKey, _ head: CacheEntry.Head, _ expectedBytes: Int64?, _ generation: CacheGeneration
    ) throws(CacheStatus.Refusal) -> any CacheWriter {
        if isDurable, fault != .keepsVolatileAccounts, case .account(let identity) = key.partition, identity.canonicalOctets == nil {
            throw .volatileAccount
        }
        let isFresh =
            fault == .usesFreshGenerations
            || fault == .sharesNoRemovals && generation.rawValue >= ownRemoval.withLock { $0 }
        func begin() throws(CacheStatus.Refusal) -> any ImmediateCacheWriter {
            let since = isFresh ? memory.immediateLookUp(key)?.generation ?? generation : generation
            guard let stored = try? stored(key),
                let writer = try memory.makeImmediateWriter(for: stored, head: head, expectedBytes: expectedBytes, since: since)
            else { throw .storeRefused }
            return writer
        }
        if fault == .publishesEarly { _ = try begin().publish(head.empty, replacing: []) }
        let writer = try begin()
        let faulty = FaultyCacheWriter(writer, head, self)
        if fault == .mixesBodies { state.withLock { $0.last = faulty } }
        return faulty
    }

    func updateHeads(_ entries: [CacheEntry]) async throws { if fault != .keepsHeads { try await memory.updateHeads(entries) } }

    // MARK: Removing

    func remove(_ ids: [CacheEntry.ID]) async throws {
        if fault == .obeysCancellation { try Task.checkCancellation() }
        if fault != .keepsRemoved { try await memory.remove(ids) }
    }

    /// Records the number of a removal by this store.
    private func recordOwnRemoval() {
        guard let key = try? CacheKey(url: HTTPURL("https://a.example/")), let now = memory.immediateLookUp(key)?.generation else { return }
        ownRemoval.withLock { $0 = now.rawValue }
    }

    func removeAll(urls: [String]) async throws -> Int {
        defer { recordOwnRemoval() }
        let count = try await memory.removeAll(urls: urls)
        return fault == .countsNothing ? 0 : count
    }

    func removeAll(of origin: Origin) async throws {
        defer { recordOwnRemoval() }
        switch fault {
        case .removesOtherOrigins: try await memory.removeAll()
        case .keepsWritersOfOrigins:
            try await memory.remove(memory.entries(limit: .max).filter { try HTTPURL($0.url).origin == origin }.map(\.entry.id))
        default: try await memory.removeAll(of: origin)
        }
    }

    func removeAll(groups: [String], of origin: Origin) async throws {
        defer { recordOwnRemoval() }
        switch fault {
        case .keepsGroups: break
        case .keepsWritersOfGroups:
            let chosen = try await memory.entries(limit: .max).filter { listed in
                listed.entry.head.groups.contains { groups.contains($0) } && (try? HTTPURL(listed.url))?.origin == origin
            }
            try await memory.remove(chosen.map(\.entry.id))
        default: try await memory.removeAll(groups: groups, of: origin)
        }
    }

    func removeAll() async throws {
        if fault == .keepsWriters { return try await memory.remove(memory.entries(limit: .max).map(\.entry.id)) }
        try await memory.removeAll()
    }

    func forget(_ identity: CredentialIdentity) async throws {
        switch fault {
        case .forgetsEverybody: try await memory.removeAll()
        case .keepsAccounts: break
        default: try await memory.forget(identity)
        }
    }

    func digest(_ octets: [UInt8]) -> [UInt8]? {
        fault == .changesDigests ? (0..<16).map { _ in UInt8.random(in: 0 ... .max) } : memory.digest(octets)
    }
}

/// A writer of a faulty store.
final class FaultyCacheWriter: CacheWriter {
    struct NoReason: Error {}

    private let writer: any ImmediateCacheWriter
    private let head: CacheEntry.Head
    private let store: FaultyCacheStore
    private let published = Mutex<CacheEntry.ID?>(nil)

    init(_ writer: any ImmediateCacheWriter, _ head: CacheEntry.Head, _ store: FaultyCacheStore) {
        (self.writer, self.head, self.store) = (writer, head, store)
    }

    func write(_ chunk: Data) async throws {
        if store.fault == .mixesBodies { for _ in 0..<5 { await Task.yield() } }
        let target = store.fault == .mixesBodies ? store.state.withLock { $0.last } ?? self : self
        do {
            try target.writer.write(chunk)
        } catch {
            throw store.fault == .hidesReasons ? NoReason() as any Error : error
        }
    }

    func publish(_ head: CacheEntry.Head, replacing replaced: [CacheEntry.ID]) async throws -> CacheEntry.ID {
        let id: CacheEntry.ID
        do {
            id = try writer.publish(head, replacing: store.fault == .replacesNothing ? [] : replaced)
        } catch {
            throw store.fault == .hidesReasons ? NoReason() as any Error : error
        }
        published.withLock { $0 = id }
        store.state.withLock { $0.published += 1 }
        return store.fault == .repeatsNumbers ? CacheEntry.ID(1) : id
    }

    func discard() {
        switch store.fault {
        case .publishesDiscarded: _ = try? writer.publish(head, replacing: [])
        case .discardsPublished:
            guard let id = published.withLock({ $0 }) else { return writer.discard() }
            store.state.withLock { _ = $0.hidden.insert(id) }
        default: writer.discard()
        }
    }
}

/// The body of an entry in chunks of at most 1,000 bytes, which ends when its store is empty.
private final class StoppingSource: BodySource {
    private let source: any BodySource
    private let memory: MemoryCacheStore
    private let rest = Mutex(Data())

    init(_ source: any BodySource, _ memory: MemoryCacheStore) { (self.source, self.memory) = (source, memory) }

    func next() async throws -> Data? {
        guard memory.usage.entries > 0 else { return nil }
        if rest.withLock(\.isEmpty) {
            guard let chunk = try await source.next() else { return nil }
            rest.withLock { $0 = chunk }
        }
        return rest.withLock { rest in
            defer { rest = Data(rest.dropFirst(1000)) }
            return Data(rest.prefix(1000))
        }
    }

    func abandon() { source.abandon() }
}

extension CacheEntry.Head {
    /// The head with an empty body.
    fileprivate var empty: CacheEntry.Head {
        CacheEntry.Head(
            response: response, requestTime: requestTime, responseTime: responseTime, selection: selection, extent: .whole(length: 0),
            lifetimes: lifetimes, isDecoded: isDecoded)
    }
}
