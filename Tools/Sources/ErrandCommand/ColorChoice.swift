import ArgumentParser
import Foundation

/// When output is colored.
enum ColorChoice: String, ExpressibleByArgument, CaseIterable {
    /// On a terminal that shows colors, unless `NO_COLOR` is set and not empty (<https://no-color.org>).
    case auto
    case always
    case never

    /// - Parameters:
    ///   - isTerminal: whether the output is a terminal.
    ///   - environment: the variables, of which `NO_COLOR` and `TERM` are read.
    func isColored(isTerminal: Bool, environment: [String: String] = ProcessInfo.processInfo.environment) -> Bool {
        switch self {
        case .always: true
        case .never: false
        case .auto: isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
        }
    }
}
