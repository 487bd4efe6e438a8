import ArgumentParser
import DemoServer
import Foundation

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serves a small demo API on loopback until it is interrupted; GET / lists what it has.")
    @Option(name: .shortAndLong, help: "The port; a free one unless given.") var port = 0

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("\(port) is no port") }
    }

    func run() async throws {
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
            Terminal.say("errand: cannot serve on port \(port): \(error)")
            throw ExitCode(6)
        }
    }
}
