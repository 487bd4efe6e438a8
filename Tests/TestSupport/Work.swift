import Foundation

/// How many times longer `work` takes for `factor` times as much, by this thread's processor time: about `factor` for linear work, its square for
/// quadratic work. The least of several runs counts, and what others do on the machine does not.
///
/// - Parameters:
///   - count: how much the smaller run has to do. Enough to take about a millisecond.
///   - work: called with `count` and with `factor * count`.
public func growth<Input>(
    of count: Int, by factor: Int = 8, making input: (Int) -> Input, _ work: (Input) -> Void
) -> Double {
    let (small, large) = (input(count), input(count * factor))
    work(small)  // what is made once is made before
    return time(3, work, large) / max(time(5, work, small), 50e-6)
}

private func time<Input>(_ runs: Int, _ work: (Input) -> Void, _ input: Input) -> Double {
    (0..<runs).map { _ in
        let start = processorTime()
        work(input)
        return processorTime() - start
    }.min() ?? 0
}

private func processorTime() -> Double {
    var now = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
    return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
}

/// What `work` returns on a thread with a stack of 512 KiB, as those are that do the work of tasks on Apple's systems.
public func onSmallStack<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        let thread = Thread { continuation.resume(returning: work()) }
        thread.stackSize = 512 * 1024
        thread.start()
    }
}
