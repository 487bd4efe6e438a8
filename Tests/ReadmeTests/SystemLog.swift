#if canImport(os)
import Logging
import os

/// Passes the records of swift-log on to the system's log.
nonisolated struct SystemLogHandler: LogHandler {
    private let logger: os.Logger
    var logLevel = Logging.Logger.Level.info
    var metadata: Logging.Logger.Metadata = [:]

    init(category: String) { logger = os.Logger(subsystem: "com.example.notes", category: category) }

    subscript(metadataKey key: String) -> Logging.Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let level: OSLogType =
            switch event.level {
            case .trace, .debug: .debug
            case .info: .info
            case .notice, .warning: .default
            case .error: .error
            case .critical: .fault
            }
        // A record of Errand has no secrets. Those of other libraries may have some: leave out `privacy` for them.
        logger.log(level: level, "\(event.message.description, privacy: .public)")
    }
}

nonisolated func systemLogger() -> Logging.Logger {
    Logging.Logger(label: "http") { SystemLogHandler(category: $0) }
}
#endif
