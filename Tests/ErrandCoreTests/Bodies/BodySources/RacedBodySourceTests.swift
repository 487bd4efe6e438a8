import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct RacedBodySourceTests {
    /// Has available chunks, and then stalls.
    private final class ReadyChunkSource: ReadyBodySource {
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
        let source = raced(ReadyChunkSource(["a", "b"]))
        #expect(try await source.next() == Data("a".utf8))
        #expect(try await source.next() == Data("b".utf8))
        #expect(clock.sleeperCount == 0)
    }

    @Test func aWaitingReadIsRaced() async throws {
        let exchange = ExchangeLifetime()
        let source = raced(ReadyChunkSource([]), exchange)
        let reading = Task { try await source.next() }
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(1))
        await #expect(throws: TransportError.self) { try await reading.value }
        guard case .failed(let error as TransportError)? = exchange.outcome else { return #expect(Bool(false), "failed") }
        #expect(error.code == .timedOut)
    }

    @Test func anAvailableChunkIsNotTakenAfterTheDeadline() async throws {
        let ready = ReadyChunkSource(["a"])
        let late = raced(StalledReadSource(ready), deadline: Deadline(after: .seconds(-1), clock: clock))
        await #expect(throws: TransportError.self) { try await late.next() }
        #expect(ready.takeReadyChunk() == Data("a".utf8))
    }

    /// Stalls each read although chunks are available.
    private struct StalledReadSource: ReadyBodySource {
        let base: ReadyChunkSource
        init(_ base: ReadyChunkSource) { self.base = base }
        func takeReadyChunk() -> Data? { base.takeReadyChunk() }
        func next() async throws -> Data? { try await untilCancelled() }
        func abandon() {}
    }

    @Test func abandonmentAndFailureReachTheSource() {
        let ready = ReadyChunkSource([])
        let source = raced(ready)
        source.abandon()
        source.fail(with: TestError())
        #expect(ready.abandonments.value == 1 && ready.failures.value == 1)
    }
}
