internal import Synchronization

/// The progress of a download or an upload.
///
/// ```swift
/// try await client.download(archive, to: url) { progress in
///     print(progress)                          // 1048576 of 4194304 bytes (25 %)
/// }
/// ```
///
/// `download` and `upload` call the closure on the actor of their caller, so a closure in a view can change the view's state directly.
/// The closure gets every report, in order. A slow closure does not slow the transfer, but the function returns after the last
/// report.
public struct TransferProgress: Sendable, Hashable, CustomStringConvertible {
    /// The bytes of the body that were sent or received so far. For a download, the bytes are counted after content decoding.
    public let bytes: Int64
    /// The total number of bytes; `nil` if the total is not known.
    ///
    /// The total is not known if the body is sent in chunks without a length, or if the body is compressed. When the transfer is complete,
    /// `total` equals `bytes`.
    public let total: Int64?

    /// Creates a progress.
    public init(bytes: Int64, total: Int64?) { (self.bytes, self.total) = (bytes, total) }

    /// The completed fraction, from 0 to 1; `nil` if ``total`` is not known. The fraction of an empty body is 1.
    public var fraction: Double? {
        total.map { $0 > 0 ? min(1, max(0, Double(bytes) / Double($0))) : 1 }
    }

    /// The progress in words: `1048576 of 4194304 bytes (25 %)`, or `1048576 bytes` if the total is not known.
    public var description: String {
        guard let total, let fraction else { return bytes.counted("byte") }
        return "\(bytes) of \(total.counted("byte")) (\(Int((fraction * 100).rounded(.down))) %)"
    }
}

/// Runs `operation`, and calls `progress` with each report of the operation, in order, on the caller's actor.
///
/// - Parameters:
///   - progress: gets each report. If `nil`, nothing is reported.
///   - operation: gets a function that takes a report and never waits. If `progress` is `nil`, the operation gets `nil`.
package func withProgress<Value: Sendable>(
    _ progress: ((TransferProgress) -> Void)?,
    _ operation: @concurrent @escaping @Sendable ((@Sendable (TransferProgress) -> Void)?) async throws -> Value
) async throws -> Value {
    guard let progress else { return try await operation(nil) }
    let (reports, continuation) = AsyncStream.makeStream(of: TransferProgress.self)
    async let value = {
        defer { continuation.finish() }
        return try await operation { continuation.yield($0) }
    }()
    for await report in reports { progress(report) }
    return try await value
}

/// A counter of the bytes of a body. Between the first and the last report, the counter reports at most once in each interval.
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
        self.total = total
        self.interval = interval
        elapsed = makeStopwatch(on: clock)
        self.report = report
    }

    /// Returns `interval`, and stops the process if `interval` is negative.
    ///
    /// Call this function where the app passes the interval, because the meter of a request is created later.
    static func checked(_ interval: Duration) -> Duration {
        precondition(interval >= .zero, "interval must be at least zero (is \(interval.inWords))")
        return interval
    }

    /// Begins the count at an offset. A second call starts the count again.
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
    /// Returns this body, and reports how much of the body has been read.
    ///
    /// ```swift
    /// let body = response.body.reportingProgress { print($0) }
    /// let data = try await body.collect()
    /// ```
    ///
    /// Use the returned body; this body can't be read any more. The first report comes immediately, with 0 bytes. The last report
    /// comes at the end of the body, even if the body ends too early. Between these two reports, at most one report comes in each
    /// `interval`.
    ///
    /// - Parameters:
    ///   - interval: the shortest time between two reports. Default: 100 ms. `.zero` reports each chunk.
    ///   - clock: the clock that measures the interval.
    ///   - report: called in the reader's task. The closure must not block.
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
    /// Returns this body, and reports how much of the body the transport has taken.
    ///
    /// ```swift
    /// request.body = try .file(url).reportingProgress { print($0) }
    /// ```
    ///
    /// Each time the body is sent, the reports begin again at the offset of the first byte that is sent. For a retry or a redirect, this
    /// offset is 0. The last report comes at the end, even if the request ends too early. Between the first report and the last report, at
    /// most one report comes in each `interval`. An empty body reports nothing.
    ///
    /// If `hedge` or two calls send the body twice at the same time, each sending counts its own bytes. `report` gets the reports
    /// of both sendings. `coalesce` does not share a request whose body reports its progress.
    ///
    /// - Parameters:
    ///   - interval: the shortest time between two reports. Default: 100 ms. `.zero` reports each chunk.
    ///   - clock: the clock that measures the interval.
    ///   - report: called in the task that sends the body. The closure must not block.
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
