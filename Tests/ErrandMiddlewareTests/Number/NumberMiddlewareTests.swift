import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct NumberMiddlewareTests {
    @Test func requestsOfAStackAreNumberedFromOne() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let (first, second) = (stub.number(), stub.number())
        for expected in 1...3 { #expect(try await first.send(try request()).metadata.requestNumber == expected) }
        #expect(try await second.send(try request()).metadata.requestNumber == 1)
        #expect(stub.requests.map(\.request.options.requestNumber) == [1, 2, 3, 1])
    }

    @Test func noNumberIsUsedTwice() async throws {
        let stack = StubTransport(Stub().responds(.status(.ok))).number()
        let numbers = try await withThrowingTaskGroup(of: Int?.self) { group in
            for _ in 0..<500 { group.addTask { try await stack.send(try request()).metadata.requestNumber } }
            return try await group.reduce(into: []) { $0.append($1 ?? 0) }
        }
        #expect(numbers.sorted() == Array(1...500))
    }

    @Test func attemptsOfOneCallShareItsNumber() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), .status(.ok)))
        let clock = ManualClock()
        let stack = stub.retry(clock: clock, random: { 0 }).number()
        #expect(try await stack.send(try request()).status == .ok)
        #expect(stub.requests.map(\.request.options.requestNumber) == [1, 1])
    }
}
