import ErrandCore
import ErrandMiddleware
import ErrandTesting
import HTTPTypes
import Testing

import class TestSupport.ScriptedBodySource

@testable import ErrandCache

/// `retry` around a cache.
@Suite(.timeLimit(.minutes(5))) struct CacheRetryTests {
    /// The server is not asked, however often the request is sent.
    @Test func theResponseToARequestForAStoredResponseIsFinal() async throws {
        let origin = TestOrigin { request, _ in reply(to: request, ["Cache-Control: max-age=60"], source: ScriptedBodySource(["one"])) }
        let stack = origin.cache(in: MemoryCacheStore()).retry(clock: ManualClock())
        var onlyStored = request()
        onlyStored.options.cache = .use(.storedOnly)
        let response = try await stack.send(onlyStored)
        #expect(response.status == .gatewayTimeout && response.metadata.attempts.isEmpty && origin.count == 0)
    }

    @Test func theFailureOfAServerIsNot() async throws {
        let clock = ManualClock()
        let origin = TestOrigin { request, number in
            var response = reply(to: request, ["Cache-Control: no-store"], source: ScriptedBodySource(["one"]))
            if number == 1 { response.head.status = .gatewayTimeout }
            return response
        }
        let stack = origin.cache(in: MemoryCacheStore()).retry(clock: clock)
        let response = try await clock.advancingToSleepers { try await stack.send(request()) }
        #expect(response.status == .ok && response.metadata.attempts.count == 1 && origin.count == 2)
    }
}
