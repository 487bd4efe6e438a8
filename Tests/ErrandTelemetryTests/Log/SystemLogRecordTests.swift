#if Telemetry
import Errand
import ErrandTesting
import Logging
import TestSupport
import Testing

@testable import ErrandTelemetry

/// What the handler for the system's log writes. The handler itself exists only on Apple's platforms.
@Suite(.timeLimit(.minutes(5))) struct SystemLogRecordTests {
    /// A handler that keeps the records for the system's log.
    private struct RecordHandler: LogHandler {
        let records: RecordingList<SystemLogRecord>
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]
        var metadataProvider: Logger.MetadataProvider?

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            records.record(SystemLogRecord(event, handlerMetadata: metadata, provided: metadataProvider?.get() ?? [:]))
        }
    }

    private let records = RecordingList<SystemLogRecord>()
    private var logger: Logger { Logger(label: "http") { _ in RecordHandler(records: records) } }

    @Test func theMessagesOfTheLogLayerAreRedacted() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.log(to: logger).server("https://a.example")
        _ = try await stack.send(Request(.get, "/notes?token=s3cr3t"))
        let record = try #require(records.all.first)
        #expect(records.all.count == 1 && record.isRedacted)
        #expect(record.message.hasPrefix("GET https://a.example/notes?token=REDACTED: 200"))
        #expect(record.metadata.contains("errand.request.id="))
    }

    @Test func aMessageOfTheAppIsNotRedacted() throws {
        logger.info("signed in as Ada")
        let record = try #require(records.all.first)
        #expect(!record.isRedacted && record.message == "signed in as Ada" && record.metadata.isEmpty)
    }

    @Test func theMetadataIsOrderedByKey() throws {
        var handler = RecordHandler(records: records)
        handler.metadata = ["b": "handler", "c": "handler", "d": "handler"]
        handler.metadataProvider = Logger.MetadataProvider { ["c": "provider", "d": "provider"] }
        let logger = Logger(label: "http") { _ in handler }
        logger.info("x", metadata: ["d": "event", "a": ["1", "2"]])
        #expect(records.all.first?.metadata == #"a=["1", "2"] b=handler c=provider d=event"#)
    }
}
#endif
