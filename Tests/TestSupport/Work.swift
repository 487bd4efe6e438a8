import Foundation

/// Returns how many times longer `work` takes for `factor` times the input, in processor time of this thread: about `factor` for linear
/// work, its square for quadratic work. The shortest of several runs counts. Other work on the machine is not measured, but it empties the caches of
/// the processor: a growth that is more than linear is measured again, up to six times.
///
/// - Parameters:
///   - count: the size of the smaller input; it should take about a millisecond.
///   - factor: how many times larger the larger input is; 8 by default.
///   - input: creates an input of a size.
///   - work: called with both inputs.
public func growth<Input>(
    of count: Int, by factor: Int = 8, making input: (Int) -> Input, _ work: (Input) -> Void
) -> Double {
    let (small, large) = (input(count), input(count * factor))
    work(small)  // to exclude what is only initialized once
    var (longer, shorter) = (Double.infinity, Double.infinity)
    for _ in 0..<6 {
        longer = min(longer, time(3, work, large))
        shorter = min(shorter, time(5, work, small))
        if longer / max(shorter, 50e-6) < 2 * Double(factor) { break }
    }
    return longer / max(shorter, 50e-6)
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

/// Runs `work` on a thread with a stack of 512 KiB, which is the size of threads that run tasks on Apple's systems.
public func onSmallStack<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        let thread = Thread { continuation.resume(returning: work()) }
        thread.stackSize = 512 * 1024
        thread.start()
    }
}
