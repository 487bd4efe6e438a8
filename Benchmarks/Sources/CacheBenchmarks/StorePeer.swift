internal import ClientHarness
internal import ErrandCache
internal import ErrandCore
internal import ErrandSQLite
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// Requests through a cache, over a transport in memory: `memory-hit`, `memory-store`, `memory-many`, and the same with `disk`.
///
/// The size of a body is the last argument of the program. The folder of a store on the disk is in `BENCHMARK_FOLDER`.
struct StorePeer: CallPeer {
    private enum Case: String {
        /// Each request is a hit of the only entry.
        case hit
        /// Each response is stored. The default limits of the store apply, so that a full store removes older entries.
        case store
        /// Each request is a hit of one of 100,000 entries.
        case many
    }

    /// The number of entries of a large store.
    static let manyEntries = 100_000
    /// Prime to the number of entries, so that successive requests are far apart.
    private static let step = 7_919

    private let stack: HTTPStack
    private let requests: [Request]
    private let isHit: Bool
    private let count: Counter

    /// A number that increases with each request.
    private final class Counter: Sendable {
        private let count = Atomic(0)
        func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).oldValue }
    }

    init?(_ name: String, _ setting: Setting) async throws {
        let parts = name.split(separator: "-").map(String.init)
        guard parts.count == 2, let measured = Case(rawValue: parts[1]), let bodyBytes = Int(setting.url) else { return nil }
        let store: any CacheStore
        switch parts[0] {
        case "memory": store = measured == .many ? Self.largeStore() : MemoryCacheStore()
        case "disk":
            guard let folder = getenv("BENCHMARK_FOLDER").map({ String(cString: $0) }) else { throw WrongResponse("no BENCHMARK_FOLDER") }
            store = measured == .many ? Self.largeStore(inFolder: folder) : SQLiteCacheStore(inFolder: folder)
        default: return nil
        }
        stack = HTTPStack(MemoryOrigin(bodyBytes: bodyBytes)).cache(in: store)
        isHit = measured != .store
        count = Counter()
        switch measured {
        case .hit:
            requests = [try Self.request(0)]
            try await Self.fill(store, count: 1, bodyBytes: bodyBytes)
        // The limits allow fewer entries, so that each of these requests is a miss again.
        case .store: requests = try (0..<20_000).map(Self.request)
        case .many:
            requests = try (0..<1_000).map { try Self.request($0 * Self.step % Self.manyEntries) }
            // The script has filled the store on the disk.
            if store is MemoryCacheStore { try await Self.fill(store, count: Self.manyEntries, bodyBytes: bodyBytes) }
        }
    }

    func request(_ kind: Kind) async throws -> Int {
        let (bytes, status) = try await Self.read(requests[count.next() % requests.count], stack)
        guard let status, isHit ? status.isHit : status.isStored else {
            throw WrongResponse("the status is \(status?.description ?? "missing")")
        }
        return bytes
    }

    func shutdown() async throws {}

    private static func request(_ number: Int) throws -> Request { try Request(.get, url: "https://a.example/items/\(number)") }

    private static func read(_ request: Request, _ stack: HTTPStack) async throws -> (Int, CacheStatus?) {
        let response = try await stack.send(request)
        var bytes = 0
        for try await chunk in response.body { bytes += chunk.count }
        return (bytes, response.metadata.cacheStatus)
    }

    // MARK: Large stores

    /// Returns a store with room for many entries.
    static func largeStore() -> MemoryCacheStore { MemoryCacheStore(bytes: 1 << 30, entries: 2 * manyEntries, entryBytes: 1 << 20) }
    static func largeStore(inFolder folder: String) -> SQLiteCacheStore {
        SQLiteCacheStore(inFolder: folder, bytes: 1 << 30, entries: 2 * manyEntries)
    }

    static func fill(_ store: some CacheStore, count: Int, bodyBytes: Int) async throws {
        let stack = HTTPStack(MemoryOrigin(bodyBytes: bodyBytes)).cache(in: store)
        for number in 0..<count { _ = try await read(request(number), stack) }
        await store.finish()
        let entries = try await store.usage.entries
        guard entries == count else { throw WrongResponse("\(entries) of \(count) responses were stored") }
    }

    /// Opens a large store, and returns the nanoseconds until its first hit.
    static func open(_ folder: String, count: Int, bodyBytes: Int) async throws -> Int64 {
        let (origin, request) = (HTTPStack(MemoryOrigin(bodyBytes: bodyBytes)), try request(count / 2))
        let start = ContinuousClock.now
        let (_, status) = try await read(request, origin.cache(in: largeStore(inFolder: folder)))
        let time = start.duration(to: .now)
        guard status?.isHit == true else { throw WrongResponse("the status is \(status?.description ?? "missing")") }
        return Int64(time / .nanoseconds(1))
    }
}
