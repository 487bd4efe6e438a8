/// One run of a scenario under ``CancellationTorture``, which ended as it may.
public struct TortureRun<Value: Sendable>: Sendable, CustomStringConvertible {
    public enum Outcome: Sendable {
        /// It was cancelled, and threw `CancellationError`.
        case cancelled
        /// It was cancelled too late, or in passing: its result is right.
        case finished(Value)
        /// It was over before the k-th job.
        case uncancelled(Value)
    }

    /// The number of the job at which it was to be cancelled, from 1.
    public let jobNumber: Int
    public let moment: CancellationTorture.Moment
    public let outcome: Outcome
    /// How many jobs it had.
    public let jobs: Int
    /// How many of them came after the one at which it was cancelled, until its end; nil where it was not cancelled.
    public let lateJobs: Int?

    public var description: String {
        let end =
            switch outcome {
            case .cancelled: "cancelled"
            case .finished: "cancelled, but finished"
            case .uncancelled: "uncancelled"
            }
        return "\(moment) job \(jobNumber): \(end), \(jobs) jobs"
    }
}

/// What came of a scenario under ``CancellationTorture``.
public struct TortureReport<Value: Sendable>: Sendable, CustomStringConvertible {
    private let counts: TortureCounts
    /// The result of the last run, which nobody cancelled.
    public let value: Value
    /// How many jobs the last run had.
    public let jobs: Int

    init(counts: TortureCounts, value: Value, jobs: Int) { (self.counts, self.value, self.jobs) = (counts, value, jobs) }

    /// How often the scenario ran.
    public var runs: Int { counts.runs }
    /// Runs that threw `CancellationError`.
    public var cancelled: Int { counts.cancelled }
    /// Runs that were cancelled and had a right result nevertheless.
    public var finished: Int { counts.finished }
    /// The most jobs that a run had after the one at which it was cancelled. See ``CancellationTorture/lateJobs``.
    public var lateJobs: Int { counts.lateJobs }
    /// Runs that were over before it was time to cancel them.
    public var uncancelled: Int { counts.uncancelled }

    public var description: String {
        "\(runs) runs: \(cancelled) cancelled, \(finished) cancelled but finished, \(uncancelled) uncancelled, the last with \(jobs) jobs"
    }
}

struct TortureCounts: Sendable {
    var cancelled = 0
    var finished = 0
    var uncancelled = 0
    var lateJobs = 0

    var runs: Int { cancelled + finished + uncancelled }

    mutating func add<Value>(_ run: TortureRun<Value>) {
        lateJobs = max(lateJobs, run.lateJobs ?? 0)
        switch run.outcome {
        case .cancelled: cancelled += 1
        case .finished: finished += 1
        case .uncancelled: uncancelled += 1
        }
    }
}

/// A run under ``CancellationTorture`` did not end as it must.
public struct TortureError: Error, CustomStringConvertible {
    /// The number of the job at which the run was to be cancelled, from 1. For what is wrong with all runs together, that of the last run.
    public let jobNumber: Int
    public let moment: CancellationTorture.Moment
    /// What was wrong, as a phrase.
    public let what: String
    /// The error that the run, or the check after it, ended with; nil where it was none.
    public let underlying: (any Error)?
    /// False for what is wrong with all runs together: then the description names no job.
    var isOfOneRun = true

    public var description: String { isOfOneRun ? "cancelled \(moment) job \(jobNumber): \(what)" : what }
}
