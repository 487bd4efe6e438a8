internal import ClientHarness
internal import ErrandCache
internal import ErrandCore
internal import ErrandSQLite

/// Concurrent misses of 16 MiB each, over a transport in memory and a store on the disk.
enum MissMeasurement {
    private static let bodyBytes = 16 << 20

    /// Returns the largest number of bytes that have waited for the store at the same time, the number of stored bodies, and the time of
    /// all bodies.
    static func of(_ count: Int, folder: String) async throws -> String {
        let store = SQLiteCacheStore(inFolder: folder, entryBytes: 32 << 20)
        let stack = HTTPStack(MemoryOrigin(bodyBytes: bodyBytes)).cache(in: store)
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<count {
                group.addTask {
                    var bytes = 0
                    for try await chunk in try await stack.send(Request(.get, url: "https://a.example/items/\(number)")).body {
                        bytes += chunk.count
                        // All bodies make progress.
                        await Task.yield()
                    }
                    return bytes
                }
            }
            for try await bytes in group where bytes != bodyBytes { throw WrongResponse("\(bytes) bytes") }
        }
        let time = start.duration(to: .now) / .nanoseconds(1)
        await store.finish()
        let entries = try await store.usage.entries
        let work = store.work
        return "peak_waiting_bytes=\(work.peakWaitingBytes) waiting_bytes=\(work.waitingBytes) stored=\(entries) wall_ns=\(time)"
    }
}
