import SeamCases

extension StackBenchmarks {
    /// Measures the cost of a cache in memory.
    ///
    /// - Returns: the cost of a hit, and the costs that the cache adds to a request with `no-store`, and to a request whose response is
    ///   stored.
    static func measureCache() async throws -> (hit: Figure, unstored: Figure, stored: Figure) {
        print("\na cache in memory, with a body of 1 KB, which is read\n")
        let calls = try await CacheCalls()
        let base = try await measure("without a cache") { try await calls.sendWithoutCache() }
        let hit = try await measure("a hit") { try await calls.hit() }
        let unstored = try await measure("a request with no-store") { try await calls.sendUnstored() }
        let stored = try await measure("a request whose response is stored") { try await calls.store() }
        return (hit, unstored - base, stored - base)
    }
}
