import ArgumentParser
import Errand
import ErrandNIO

/// `conformance`: runs the library against public test data, and under load.
@main
struct ConformanceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conformance", abstract: "Shows what the library does with public test data, and under load.",
        subcommands: [ReplayCommand.self, SoakCommand.self])
}

/// A transport by its name.
enum TransportChoice: String, ExpressibleByArgument, CaseIterable, Sendable {
    case nio
    case asyncHTTPClient = "async-http-client"

    /// Creates a transport with its default settings.
    func make() -> any HTTPTransport {
        switch self {
        case .nio: NIOTransport()
        case .asyncHTTPClient: AsyncHTTPClientTransport()
        }
    }
}
