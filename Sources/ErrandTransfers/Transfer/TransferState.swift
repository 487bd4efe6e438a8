public import ErrandCore

/// The state of a transfer that resumes: its phase, its progress, and its rate.
///
/// ```swift
/// for await state in download.states {
///     progressView.fraction = state.progress.fraction ?? 0
///     label.text = state.description               // transferring, 4194304 of 8388608 bytes (50 %), 1.2 MB/s, 3.5 s left
/// }
/// ```
public struct TransferState: Sendable, CustomStringConvertible {
    /// The phase of a transfer.
    public enum Phase: Sendable, CustomStringConvertible {
        /// The transfer has not begun.
        case idle
        /// The transfer prepares or sends a request, or waits for the head of the response.
        case connecting
        /// Bytes of the content are transferred.
        case transferring
        /// The last request failed with this error. The next request is sent after this wait.
        case waiting(Duration, after: any Error)
        /// The app has paused the transfer.
        case paused
        /// All bytes have been transferred. The digest of the file is being compared.
        case verifying
        /// The transfer is complete.
        case complete
        /// The transfer failed. A new call may resume the transfer.
        case failed(any Error)

        /// Whether no further state follows until the app starts the transfer again.
        public var isFinal: Bool {
            switch self {
            case .complete, .failed: true
            case .idle, .connecting, .transferring, .waiting, .paused, .verifying: false
            }
        }

        /// The phase in words. The text contains no secrets if the description of the error contains none.
        public var description: String {
            switch self {
            case .idle: "idle"
            case .connecting: "connecting"
            case .transferring: "transferring"
            case .waiting(let wait, let error): "waiting \(wait.inWords) after: \(error)"
            case .paused: "paused"
            case .verifying: "verifying"
            case .complete: "complete"
            case .failed(let error): "failed: \(error)"
            }
        }
    }

    /// The phase.
    public let phase: Phase
    /// The bytes of the content that have been transferred, including the bytes of earlier runs.
    public let progress: TransferProgress
    /// The rate of the last seconds, in bytes per second. `nil` in the first 2 s of a connection, and while no bytes are transferred.
    public let bytesPerSecond: Double?

    init(_ phase: Phase, _ progress: TransferProgress, bytesPerSecond: Double? = nil) {
        (self.phase, self.progress, self.bytesPerSecond) = (phase, progress, bytesPerSecond)
    }

    /// The estimated time until the end. `nil` if the rate is zero, or if the rate or the total number of bytes is not known.
    public var timeLeft: Duration? {
        guard let bytesPerSecond, bytesPerSecond > 0, let total = progress.total else { return nil }
        return .seconds(min(Double(max(0, total - progress.bytes)) / bytesPerSecond, 1e9))
    }

    /// The phase, the progress, the rate and the estimated time.
    public var description: String {
        let rate = bytesPerSecond.map { ", \(TransferRate.inWords($0))" } ?? ""
        return "\(phase), \(progress)\(rate)\(timeLeft.map { ", \($0.inWords) left" } ?? "")"
    }
}

/// The states of a transfer. The sequence ends after the state `complete` or `failed`, or when the transfer object is released.
///
/// The sequence keeps only the newest state, so a slow reader misses states. While bytes are transferred, at most ten states arrive in a
/// second.
public struct TransferStates: AsyncSequence, Sendable {
    let values: AsyncStream<TransferMeter.Snapshot>

    /// The iterator of the states.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var values: AsyncStream<TransferMeter.Snapshot>.AsyncIterator
        var hasEnded = false

        /// Returns the next state; `nil` after the last state, and if the task is cancelled.
        public mutating func next() async -> TransferState? { await next(isolation: #isolation) }

        /// Returns the next state; `nil` after the last state, and if the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> TransferState? {
            guard !hasEnded, let state = await values.next(isolation: actor)?.state else { return nil }
            hasEnded = state.phase.isFinal
            return state
        }
    }

    /// Returns an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(values: values.makeAsyncIterator()) }
}
