import Dispatch
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct BlockingWorkTests {
    /// On Linux, the blocks of a concurrent queue take the threads of Swift's cooperative pool.
    @Test func hangingWorkBlocksNoTaskAndQueuesMoreWork() async throws {
        let (work, gate) = (BlockingWork(), DispatchSemaphore(value: 0))
        let (begun, ended) = (Watched<[Int]>([]), Counter())
        for number in 0..<16 {
            work.add {
                begun.change { $0.append(number) }
                if gate.wait(timeout: .now() + 20) == .success { ended.add(1) }
            }
        }
        // The time of the system's clock is tested: the pool must have a thread that serves the clock.
        let elapsed = try await ContinuousClock().measure { try await Task.sleep(for: .milliseconds(100)) }
        #expect(elapsed < .seconds(1))
        await eventually { begun.value.count == BlockingWork.width }
        #expect(begun.value.sorted() == Array(0..<BlockingWork.width))
        for number in BlockingWork.width..<16 {
            gate.signal()
            await eventually { begun.value.count == number + 1 }
            #expect(begun.value.last == number)
        }
        for _ in 0..<BlockingWork.width { gate.signal() }
        await eventually { ended.value == 16 }
    }

    @Test func aThreadThatHasBecomeFreeIsUsedAgain() async throws {
        for number in 0..<100 { #expect(try await BlockingWork.run { number } == number) }
        await #expect(throws: TestError.self) { try await BlockingWork.run { throw TestError() } }
        await #expect(throws: TestError.self) { try await BlockingWork.runUntilCancelled { throw TestError() } }
        #expect(try await BlockingWork.runUntilCancelled { 7 } == 7)
    }

    @Test func aTaskCancelledBeforehandGetsNoResult() async throws {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await BlockingWork.runUntilCancelled { 7 }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
