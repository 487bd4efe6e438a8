import ArgumentParser
import Foundation

/// Runs the public vectors for structured fields.
struct StructuredFieldsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "structured-fields", abstract: "Parses and serializes the public vectors for structured fields (RFC 9651).",
        usage: "conformance structured-fields --dir <folder>",
        discussion: """
            The folder has the JSON files of the test suite for structured fields, and its folder 'serialisation-tests'. Each difference is a \
            line; with one, the exit code is 1.
            """)

    @Option(help: ArgumentHelp("The folder of the vectors.", valueName: "folder")) var dir: String

    func run() throws {
        let report = try StructuredFieldSuite(folder: URL(fileURLWithPath: dir)).run()
        for difference in report.differences { print(difference) }
        print("\(report.parsed) parsed, \(report.serialized) serialized, \(report.differences.count) differ")
        if !report.differences.isEmpty || report.parsed == 0 { throw ExitCode.failure }
    }
}
