#if canImport(os)
#if Telemetry
public import Logging
internal import os

/// A handler of swift-log that writes to the system's log, `os.Logger`. Only Apple's platforms have this type.
///
/// Create a logger with `Logger(label: "http") { SystemLogHandler(subsystem: "com.example.notes", category: $0) }`, and pass the logger to
/// `log(to:)`. To write the records of all packages to the system's log, pass this closure to `LoggingSystem.bootstrap`.
///
/// **Privacy:** the log of this library replaces secrets before a record is written. Therefore the messages of this library's records are
/// public. The messages of other libraries, and the metadata of all records, are private: the system hides private text unless a debugger
/// is attached.
///
/// **Levels:** each level of swift-log has a type of the system's log:
/// - `trace` and `debug`: the type `debug`
/// - `info`: the type `info`
/// - `notice` and `warning`: the type `default`
/// - `error`: the type `error`
/// - `critical`: the type `fault`
///
/// By default, the system does not store records of the types `debug` and `info`.
///
/// **Text:** the message, and then the metadata as `key=value`. The system may cut off long records, such as records with bodies.
///
/// This code is type-checked against a copy of the interface of `os`, and has not run yet.
public struct SystemLogHandler: LogHandler {
    /// The lowest level that is written. Default: `info`.
    public var logLevel: Logging.Logger.Level = .info
    /// The metadata of all records.
    public var metadata: Logging.Logger.Metadata = [:]
    /// The source of metadata for each record; `nil` if the handler has no source.
    public var metadataProvider: Logging.Logger.MetadataProvider?

    private let logger: os.Logger

    /// Creates a handler.
    ///
    /// - Parameters:
    ///   - subsystem: the app or the framework, usually the bundle identifier: `com.example.notes`.
    ///   - category: the part of the app, usually the label of the logger.
    ///   - metadataProvider: the source of metadata for each record. Default: `nil`, no metadata.
    public init(subsystem: String, category: String, metadataProvider: Logging.Logger.MetadataProvider? = nil) {
        logger = os.Logger(subsystem: subsystem, category: category)
        self.metadataProvider = metadataProvider
    }

    /// The value of an item of ``metadata``.
    public subscript(metadataKey key: String) -> Logging.Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Writes a record to the system's log.
    public func log(event: LogEvent) {
        let record = SystemLogRecord(event, handlerMetadata: metadata, provided: metadataProvider?.get() ?? [:])
        let type = Self.type(of: event.level)
        // The privacy argument must be a constant.
        switch (record.isRedacted, record.metadata.isEmpty) {
        case (true, true): logger.log(level: type, "\(record.message, privacy: .public)")
        case (true, false):
            logger.log(level: type, "\(record.message, privacy: .public) \(record.metadata, privacy: .private)")
        case (false, true): logger.log(level: type, "\(record.message, privacy: .private)")
        case (false, false):
            logger.log(level: type, "\(record.message, privacy: .private) \(record.metadata, privacy: .private)")
        }
    }

    private static func type(of level: Logging.Logger.Level) -> OSLogType {
        switch level {
        case .trace, .debug: .debug
        case .info: .info
        case .notice, .warning: .default
        case .error: .error
        case .critical: .fault
        }
    }
}
#endif
#endif
