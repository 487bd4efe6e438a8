internal import Synchronization

/// How far a download or an upload has come.
///
/// ```swift
/// try await client.download(archive, to: url) { progress in
///     print(progress)                          // 1048576 of 4194304 bytes (25 %)
/// }
/// ```
///
/// The reports as a sequence, for a progress bar on the main actor:
///
/// ```swift
/// let (reports, continuation) = AsyncStream.makeStream(of: TransferProgress.self, bufferingPolicy: .bufferingNewest(1))
/// async let file = {
///     defer { continuation.finish() }
///     return try await client.download(archive, to: url) { continuation.yield($0) }
/// }()
/// for await progress in reports { bar.value = progress.fraction ?? 0 }
/// try await file
/// ```
public struct TransferProgress: Sendable, Hashable, CustomStringConvertible {
    /// The bytes that were sent or received so far: of the body alone, a download's after content decoding.
    public let bytes: Int64
    /// The bytes that there are in all. `nil` if that is not known: the body is sent in chunks without a length, or it was compressed. Once
    /// the transfer is complete, `total` is `bytes`.
    public let total: Int64?

    /// Creates a value.
    public init(bytes: Int64, total: Int64?) { (self.bytes, self.total) = (bytes, total) }

    /// The part that is done, from 0 to 1; `nil` if ``total`` is not known. An empty body is done.
    public var fraction: Double? {
        total.map { $0 > 0 ? min(1, max(0, Double(bytes) / Double($0))) : 1 }
    }

    /// `1048576 of 4194304 bytes (25 %)`, or `1048576 bytes` where the total is not known.
    public var description: String {
        guard let total, let fraction else { return "\(bytes) bytes" }
        return "\(bytes) of \(total) bytes (\(Int((fraction * 100).rounded(.down))) %)"
    }
}

/// Counts the bytes of a body and reports them, not too often.
final class ProgressMeter: Sendable {
    private struct State {
        var bytes: Int64 = 0
        var last: TransferProgress?
        var lastReport = Duration.zero
    }

    private let total: Int64?
    private let interval: Duration
    private let elapsed: @Sendable () -> Duration
    private let report: @Sendable (TransferProgress) -> Void
    private let state = Mutex(State())

    init(
        total: Int64?, interval: Duration, clock: any Clock<Duration>, _ report: @escaping @Sendable (TransferProgress) -> Void
    ) {
        (self.total, self.interval, elapsed, self.report) = (total, interval, stopwatch(clock), report)
    }

    /// Returns `interval`, and ends the process if it is negative: where the app gives it, as the meter of a request begins later.
    static func checked(_ interval: Duration) -> Duration {
        precondition(interval >= .zero, "interval must be at least zero (is \(interval.inWords))")
        return interval
    }

    /// Begins, once more if it has begun before.
    func begin(at offset: Int64 = 0) {
        let progress = TransferProgress(bytes: offset, total: total)
        let now = elapsed()
        state.withLock { state in
            (state.bytes, state.last, state.lastReport) = (offset, progress, now)
        }
        report(progress)
    }

    func record(_ event: BodyEvent) {
        switch event {
        case .opened(let offset): begin(at: offset)
        case .chunk(let chunk): add(Int64(chunk.count))
        case .end(let end, _): self.end(end)
        }
    }

    private func add(_ count: Int64) {
        let now = elapsed()
        let progress: TransferProgress? = state.withLock { state in
            state.bytes += count
            guard now - state.lastReport >= interval else { return nil }
            let progress = TransferProgress(bytes: state.bytes, total: total)
            (state.last, state.lastReport) = (progress, now)
            return progress
        }
        if let progress { report(progress) }
    }

    private func end(_ end: ExchangeLifetime.Outcome) {
        let progress: TransferProgress? = state.withLock { state in
            var total = total
            if case .complete = end { total = state.bytes }
            let progress = TransferProgress(bytes: state.bytes, total: total)
            guard progress != state.last else { return nil }
            state.last = progress
            return progress
        }
        if let progress { report(progress) }
    }
}

extension ResponseBody {
    /// Returns this body, and reports how much of it has been read.
    ///
    /// ```swift
    /// let body = response.body.reportingProgress { print($0) }
    /// let data = try await body.collect()
    /// ```
    ///
    /// Use the returned body; this one can no longer be read. The first report comes at once, with 0 bytes, the last at the end of the body, also
    /// where it breaks off, and others at most once in `interval`.
    ///
    /// - Parameters:
    ///   - interval: the shortest time between two reports; 100 ms by default. `.zero` reports each chunk.
    ///   - clock: what the time is measured by.
    ///   - report: is called in the reader's task and must not block.
    /// - Precondition: `interval` is at least zero.
    public consuming func reportingProgress(
        every interval: Duration = .milliseconds(100), clock: any Clock<Duration> = ContinuousClock(),
        _ report: @escaping @Sendable (TransferProgress) -> Void
    ) -> ResponseBody {
        let meter = ProgressMeter(total: expectedLength, interval: ProgressMeter.checked(interval), clock: clock, report)
        meter.begin()
        return observed { meter.record($0) }
    }
}

extension RequestBody {
    /// Returns this body, and reports how much of it the transport has taken.
    ///
    /// ```swift
    /// request.body = try .file(url).reportingProgress { print($0) }
    /// ```
    ///
    /// Each time that the body is sent, the reports begin anew with the offset that it is sent from: a retry or a redirect starts at 0 again. The
    /// last report comes at the end, also where the request breaks off, and others at most once in `interval`. An empty body reports nothing.
    /// Where the body is sent twice at once, by `hedge` or by two calls, each counts its own bytes, and `report` gets the reports of both.
    /// A request with such a body is not shared by `coalesce`.
    ///
    /// - Parameters:
    ///   - interval: the shortest time between two reports; 100 ms by default. `.zero` reports each chunk.
    ///   - clock: what the time is measured by.
    ///   - report: is called in the task that sends the body and must not block.
    /// - Precondition: `interval` is at least zero.
    public func reportingProgress(
        every interval: Duration = .milliseconds(100), clock: any Clock<Duration> = ContinuousClock(),
        _ report: @escaping @Sendable (TransferProgress) -> Void
    ) -> RequestBody {
        let interval = ProgressMeter.checked(interval)
        guard !isEmpty else { return self }
        return observed(byEach: { [length] in
            let meter = ProgressMeter(total: length, interval: interval, clock: clock, report)
            return { meter.record($0) }
        })
    }
}
