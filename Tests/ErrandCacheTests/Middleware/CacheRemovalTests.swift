import ErrandCore
import ErrandTesting
import HTTPTypes
import Testing

import class TestSupport.ScriptedBodySource
import func TestSupport.eventually

@testable import ErrandCache

/// Removals while a response is on its way.
@Suite(.timeLimit(.minutes(5))) struct CacheRemovalTests {
    /// The removals that apply to the sample response.
    enum Removal: String, CaseIterable, CustomTestStringConvertible {
        case unsafeMethod, location, groups, clearSiteData, urls, origin, everything, off

        var testDescription: String { rawValue }

        /// Removes by another call, or by hand.
        func perform(_ cache: CachedOrigin) async throws {
            switch self {
            case .unsafeMethod: _ = try await cache.get(request(method: .put))
            case .location: _ = try await cache.get(request(method: .post, url: "https://api.example/location"))
            case .groups: _ = try await cache.get(request(method: .post, url: "https://api.example/groups"))
            case .clearSiteData: _ = try await cache.get(request(url: "https://api.example/clear"))
            case .off: _ = try await cache.get(request(url: "https://api.example/clear"), .off)
            case .urls: try await cache.store.removeAll(urls: [sampleURL])
            case .origin: try await cache.store.removeAll(of: HTTPURL(sampleURL).origin)
            case .everything: try await cache.store.removeAll()
            }
        }
    }

    /// A cache whose first response to the sample URL comes when `gate` is signaled.
    private func cache(_ kind: StoreKind, arrival: Signal = Signal(), gate: Signal, body: some BodySource) -> CachedOrigin {
        CachedOrigin(in: kind.store) { request, number in
            switch request.url?.path {
            case "/location": return reply(to: request, "Location: \(sampleURL)", status: 201)
            case "/groups": return reply(to: request, "Cache-Group-Invalidation: \"a\", \"news\"")
            case "/clear": return reply(to: request, "Clear-Site-Data: \"cache\"")
            default: break
            }
            guard request.method == .get else { return reply(to: request, status: 204, body: []) }
            let fields = ["Cache-Control: max-age=60", "Cache-Groups: \"news\""]
            guard number == 1 else { return reply(to: request, fields, source: ScriptedBodySource(["new"])) }
            arrival.signal()
            try await gate.wait()
            return reply(to: request, fields, source: body)
        }
    }

    @Test(arguments: StoreKind.allCases, Removal.allCases)
    func aResponseThatWasRequestedBeforeARemovalIsNotStored(_ kind: StoreKind, _ removal: Removal) async throws {
        let arrival = Signal(), gate = Signal()
        let cache = cache(kind, arrival: arrival, gate: gate, body: ScriptedBodySource(["old"]))
        let call = Task { try await cache.get(request()) }
        try await arrival.wait()
        try await removal.perform(cache)
        gate.signal()
        let (text, status) = try await call.value
        #expect(text == "old" && status?.isMiss == true)
        await eventually { cache.isIdle }
        let later = try await cache.get(request())
        #expect(later.0 == "new" && later.1?.isHit == false)
        #expect(try await cache.get(request()).1?.isHit == true, "a response that was requested later is stored")
    }

    @Test(arguments: StoreKind.allCases, Removal.allCases)
    func aResponseWhoseBodyArrivesAfterARemovalIsNotStored(_ kind: StoreKind, _ removal: Removal) async throws {
        let body = RecordingBodySource(["o"]), gate = Signal()
        gate.signal()
        let cache = cache(kind, gate: gate, body: body)
        let response = try await cache.send(request())
        let call = Task { try await response.body.collect() }
        await eventually { body.isBeingRead }
        try await removal.perform(cache)
        body.write("ld")
        body.finish()
        #expect(try await call.value == Data("old".utf8))
        await eventually { cache.isIdle }
        #expect(try await cache.get(request()).0 == "new")
    }

    @Test(arguments: StoreKind.allCases) func otherURLsAreStored(_ kind: StoreKind) async throws {
        let arrival = Signal(), gate = Signal()
        let cache = cache(kind, arrival: arrival, gate: gate, body: ScriptedBodySource(["old"]))
        let call = Task { try await cache.get(request()) }
        try await arrival.wait()
        for number in 0..<20 { _ = try await cache.get(request(method: .put, url: "https://api.example/\(number)")) }
        gate.signal()
        _ = try await call.value
        await eventually { cache.isIdle }
        #expect(try await cache.get(request()).1?.isHit == true)
    }

    /// The response to a POST removes the responses of its URL, and is then stored itself. A sign-out during the POST still applies.
    @Test(arguments: StoreKind.allCases, [false, true]) func theResponseToAPostIsStoredAfterItsOwnRemoval(
        _ kind: StoreKind, _ signsOut: Bool
    ) async throws {
        let identity = CredentialIdentity(scheme: "bearer", account: "ada"), store = kind.store
        let cache = CachedOrigin(in: store) { request, _ in
            if signsOut { try await store.forget(identity) }
            return reply(to: request, "Cache-Control: max-age=60", "Content-Location: /items", "Clear-Site-Data: \"cache\"")
        }
        _ = try await cache.get(request(method: .post, identity: identity))
        await eventually { cache.isIdle }
        #expect(try await cache.get(request(identity: identity), .use(.storedOnly)).1?.isHit == !signsOut)
    }

    /// The removals of another call during a POST apply to the response of the POST, although the response removes the same entries. `nil`:
    /// the other call removes another URL.
    @Test(arguments: [nil] + Removal.allCases.map { $0 })
    func aRemovalDuringAPostIsToldApartFromTheOwnRemoval(_ removal: Removal?) async throws {
        let arrival = Signal(), gate = Signal()
        let cache = CachedOrigin(in: MemoryCacheStore()) { request, _ in
            switch request.url?.path {
            case "/location": return reply(to: request, "Location: \(sampleURL)", status: 201)
            case "/groups": return reply(to: request, "Cache-Group-Invalidation: \"a\", \"news\"")
            case "/clear": return reply(to: request, "Clear-Site-Data: \"cache\"")
            default: break
            }
            guard request.method == .post else { return reply(to: request, status: 204, body: []) }
            arrival.signal()
            try await gate.wait()
            return reply(
                to: request, "Cache-Control: max-age=60", "Content-Location: /items", "Cache-Groups: \"news\"",
                "Cache-Group-Invalidation: \"news\"", "Clear-Site-Data: \"cache\"")
        }
        let call = Task { try await cache.get(request(method: .post)) }
        try await arrival.wait()
        if let removal {
            try await removal.perform(cache)
        } else {
            _ = try await cache.get(request(method: .put, url: "https://api.example/other"))
        }
        gate.signal()
        #expect(try await call.value.0 == "hello")
        await eventually { cache.isIdle }
        #expect(try await cache.get(request(), .use(.storedOnly)).1?.isHit == (removal == nil))
    }

    /// https://www.w3.org/TR/clear-site-data: the wish of the origin does not depend on the use of the cache.
    @Test(arguments: StoreKind.allCases, [HTTPRequest.Method.get, .post])
    func clearSiteDataHoldsWithoutTheCache(_ kind: StoreKind, _ method: HTTPRequest.Method) async throws {
        let cache = CachedOrigin(in: kind.store) { request, _ in
            request.url?.path == "/logout"
                ? reply(to: request, "Clear-Site-Data: \"cache\"", status: 500) : reply(to: request, "Cache-Control: max-age=60")
        }
        for url in [sampleURL, "https://other.example/"] { _ = try await cache.get(request(url: url)) }
        let (text, status) = try await cache.get(request(method: method, url: "https://api.example/logout"), .off)
        #expect(text == "hello" && (method == .post || status == nil))
        #expect(try await cache.store.entries(limit: 9).map(\.url) == ["https://other.example/"])
    }
}
