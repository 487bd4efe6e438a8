import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct CachedHostResolverTests {
    private static let first = AddressCache.Key(host: "a.example", port: 443)
    private static let second = AddressCache.Key(host: "b.example", port: 443)
    private static let addresses = [1, 2].compactMap { IPAddress(octets: [192, 0, 2, $0] as [UInt8]) }

    // MARK: - The machine

    private enum Step: Sendable {
        case keep(AddressCache.Key, at: Int)
        case keepNothing(AddressCache.Key)
        case discard(AddressCache.Key)
        case flush
    }

    private struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let steps: [Step]
        let now: Int
        let known: [Bool]
        var limit = 10
        var testDescription: String { name }
    }

    @Test(
        arguments: [
            Row(name: "nothing is known at first", steps: [], now: 0, known: [false, false]),
            Row(name: "kept until its time has passed", steps: [.keep(first, at: 0)], now: 29, known: [true, false]),
            Row(name: "not kept from then on", steps: [.keep(first, at: 0)], now: 30, known: [false, false]),
            Row(name: "kept anew", steps: [.keep(first, at: 0), .keep(first, at: 20)], now: 49, known: [true, false]),
            Row(name: "an empty list is not kept", steps: [.keepNothing(first)], now: 0, known: [false, false]),
            Row(
                name: "discarded alone", steps: [.keep(first, at: 0), .keep(second, at: 0), .discard(first)], now: 1, known: [false, true]),
            Row(name: "flushed together", steps: [.keep(first, at: 0), .keep(second, at: 0), .flush], now: 1, known: [false, false]),
            Row(
                name: "the least recently used is dropped beyond the bound", steps: [.keep(first, at: 0), .keep(second, at: 0)], now: 1,
                known: [false, true], limit: 1),
        ])
    private func theCacheKeepsValidAddresses(_ row: Row) {
        var cache = AddressCache(timeToLive: .seconds(30), limit: row.limit)
        for step in row.steps {
            switch step {
            case .keep(let key, let now): cache.keep(Self.addresses, of: cache.flight(for: key), at: .seconds(now))
            case .keepNothing(let key): cache.keep([], of: cache.flight(for: key), at: .zero)
            case .discard(let key): cache.discard(key)
            case .flush: cache.flush()
            }
        }
        let known = [Self.first, Self.second].map { cache.addresses(of: $0, at: .seconds(row.now)) == Self.addresses }
        #expect(known == row.known)
    }

    @Test func aLookupStartedBeforeAFlushIsNotKept() {
        var cache = AddressCache(timeToLive: .seconds(30), limit: 10)
        let flight = cache.flight(for: Self.first)
        cache.flush()
        cache.keep(Self.addresses, of: flight, at: .zero)
        #expect(cache.count == 0)
        let later = cache.flight(for: Self.first)
        #expect(later != flight, "a later caller does not join it")
    }

    // MARK: - The resolver

    /// Returns a resolver that waits until it may respond, if `mayRespond` is given.
    private func stub(when mayRespond: Watched<Bool>? = nil) -> StubResolver {
        StubResolver { _ in
            try await mayRespond?.wait { $0 }
            return Self.addresses
        }
    }

    @Test func expiredAddressesAreLookedUpAgain() async throws {
        let (base, clock) = (stub(), ManualClock())
        let resolver = base.cached(for: .seconds(10), clock: clock)
        for _ in 0..<3 { _ = try await resolver.addresses(of: "a.example", port: 443) }
        #expect(base.asked.value == ["a.example:443"])
        #expect(resolver.knownAddresses(of: "a.example", port: 443) == Self.addresses)
        _ = try await resolver.addresses(of: "a.example", port: 80)
        clock.advance(by: .seconds(10))
        #expect(resolver.knownAddresses(of: "a.example", port: 443) == nil)
        _ = try await resolver.addresses(of: "a.example", port: 443)
        #expect(base.asked.value == ["a.example:443", "a.example:80", "a.example:443"])
        resolver.discardAddresses(of: "a.example", port: 443)
        #expect(base.discarded.value == ["a.example"])
        resolver.flush()
        #expect(resolver.count == 0)
    }

    @Test func concurrentLookupsOfAHostShareOneLookup() async throws {
        let mayRespond = Watched(false)
        let base = stub(when: mayRespond)
        let resolver = base.cached()
        let lookups = (0..<8).map { _ in Task { try await resolver.addresses(of: "a.example", port: 443) } }
        try await base.asked.wait("the lookup") { $0.count == 1 }
        mayRespond.change { $0 = true }
        for lookup in lookups { #expect(try await lookup.value == Self.addresses) }
        #expect(base.asked.value.count == 1)
    }

    @Test func theLastCancelledCallerEndsTheLookup() async throws {
        let mayRespond = Watched(false)
        let base = stub(when: mayRespond)
        let resolver = base.cached()
        let (first, second) = (
            Task { try await resolver.addresses(of: "a.example", port: 443) },
            Task { try await resolver.addresses(of: "a.example", port: 443) }
        )
        try await base.asked.wait("the lookup") { $0.count == 1 }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(resolver.count == 0)
        mayRespond.change { $0 = true }
        #expect(try await resolver.addresses(of: "a.example", port: 443) == Self.addresses)
        #expect(base.asked.value.count == 2)
    }

    @Test func aFailureIsNotKept() async throws {
        let lookups = Counter()
        let base = StubResolver { host in
            if lookups.add() == 1 { throw HostNotFoundError(host) }
            return Self.addresses
        }
        let resolver = base.cached()
        await #expect(throws: HostNotFoundError.self) { try await resolver.addresses(of: "a.example", port: 443) }
        #expect(try await resolver.addresses(of: "a.example", port: 443) == Self.addresses)
    }
}
