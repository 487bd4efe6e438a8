import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct RacedBodySourceTests {
    /// Has chunks at hand, and then never one.
    private final class Ready: ReadyBodySource {
        private let chunks: Mutex<[String]>
        let abandonments = Watched(0)
        let failures = Watched(0)

        init(_ chunks: [String]) { self.chunks = Mutex(chunks.reversed()) }

        func takeReadyChunk() -> Data? { chunks.withLock { $0.popLast() }.map { Data($0.utf8) } }

        func next() async throws -> Data? {
            if let chunk = takeReadyChunk() { return chunk }
            try await untilCancelled()
        }

        func abandon() { abandonments.change { $0 += 1 } }
        func fail(with error: any Error) { failures.change { $0 += 1 } }
    }

    private let clock = ManualClock()

    private func raced(_ source: some BodySource, deadline: Deadline? = nil, _ exchange: ExchangeLifetime = ExchangeLifetime())
        -> RacedBodySource
    {
        RacedBodySource(source, of: exchange, deadline: deadline) { [clock] in
            if let deadline { try await deadline.wait() } else { try await clock.sleep(for: .seconds(1)) }
            return TransportError(.timedOut, phase: .body, request: nil, delivery: .sent)
        }
    }

    @Test func anAvailableChunkIsNotRaced() async throws {
        let source = raced(Ready(["a", "b"]))
        #expect(try await source.next() == Data("a".utf8))
        #expect(try await source.next() == Data("b".utf8))
        #expect(clock.sleeperCount == 0)
    }

    @Test func aWaitingReadIsRaced() async throws {
        let exchange = ExchangeLifetime()
        let source = raced(Ready([]), exchange)
        let reading = Task { try await source.next() }
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(1))
        await #expect(throws: TransportError.self) { try await reading.value }
        guard case .failed(let error as TransportError)? = exchange.outcome else { return #expect(Bool(false), "failed") }
        #expect(error.code == .timedOut)
    }

    @Test func anAvailableChunkIsNotTakenAfterTheDeadline() async throws {
        let ready = Ready(["a"])
        let late = raced(Waiting(ready), deadline: Deadline(after: .seconds(-1), clock: clock))
        await #expect(throws: TransportError.self) { try await late.next() }
        #expect(ready.takeReadyChunk() == Data("a".utf8))
    }

    /// Gives what is at hand to nobody who waits.
    private struct Waiting: ReadyBodySource {
        let base: Ready
        init(_ base: Ready) { self.base = base }
        func takeReadyChunk() -> Data? { base.takeReadyChunk() }
        func next() async throws -> Data? { try await untilCancelled() }
        func abandon() {}
    }

    @Test func abandonmentAndFailureReachTheSource() {
        let ready = Ready([])
        let source = raced(ready)
        source.abandon()
        source.fail(with: SomeError())
        #expect(ready.abandonments.value == 1 && ready.failures.value == 1)
    }
}
