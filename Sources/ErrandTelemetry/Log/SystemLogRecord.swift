#if Telemetry
internal import Logging

/// The parts of a record for the system's log.
struct SystemLogRecord: Sendable {
    let message: String
    /// `key=value` for each item of the metadata, ordered by key; empty if there is no metadata.
    let metadata: String
    /// Whether this library has written the message, and has replaced the secrets.
    let isRedacted: Bool

    /// - Parameters:
    ///   - handlerMetadata: the metadata of the handler. The metadata of the provider and of the event replace items with the same key.
    ///   - provided: the metadata of the handler's provider.
    init(_ event: LogEvent, handlerMetadata: Logger.Metadata, provided: Logger.Metadata) {
        message = event.message.description
        let merged = handlerMetadata.merging(provided) { $1 }.merging(event.metadata ?? [:]) { $1 }
        metadata = merged.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map { "\($0.key)=\($0.value)" }.joined(
            separator: " ")
        isRedacted = event.source == Self.module
    }

    /// The source that swift-log sets in the records of this library: the name of the module.
    private static let module = "ErrandTelemetry"
}
#endif
