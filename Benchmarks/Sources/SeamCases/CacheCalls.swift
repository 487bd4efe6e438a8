internal import ErrandCache
internal import ErrandCore
internal import Synchronization

/// Calls that measure the cost of a cache in memory, over a transport that returns a whole response immediately. Each call reads the body
/// of 1 KB.
public struct CacheCalls: Sendable {
    /// An error: the cache did not handle a request as the measurement expects.
    private struct Unexpected: Error, CustomStringConvertible {
        let description: String
    }

    private let plain = HTTPStack(Fresh())
    private let cached = HTTPStack(Fresh()).cache(in: MemoryCacheStore())
    /// A store with room for one entry: each of two URLs removes the entry of the other.
    private let full = HTTPStack(Fresh()).cache(in: MemoryCacheStore(entries: 1))
    private let request: Request
    private let unstored: Request
    private let others: [Request]
    private let turn = Turn()

    /// Stores the response that the hits return.
    public init() async throws {
        request = try Request(.get, url: "https://a.example/users/7")
        unstored = try Request(.get, url: "https://a.example/users/8", headers: [.cacheControl: "no-store"])
        others = try (1...2).map { try Request(.get, url: "https://a.example/users/\($0)") }
        try await read(request, cached, isHit: false)
        try await read(request, cached, isHit: true)
        for _ in 0..<2 { for other in others { try await read(other, full, isHit: false) } }
    }

    private func read(_ request: Request, _ stack: HTTPStack, isHit: Bool) async throws {
        let response = try await stack.send(request)
        _ = try await response.body.collect()
        let status = response.metadata.cacheStatus
        guard status?.isHit == isHit else { throw Unexpected(description: "the status is \(status?.description ?? "missing")") }
    }

    /// Sends a request without a cache.
    public func sendWithoutCache() async throws { _ = try await plain.send(request).body.collect() }
    /// Sends a request whose response is in the cache.
    public func hit() async throws { _ = try await cached.send(request).body.collect() }
    /// Sends a request with `no-store` past the cache.
    public func sendUnstored() async throws { _ = try await cached.send(unstored).body.collect() }
    /// Sends a request whose response is stored in place of another response.
    public func store() async throws { _ = try await full.send(others[turn.next()]).body.collect() }

    /// 0 and 1, by turns.
    private final class Turn: Sendable {
        private let count = Atomic(0)
        func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).oldValue & 1 }
    }

    /// Returns the response of ``Whole``, which stays fresh for a year. Without a date, the age begins when the response arrives.
    private struct Fresh: HTTPTransport {
        private static let head = {
            var head = Whole.head
            head.headerFields[.cacheControl] = "max-age=31536000"
            head.headerFields[.date] = nil
            return head
        }()

        var capabilities: TransportCapabilities { [.deadlines, .phaseEvents] }
        func send(_ request: Request) async throws -> Response { Response(head: Self.head, data: Whole.body, request: request) }
        func shutdown() async throws {}
    }
}
