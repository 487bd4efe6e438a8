import ArgumentParser
import ErrandCore
import ErrandFormats
import Foundation

/// Runs the vectors for the parser of event streams.
struct EventVectorsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sse-vectors", abstract: "Parses the vectors for event streams, divided at every byte.",
        usage: "conformance sse-vectors --vectors <file>",
        discussion: """
            The file has a JSON array of vectors: 'name', 'wire' (base64), 'events', 'retry' and 'streamLastEventId'. Each is parsed in two \
            pieces, cut at every place, and in pieces of 1, 2, 3 and 7 bytes. Each difference is a line; with one, the exit code is 1.
            """)

    @Option(help: ArgumentHelp("The JSON file of the vectors.", valueName: "file")) var vectors: String

    func run() throws {
        let suite = try JSONDecoder().decode([EventVector].self, from: Data(contentsOf: URL(fileURLWithPath: vectors)))
        let differences = suite.flatMap { $0.differences() }
        for difference in differences { print(difference) }
        print("\(SafeText.counted(suite.count, "vector")), \(differences.count) differ")
        if !differences.isEmpty || suite.isEmpty { throw ExitCode.failure }
    }
}

/// An event stream, and the expected result of reading it.
struct EventVector: Decodable {
    struct Event: Decodable, Equatable {
        var type: String
        var data: String
        var lastEventId: String
    }

    /// The result of reading a stream.
    struct Outcome {
        var events: [Event] = []
        /// In milliseconds.
        var retry: Int?
        var lastEventID = ""
    }

    let name: String
    let wire: Data
    let events: [Event]
    /// Compared only if it is present.
    let retry: Int?
    /// Compared only if it is present.
    let streamLastEventId: String?

    /// One line for each division of the stream with another result.
    func differences() -> [String] {
        var pieces = (0...wire.count).map { ("cut at \($0)", [wire.prefix($0), wire.dropFirst($0)]) }
        for size in [1, 2, 3, 7] {
            pieces.append(("in pieces of \(size)", stride(from: 0, to: wire.count, by: size).map { wire.dropFirst($0).prefix(size) }))
        }
        return pieces.compactMap { how, pieces in
            let outcome = Result { try Self.parse(pieces) }
            return (try? outcome.get()).map(isRight) == true ? nil : "\(name), \(how): \(outcome)"
        }
    }

    private func isRight(_ outcome: Outcome) -> Bool {
        outcome.events == events && retry.map { $0 == outcome.retry } != false
            && streamLastEventId.map { $0 == outcome.lastEventID } != false
    }

    private static func parse(_ pieces: [Data]) throws -> Outcome {
        var parser = EventStreamParser()
        var outcome = Outcome()
        for piece in pieces {
            parser.append(piece)
            while let item = try parser.next() {
                guard case .event(let event) = item else { continue }
                outcome.events.append(Event(type: event.type, data: event.data, lastEventId: event.lastEventID))
            }
        }
        outcome.retry = parser.reconnectionTime.map { Int($0 / .milliseconds(1)) }
        outcome.lastEventID = parser.lastEventID
        return outcome
    }
}
