import DemoServer
import Errand
import Foundation
import Logging
import Synchronization
import Testing

/// Runs `body` with the base URL of a demo server on a free port.
func withServer(_ body: @escaping @Sendable (_ server: URL) async throws -> Void) async throws {
    let ran: Void? = try await DemoServer.run { port in
        guard let server = URL(string: "http://127.0.0.1:\(port)/v1") else { return }
        try await body(server)
    }
    try #require(ran != nil)
}

/// Runs `body` with a file that holds `text`, and removes it.
func withFile(_ text: String, _ body: (_ file: URL) async throws -> Void) async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString).txt")
    try Data(text.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    try await body(file)
}

/// The error that `body` throws.
func failure<Value>(_ body: () async throws -> Value) async -> (any Error)? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error
    }
}

/// Keeps the messages of a log.
final class Lines: Sendable {
    private struct RecordingLinesHandler: LogHandler {
        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.messages.withLock { $0.append("\(event.message)") } }
    }

    private let messages = Mutex<[String]>([])

    var all: [String] { messages.withLock { $0 } }
    var logger: Logger { Logger(label: "examples") { _ in RecordingLinesHandler(lines: self) } }
}
