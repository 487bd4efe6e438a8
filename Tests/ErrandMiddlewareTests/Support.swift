import Errand
import ErrandTesting
import Logging
import Synchronization
import TestSupport
import Testing

/// Notes the names of those who pass, in order.
final class Passage: Sendable {
    private let names = Mutex<[String]>([])
    var all: [String] { names.withLock { $0 } }
    func note(_ name: String) { names.withLock { $0.append(name) } }
}

/// Notes each request on its way in, and each response on its way out.
struct RecordingMiddleware: HTTPMiddleware {
    let name: String
    let passage: Passage

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        passage.note("> \(name)")
        defer { passage.note("< \(name)") }
        return try await next.send(request)
    }
}

/// Keeps what is logged.
struct RecordingLogHandler: LogHandler {
    final class Lines: Sendable {
        struct Line: Sendable {
            let level: Logger.Level
            let text: String
            let metadata: [String: String]
        }
        private let lines = Mutex<[Line]>([])
        var all: [Line] { lines.withLock { $0 } }
        func add(_ line: Line) { lines.withLock { $0.append(line) } }
        /// Everything that was written, for a search.
        var everything: String { all.map { "\($0.text) \($0.metadata)" }.joined(separator: "\n") }
    }

    let lines: Lines
    var logLevel: Logger.Level = .trace
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        lines.add(
            Lines.Line(
                level: event.level, text: event.message.description, metadata: (event.metadata ?? [:]).mapValues { $0.description }))
    }
}

func recordingLogger(level: Logger.Level = .trace) -> (Logger, RecordingLogHandler.Lines) {
    let lines = RecordingLogHandler.Lines()
    var logger = Logger(label: "test") { _ in RecordingLogHandler(lines: lines) }
    logger.logLevel = level
    return (logger, lines)
}

func request(_ method: HTTPRequest.Method = .get, body: RequestBody = .empty) throws -> Request {
    try Request(method, url: "https://a.example/x", body: body)
}

/// A body of three chunks that is never whole before it is read.
let streamed = [Data("one".utf8), Data("two".utf8), Data("three".utf8)]

/// Returns when `condition` holds, or reports that it did not come to hold. For what gives no signal.
func eventually(_ condition: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async {
    do {
        try await poll("a condition", upTo: .seconds(30), value: condition) { $0 }
    } catch is CancellationError {
    } catch {
        Issue.record(error, sourceLocation: sourceLocation)
    }
}
