public import ErrandCore
internal import Synchronization

/// A transport that uses no network, and returns only responses from a recording.
///
/// ```swift
/// let client = APIClient(try ReplayTransport(atPath: "Fixtures/users.har").server("https://api.example"))
/// ```
///
/// The transport also reads files that browsers export. A request that matches no exchange fails with ``NoRecordedExchangeError``,
/// which contains the most similar exchange and the differences. An exchange that failed when it was recorded fails again, with a
/// ``/ErrandCore/TransportError``.
public final class ReplayTransport: HTTPTransport, CustomStringConvertible {
    /// The time that a replay takes.
    public enum Timing: Sendable, Hashable {
        /// No time. The default.
        case none
        /// The time of the recorded exchange: the head and the chunks arrive at their recorded times, on the recording's clock.
        case recorded
    }

    /// The recording.
    public let recording: Recording
    private let timing: Timing
    private let isShutDown = Mutex(false)

    /// Creates a transport that replays the exchanges that were in the recording's file when the recording was created. In the mode `all`,
    /// the transport has no exchanges.
    public init(_ recording: Recording, timing: Timing = .none) { (self.recording, self.timing) = (recording, timing) }

    /// Creates a transport that replays the file at `path`.
    ///
    /// - Parameters:
    ///   - path: the path of the file.
    ///   - matching: the rules by which a recorded exchange matches a request. Default: method, URL and query.
    ///   - allowsRepeats: whether an exchange may be replayed more than once. Default: `false`. See ``Recording``.
    ///   - timing: the duration of a replay. Default: ``Timing/none``, no time.
    ///   - clock: the clock for the waits of a replay with the timing `recorded`.
    /// - Throws: ``InvalidRecordingError`` if the file is missing, can't be read, or isn't an HTTP archive.
    public convenience init(
        atPath path: String, matching matcher: RecordingMatcher = .standard, allowsRepeats: Bool = false, timing: Timing = .none,
        clock: any Clock<Duration> = ContinuousClock()
    ) throws {
        guard FileManager.default.fileExists(atPath: path) else { throw InvalidRecordingError(path: path, reason: "there is no such file") }
        self.init(
            try Recording(atPath: path, mode: .none, matching: matcher, allowsRepeats: allowsRepeats, clock: clock), timing: timing)
    }

    /// The transport streams response bodies, and returns their recorded trailer fields.
    public var capabilities: TransportCapabilities { [.streamingDownload, .trailers] }
    public var description: String { "ReplayTransport" }

    public func send(_ request: Request) async throws -> Response {
        guard !isShutDown.withLock({ $0 }) else { throw TransportError(.shutDown, phase: .request, request: request, delivery: .notSent) }
        return try await recording.replay(request, timing: timing)
    }

    /// Refuses later requests.
    public func shutdown() async throws { isShutDown.withLock { $0 = true } }
}
