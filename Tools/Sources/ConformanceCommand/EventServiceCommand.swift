import ArgumentParser
import Errand
import Foundation

/// Serves the protocol with which an external test harness tests the event streams of a client.
struct EventServiceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sse-service", abstract: "Reads event streams for a test harness, which sends commands over HTTP.",
        usage: "conformance sse-service --port <port>",
        discussion: """
            It listens on 127.0.0.1. GET / lists its capabilities. POST / starts a client that reads 'streamUrl' and reports each event to \
            'callbackUrl'/1, /2, … POST to a client's URL commands it, DELETE stops it. DELETE / ends this program.
            """)

    @Option(help: "The port.") var port: Int

    func validate() throws {
        guard (1...65_535).contains(port) else { throw ValidationError("--port must be 1 to 65535 (is \(port))") }
    }

    func run() async throws { try await EventService(port: port).run() }
}
