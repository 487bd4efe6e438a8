import ArgumentParser
import Errand
import Foundation

/// `errand`: the library's first user.
@main
struct ErrandCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "errand",
        abstract: "Runs an errand over HTTP.",
        discussion: """
            Flags are curl's where curl has them: errand -L -H 'Accept: text/plain' -o page.txt https://a.example/

            Exit status: 0 for 2xx and 3xx, 4 for 4xx, 5 for 5xx, 6 when there was no answer, 64 for usage, 130 when interrupted (143 when killed), \
            141 when whoever reads the output has gone.
            """,
        version: "0.1.0",
        subcommands: [
            SendCommand.self, GetCommand.self, PostCommand.self, PutCommand.self, PatchCommand.self, DeleteCommand.self, HeadCommand.self,
            ServeCommand.self, TourCommand.self,
        ],
        defaultSubcommand: SendCommand.self)

    static func main() async {
        // Whoever reads the output may go at any time; writing then fails with EPIPE instead of killing the process unseen.
        signal(SIGPIPE, SIG_IGN)
        Interrupt.listen()
        await Self.main(nil)
    }
}

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Sends a request; the method is told by -X, or by what is sent. The default.")
    @OptionGroup var arguments: RequestArguments
    @Option(name: [.customShort("X"), .customLong("request")], help: "The method.") var method: String?

    func run() async throws { try await RequestRun(arguments, method: method).run() }
}

struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "get", abstract: "GET a URL.")
    @OptionGroup var arguments: RequestArguments
    func run() async throws { try await RequestRun(arguments, method: "GET").run() }
}

struct PostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "post", abstract: "POST to a URL.")
    @OptionGroup var arguments: RequestArguments
    func run() async throws { try await RequestRun(arguments, method: "POST").run() }
}

struct PutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "put", abstract: "PUT to a URL.")
    @OptionGroup var arguments: RequestArguments
    func run() async throws { try await RequestRun(arguments, method: "PUT").run() }
}

struct PatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "patch", abstract: "PATCH a URL.")
    @OptionGroup var arguments: RequestArguments
    func run() async throws { try await RequestRun(arguments, method: "PATCH").run() }
}

struct DeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "delete", abstract: "DELETE a URL.")
    @OptionGroup var arguments: RequestArguments
    func run() async throws { try await RequestRun(arguments, method: "DELETE").run() }
}

struct HeadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "head", abstract: "HEAD of a URL: its status and fields.")
    @OptionGroup var arguments: RequestArguments
    func run() async throws { try await RequestRun(arguments, method: "HEAD").run() }
}
