import ArgumentParser
import DemoServer
import Foundation

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serves a small demo API on this machine until it is interrupted.",
        usage: "errand serve [--port <port>]", discussion: "GET / lists what the server has.")
    @Option(name: .shortAndLong, help: "The port. By default, a free port.") var port: Int?

    func validate() throws {
        if let port, !(0...65_535).contains(port) { throw ValidationError("--port must be 0 to 65535 (is \(port))") }
    }

    func run() async throws {
        let port = port ?? 0
        let task = Task {
            try await DemoServer.run(port: port) { port in
                try? Terminal.write(Data("http://127.0.0.1:\(port)\n".utf8))
            }
        }
        Interrupt.whenItComes { task.cancel() }
        do {
            try await task.value
        } catch is CancellationError {
        } catch {
            Terminal.say("errand: cannot serve on port \(port): \(Self.reason(for: error))")
            throw ExitCode(6)
        }
    }

    private static func reason(for error: any Error) -> String {
        switch error {
        case let error as DemoServer.CannotListen where error.code == EADDRINUSE:
            "another program uses this port. Choose another port, or leave out --port for a free port"
        case let error as DemoServer.CannotListen where error.code == EACCES:
            "ports below 1024 need more privileges. Choose another port"
        default: "\(error)"
        }
    }
}
