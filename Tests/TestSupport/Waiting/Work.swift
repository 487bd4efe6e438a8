import Foundation

/// Returns how many times longer `work` takes for `factor` times the input, in processor time of this thread: about `factor` for linear
/// work, its square for quadratic work.
///
/// Other work on the machine is not measured, but slows this work down for a while, because it shares the caches and the cores.
/// So each round measures both inputs, one right after the other, and the lowest growth of a round counts. A growth of more than
/// twice `factor` is measured again, in up to six rounds.
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
    var lowest = Double.infinity
    for _ in 0..<6 where lowest >= 2 * Double(factor) {
        let shorter = time(5, work, small)
        lowest = min(lowest, time(3, work, large) / max(shorter, 50e-6))
    }
    return lowest
}

private func time<Input>(_ runs: Int, _ work: (Input) -> Void, _ input: Input) -> Double {
    (0..<runs).map { _ in
        let start = processorTime()
        work(input)
        return processorTime() - start
    }.min() ?? 0
}

/// Runs `work` on a thread with a stack of 512 KiB, which is the size of threads that run tasks on Apple's systems.
public func onSmallStack<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        let thread = Thread { continuation.resume(returning: work()) }
        thread.stackSize = 512 * 1024
        thread.start()
    }
}
