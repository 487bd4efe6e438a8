public import ErrandCore

/// One valid run of a scenario under ``CancellationTorture``.
public struct TortureRun<Value: Sendable>: Sendable, CustomStringConvertible {
    /// The way in which a run ended.
    public enum Outcome: Sendable {
        /// The run was cancelled, and threw `CancellationError`.
        case cancelled
        /// The run was cancelled, but finished with a correct result.
        case finished(Value)
        /// The run ended before the k-th job.
        case uncancelled(Value)
    }

    /// The number of the job at which the procedure cancels the run, counted from 1.
    public let jobNumber: Int
    /// Whether the procedure cancels the run before or after the job ``jobNumber``.
    public let moment: CancellationTorture.Moment
    /// The way in which the run ended.
    public let outcome: Outcome
    /// The number of jobs.
    public let jobs: Int
    /// The number of jobs from the cancellation to the end of the run; `nil` if the run was not cancelled.
    public let lateJobs: Int?

    public var description: String {
        let end =
            switch outcome {
            case .cancelled: "cancelled"
            case .finished: "cancelled, but finished"
            case .uncancelled: "uncancelled"
            }
        return "\(moment) job \(jobNumber): \(end), \(jobs.counted("job"))"
    }
}

/// The summary of a scenario's runs under ``CancellationTorture``.
public struct TortureReport<Value: Sendable>: Sendable, CustomStringConvertible {
    private let counts: TortureCounts
    /// The result of the last run, which was not cancelled.
    public let value: Value
    /// The number of jobs in the last run.
    public let jobs: Int

    init(counts: TortureCounts, value: Value, jobs: Int) { (self.counts, self.value, self.jobs) = (counts, value, jobs) }

    /// The number of runs.
    public var runs: Int { counts.runs }
    /// The number of runs that threw `CancellationError`.
    public var cancelled: Int { counts.cancelled }
    /// The number of runs that were cancelled and still had a correct result.
    public var finished: Int { counts.finished }
    /// The largest number of jobs in a run after the job at which the run was cancelled. See ``CancellationTorture/lateJobs``.
    public var lateJobs: Int { counts.lateJobs }
    /// The number of runs that ended before they could be cancelled.
    public var uncancelled: Int { counts.uncancelled }

    public var description: String {
        "\(runs.counted("run")): \(cancelled) cancelled, \(finished) cancelled but finished, \(uncancelled) uncancelled, the last with "
            + jobs.counted("job")
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

/// The error of a run that failed under ``CancellationTorture``.
public struct TortureError: NumberedFailure, CustomStringConvertible {
    /// The number of the job at which the procedure cancels the run, counted from 1. If the problem concerns all runs, the value is the job
    /// number of the last run.
    public let jobNumber: Int
    /// Whether the procedure cancels the run before or after the job ``jobNumber``.
    public let moment: CancellationTorture.Moment
    /// The problem, as a phrase.
    public let what: String
    /// The error of the run, or of the check after the run; `nil` if neither threw an error.
    public let underlying: (any Error)?
    /// Whether the problem concerns only one run. If false, the problem concerns all runs together, and the description names no job.
    var isOfOneRun = true

    public var description: String { isOfOneRun ? "cancelled \(moment) job \(jobNumber): \(what)" : what }

    public var failureNumber: FailureNumber { .torture }
    /// The problem.
    public var failureReason: String? { SafeText.sentence(description) }
}
