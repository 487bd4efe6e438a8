import ArgumentParser
import Errand
import Foundation

/// The command `errand`.
@main
struct ErrandCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "errand",
        abstract: "Sends HTTP requests and shows the responses.",
        usage: """
            errand [<options>] <url> [<item> ...]
            errand <subcommand> [<options>] <url> [<item> ...]
            """,
        discussion: """
            Without a subcommand, the method is GET, or POST if there is data to send. Options that curl has, too, have curl's \
            names. 'errand send --help' lists all options. Values can be joined to short options (-XPOST), and options can stand before \
            the subcommand. Items are those of httpie: name=text, name:=json, name==value, Name:value.

            EXAMPLES:
              errand -L https://a.example/page -o page.html
              errand post https://a.example/notes -j text='Buy tea'
              errand https://a.example/notes text='Buy tea' done:=false X-Tag:home
              errand :8080/health       is short for http://localhost:8080/health

            EXIT STATUS:
              0     The status of the response is below 400.
              4     The status of the response is 4xx.
              5     The status of the response is 5xx.
              6     There is no response, or only a part of it, or the whole
                    body in place of the part that -r asks for. With
                    --cache, also if only-if-cached finds no response.
              23    The output can't be written.
              64    The arguments are invalid.
              129   The terminal was closed.
              130   Ctrl-C interrupted the command. 143: kill ended it.
              141   The reader of the output closed the pipe.

            Curl ends with 0 for a status of 400 or more. --no-fail does the same.
            """,
        version: "0.1.0",
        subcommands: [
            SendCommand.self, GetCommand.self, PostCommand.self, PutCommand.self, PatchCommand.self, DeleteCommand.self, HeadCommand.self,
            EventsCommand.self, DownloadCommand.self, UploadCommand.self, AuthCommand.self, CacheCommand.self, ServeCommand.self,
            TourCommand.self,
        ],
        defaultSubcommand: SendCommand.self)

    static func main() async {
        // The reader of the output may close the pipe at any time. Without the signal, writing fails with EPIPE, which the command can
        // report.
        signal(SIGPIPE, SIG_IGN)
        // If a standard descriptor is closed, a file that the command opens would become standard input, output or error.
        for descriptor in 0...2 as ClosedRange<Int32> where fcntl(descriptor, F_GETFD) < 0 { _ = open("/dev/null", O_RDWR) }
        Interrupt.listen()
        do {
            var command = try parsed(Array(CommandLine.arguments.dropFirst()))
            let configuration = type(of: command).configuration
            do {
                if var waiting = command as? any AsyncParsableCommand { try await waiting.run() } else { try command.run() }
            } catch let error as ValidationError {
                // The parser would show the usage of the whole command.
                Terminal.say(usageError(error.message, of: configuration))
                throw ExitCode(64)
            }
        } catch {
            exit(withError: error)
        }
    }

    private static func parsed(_ arguments: [String]) throws -> any ParsableCommand {
        var arguments = arguments
        func fail(_ text: String) -> ExitCode {
            Terminal.say(usageError(text, of: configuration))
            return ExitCode(64)
        }
        func failOfSubcommand(_ text: String) -> ExitCode {
            Terminal.say(usageError(text, of: Self.configuration(for: arguments)))
            return ExitCode(64)
        }
        let command: any ParsableCommand
        do {
            arguments = try ArgumentRewriter.rewritten(arguments)
            if let problem = UnknownOption.problem(in: arguments) { throw failOfSubcommand(problem) }
            command = try parseAsRoot(arguments)
        } catch let error as ValidationError {
            throw fail(error.message)
        } catch let code as ExitCode {
            throw code
        } catch {
            let text = message(for: error)
            if text.lowercased().contains("unexpected argument"), let hint = Misspelling.hint(for: arguments) { throw fail(hint) }
            if text.contains("Unknown option '-X'"), let name = arguments.first, Misspelling.methods.contains(name) {
                throw fail("'errand \(name)' sends \(name.uppercased()). For another method, write errand -X METHOD <url>")
            }
            // The option belongs to another subcommand. The parser would suggest any option with a similar length.
            if let match = text.firstMatch(of: #/^Unknown option '(-[^']+)'/#) {
                throw failOfSubcommand(UnknownOption.message(for: String(match.1), isKnown: true))
            }
            if text.hasPrefix("Missing expected argument '<url>'"), let option = UnknownOption.optionWithURL(in: arguments) {
                throw failOfSubcommand("the URL is missing: \(option) took the URL as its value")
            }
            throw error
        }
        // 'gett a.example:8080': the word would be the URL, and the URL would be a header field.
        guard let request = (command as? SendCommand)?.arguments, !request.items.isEmpty, !request.url.isExactlyIgnoringCase("localhost"),
            let hint = Misspelling.hint(for: [request.url])
        else { return command }
        let areItems = (try? request.requestItems) != nil
        throw fail(hint + (areItems ? ". Before an item, write a host of that name as http://\(request.url)" : ""))
    }

    /// The configuration of the subcommand that arguments name, or else of `send`.
    private static func configuration(for arguments: [String]) -> CommandConfiguration {
        for subcommand in configuration.subcommands {
            let own = subcommand.configuration
            if own.commandName == arguments.first { return own }
        }
        return SendCommand.configuration
    }

    /// A message in the form in which the parser writes messages.
    private static func usageError(_ message: String, of subcommand: CommandConfiguration) -> String {
        let usage = (subcommand.usage ?? "").replacing("\n", with: "\n       ")
        let names = [configuration.commandName ?? "", subcommand.commandName ?? ""]
        // The usage of a nested subcommand begins with its whole name. The usage of a group begins with the name of its first subcommand.
        let path = usage.prefix { $0 != "[" && $0 != "<" }.trimmingCharacters(in: .whitespaces)
        let isWhole = path.split(separator: " ").last.map(String.init) == names[1]
        let name = isWhole ? path : names.joined(separator: " ")
        return "Error: \(message)\nUsage: \(usage)\n  See '\(name) --help' for more information."
    }
}

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Sends a request with any method.",
        usage: "errand [<options>] <url> [<item> ...]")
    @OptionGroup var arguments: RequestArguments
    @Option(
        name: [.customShort("X"), .customLong("request")],
        help: ArgumentHelp("The method. By default GET, or POST with data, or PUT with -T.", valueName: "method")) var method: String?

    func run() async throws { try await RequestRun(arguments, method: method, subcommand: nil).run() }
}

struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "Sends a GET request.", usage: "errand get [<options>] <url> [<item> ...]")
    @OptionGroup var arguments: RequestArguments
    func run() async throws { try await RequestRun(arguments, subcommand: "get").run() }
}

struct PostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "post", abstract: "Sends a POST request.", usage: "errand post [<options>] <url> [<item> ...]")
    @OptionGroup var arguments: RequestArguments
    func run() async throws { try await RequestRun(arguments, subcommand: "post").run() }
}

struct PutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Sends a PUT request.", usage: "errand put [<options>] <url> [<item> ...]")
    @OptionGroup var arguments: RequestArguments
    func run() async throws { try await RequestRun(arguments, subcommand: "put").run() }
}

struct PatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "patch", abstract: "Sends a PATCH request.", usage: "errand patch [<options>] <url> [<item> ...]")
    @OptionGroup var arguments: RequestArguments
    func run() async throws { try await RequestRun(arguments, subcommand: "patch").run() }
}

struct DeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Sends a DELETE request.", usage: "errand delete [<options>] <url> [<item> ...]")
    @OptionGroup var arguments: RequestArguments
    func run() async throws { try await RequestRun(arguments, subcommand: "delete").run() }
}

struct HeadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "head", abstract: "Sends a HEAD request and shows the status and the header fields.",
        usage: "errand head [<options>] <url> [<item> ...]")
    @OptionGroup var arguments: RequestArguments
    func run() async throws { try await RequestRun(arguments, subcommand: "head").run() }
}
