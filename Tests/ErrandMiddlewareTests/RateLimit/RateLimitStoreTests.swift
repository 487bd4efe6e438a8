import ErrandMiddleware
import ErrandStoreConformance
import Testing

@Suite(.timeLimit(.minutes(5))) struct RateLimitStoreTests {
    @Test(arguments: RateLimitStoreBehavior.all) func theStoreInMemoryConforms(to behavior: RateLimitStoreBehavior) async throws {
        try await behavior.check { MemoryRateLimitStore() }
    }

    /// An asynchronous default of the protocol would take precedence here, and return `nil`.
    @Test func theStoreReportsItsRestToAsynchronousCode() async {
        let store = MemoryRateLimitStore()
        await Task.yield()
        #expect(store.available("a", limit: .perHour(3)) == 3)
    }
}
