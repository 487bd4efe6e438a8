public import ErrandCore
internal import Synchronization

/// A transport without a network: it answers from a recording alone.
///
/// ```swift
/// let client = APIClient(try ReplayTransport(path: "Fixtures/users.har").server("https://api.example"))
/// ```
///
/// It takes files of browsers as well. A request that nothing answers fails with ``NoRecordedExchangeError``, which names the nearest
/// exchange and what differs. An exchange that failed when it was recorded fails again, with a ``TransportError``.
public final class ReplayTransport: HTTPTransport, CustomStringConvertible {
    /// How long a replay takes.
    public enum Timing: Sendable, Hashable {
        /// No time. The default.
        case none
        /// As long as the exchange took: head and chunks come when they came, by the recording's clock.
        case recorded
    }

    public let recording: Recording
    private let timing: Timing
    private let isShutDown = Mutex(false)

    /// - Parameter recording: what its file held when it was made; with the mode `all` that is nothing.
    public init(_ recording: Recording, timing: Timing = .none) { (self.recording, self.timing) = (recording, timing) }

    /// Reads the file at `path`.
    ///
    /// - Parameters:
    ///   - allowsRepeats: whether an exchange may answer more than once; see ``Recording``.
    ///   - clock: what is waited by, with the timing `recorded`.
    /// - Throws: ``InvalidRecordingError`` if there is no such file, or it is no HTTP archive.
    public convenience init(
        path: String, matching matcher: RecordingMatcher = .standard, allowsRepeats: Bool = false, timing: Timing = .none,
        clock: any Clock<Duration> = ContinuousClock()
    ) throws {
        guard FileManager.default.fileExists(atPath: path) else { throw InvalidRecordingError(path: path, reason: "there is no such file") }
        self.init(
            try Recording(path: path, mode: .none, matching: matcher, allowsRepeats: allowsRepeats, clock: clock), timing: timing)
    }

    public var capabilities: Capabilities { .streamingDownload }
    public var description: String { "ReplayTransport" }

    public func send(_ request: Request) async throws -> Response {
        guard !isShutDown.withLock({ $0 }) else { throw TransportError(.shutDown, phase: .request, request: request, delivery: .notSent) }
        return try await recording.replay(request, timing: timing)
    }

    public func shutdown() async throws { isShutDown.withLock { $0 = true } }
}
