/// A request that was sent, and its response.
struct ReceivedExchange: Sendable {
    let request: CacheRequest
    let forward: CacheForward
    let entries: [CacheEntry]
    let requestTime: CacheInstant
    let responseTime: CacheInstant
}
