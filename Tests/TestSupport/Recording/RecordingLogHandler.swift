public import Logging
internal import Synchronization

/// A log handler that keeps its messages.
public struct RecordingLogHandler: LogHandler {
    public final class Lines: Sendable {
        public struct Line: Sendable {
            public let level: Logger.Level
            public let text: String
            public let metadata: [String: String]
        }

        private let lines = Mutex<[Line]>([])

        public var all: [Line] { lines.withLock { $0 } }
        /// All messages and metadata, as text to search in.
        public var everything: String { all.map { "\($0.text) \($0.metadata)" }.joined(separator: "\n") }

        fileprivate func add(_ line: Line) { lines.withLock { $0.append(line) } }
    }

    fileprivate let lines: Lines
    public var logLevel: Logger.Level = .trace
    public var metadata: Logger.Metadata = [:]

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        lines.add(
            Lines.Line(
                level: event.level, text: event.message.description, metadata: (event.metadata ?? [:]).mapValues { $0.description }))
    }
}

/// Returns a logger for messages from `level` on, and what it has written.
public func recordingLogger(level: Logger.Level = .trace) -> (Logger, RecordingLogHandler.Lines) {
    let lines = RecordingLogHandler.Lines()
    var logger = Logger(label: "test") { _ in RecordingLogHandler(lines: lines) }
    logger.logLevel = level
    return (logger, lines)
}
