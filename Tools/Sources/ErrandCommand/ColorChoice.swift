import ArgumentParser
import Foundation

/// When output is colored.
enum ColorChoice: String, ExpressibleByArgument, CaseIterable {
    /// On a terminal that shows colors, unless `NO_COLOR` is set to anything but nothing (<https://no-color.org>).
    case auto
    case always
    case never

    /// - Parameters:
    ///   - isTerminal: whether the output is one.
    ///   - environment: where `NO_COLOR` and `TERM` are looked up.
    func isColored(isTerminal: Bool, environment: [String: String] = ProcessInfo.processInfo.environment) -> Bool {
        switch self {
        case .always: true
        case .never: false
        case .auto: isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
        }
    }
}
