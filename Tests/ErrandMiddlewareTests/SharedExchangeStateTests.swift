@testable import ErrandMiddleware
import Errand
import Foundation
import Testing

/// What the machines beneath coalescing decide at moments that a caller meets only in a race.
@Suite(.timeLimit(.minutes(5))) struct SharedExchangeStateTests {
    private static func streamed() throws -> Response {
        Response(head: HTTPResponse(status: .ok), body: ResponseBody(NoBody()), request: try request(), exchange: ExchangeLifetime())
    }

    private struct NoBody: BodySource {
        func next() async throws -> Data? { nil }
        func abandon() {}
    }

    @Test func nobodyJoinsAfterTheFirstByteTheEndOrAFailure() throws {
        var read = SharedExchangeState()
        _ = read.answer(.success(try Self.streamed()))
        #expect(read.join(mayWait: false) != nil)
        _ = read.receive(Data("a".utf8), limitBytes: 10)
        #expect(read.join(mayWait: true) == nil)

        var ended = SharedExchangeState()
        _ = ended.answer(.success(try Self.streamed()))
        _ = ended.end(.complete)
        #expect(ended.join(mayWait: true) == nil)

        var failed = SharedExchangeState()
        _ = failed.answer(.failure(CancellationError()))
        #expect(failed.join(mayWait: true) == nil)
    }

    @Test func theFirstOfThoseWhoShareAFailureDecidesHowLongTheyWait() {
        let shared = SharedRetry()
        #expect(shared.delay(.seconds(2)) == .seconds(2))
        #expect(shared.delay(.seconds(5)) == .seconds(2))
        #expect(shared.random { 0.25 } == 0.25)
        #expect(shared.random { 0.75 } == 0.25)
    }
}
