import ArgumentParser
import Errand
import ErrandNIO
import Foundation
import Synchronization

struct EventsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events", abstract: "Reads an event stream, and connects again when it ends or is lost.",
        usage: "errand events [<options>] <url> [<item> ...]",
        discussion: """
            Each event is written as it arrives: the last event ID and its type, if there are any, its data, and an empty line. With \
            --data-only, only the data are written, a line or more for each event. An event has at most 16 MiB.

            When the stream ends or is lost, the command says so on standard error, waits, and connects again, as browsers do. The command \
            ends with a response 204, after --count events, after --max-reconnects connections without an event, or by Ctrl-C.
            """)

    @OptionGroup var arguments: RequestArguments
    @OptionGroup(title: "Event options") var events: EventOptions

    func validate() throws {
        let shown = arguments.shown
        let unused = [
            ("--output", shown.output != nil), ("--remote-name", shown.remoteName), ("--fail", shown.fail),
            ("--no-fail", shown.noFail), ("--progress-bar", shown.progressBar), ("--include", shown.include),
            ("--head", shown.head), ("--dump-header", shown.dumpHeader != nil), ("--profile", shown.profile),
            ("--write-out", shown.writeOut != nil), ("--retry", arguments.connection.retry > 0),
        ].filter(\.1).map(\.0)
        if let option = unused.first {
            throw ValidationError("\(option) has no meaning for events" + (option == "--retry" ? ". Use --max-reconnects" : ""))
        }
    }

    func run() async throws { try await RequestRun(arguments, method: events.method, subcommand: nil).run(events) }
}

/// The options for reading an event stream.
struct EventOptions: ParsableArguments {
    @Option(
        name: [.customShort("X"), .customLong("request")],
        help: ArgumentHelp("The method. By default GET, or POST with data.", valueName: "method")) var method: String?
    @Option(help: ArgumentHelp("Ends after this number of events, at least 1.", valueName: "count")) var count: Int?
    @Flag(help: "Writes only the data of each event.") var dataOnly = false
    @Option(help: ArgumentHelp("The ID of the event to begin after.", valueName: "id")) var lastEventId: String?
    @Option(
        help: ArgumentHelp(
            "The most reconnects in a row without an event. Unlimited by default; 0 never connects again.",
            valueName: "count")) var maxReconnects: Int?
    @Option(help: ArgumentHelp("The longest time without a byte; 300 by default.", valueName: "seconds")) var silence: Double?

    func validate() throws {
        if let lastEventId, !HTTPField.isValidValue(lastEventId) {
            throw ValidationError("--last-event-id must be one line of text without spaces around it")
        }
        if let count, count < 1 { throw ValidationError("--count must be at least 1 (is \(count))") }
        if let maxReconnects, maxReconnects < 0 { throw ValidationError("--max-reconnects must be at least 0 (is \(maxReconnects))") }
        if let silence, !(silence > 0 && silence < 1e9) {
            throw ValidationError("--silence must be more than 0 and less than 1000000000 seconds (is \(silence.shortText))")
        }
    }

    var policy: EventStreamPolicy {
        EventStreamPolicy(
            maxReconnects: maxReconnects, silenceTimeout: silence.map { .seconds($0) } ?? EventStreamPolicy.standard.silenceTimeout,
            eventLimitBytes: 16 * 1024 * 1024)
    }

    /// The text that is written for an event.
    ///
    /// - Parameter isForTerminal: whether characters that could steer a terminal are replaced.
    func text(of event: ServerSentEvent, isForTerminal: Bool = false) -> String {
        let text = text(of: event)
        guard isForTerminal else { return text }
        let shown = text.unicodeScalars.map { scalar -> Unicode.Scalar in
            scalar.steersTerminal && scalar != "\n" && scalar != "\t" ? "\u{FFFD}" : scalar
        }
        return String(String.UnicodeScalarView(shown))
    }

    private func text(of event: ServerSentEvent) -> String {
        if dataOnly { return event.data + "\n" }
        var text = event.lastEventID.isEmpty ? "" : "id: \(event.lastEventID)\n"
        if !event.type.isExactly(ServerSentEvent.defaultType) { text += "event: \(event.type)\n" }
        for line in event.data.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            text += "data: \(event.data[line.startIndex..<line.endIndex])\n"
        }
        return text + "\n"
    }
}

/// The messages about an event stream that connects again.
final class ReconnectNotice: Sendable {
    private let saysHowToStop = Atomic(true)

    /// The message for a state, if there is one. The first message says how to stop.
    func text(for state: EventStreamState) -> String? {
        guard case .waiting(_, let error) = state else { return nil }
        let reason = error.map { "\($0)" } ?? "the server has ended the stream"
        let text = "\(reason); \(state), then it connects again"
        guard saysHowToStop.exchange(false, ordering: .relaxed) else { return text }
        return text + ". Ctrl-C ends the command; with --max-reconnects 0, the end of the stream ends it"
    }
}
