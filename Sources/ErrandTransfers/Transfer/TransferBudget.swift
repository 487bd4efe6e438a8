internal import ErrandCore

/// Counts the failures of a transfer without progress, and the starts from the first byte.
struct TransferBudget: Sendable {
    /// The number of new bytes that resets the count of failures: 64 KiB.
    static let progressBytes: Int64 = 64 * 1024
    /// The largest number of starts from the first byte after the first start.
    static let maxRestarts = 5

    private let maxFailures: Int
    private(set) var failures = 0
    private(set) var restarts = 0
    private var progress: Int64 = 0

    init(maxFailures: Int) { self.maxFailures = maxFailures }

    /// Records bytes that have arrived.
    mutating func record(_ bytes: Int64) {
        progress += bytes
        if progress >= Self.progressBytes { (failures, progress) = (0, 0) }
    }

    /// Records a failure. Returns whether the transfer may continue.
    mutating func fail() -> Bool {
        failures += 1
        return failures <= maxFailures
    }

    /// Records a start from the first byte. Returns whether the transfer may continue.
    mutating func restart() -> Bool {
        restarts += 1
        return restarts <= Self.maxRestarts
    }
}
