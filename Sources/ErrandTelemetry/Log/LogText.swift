#if Telemetry
/// The message of one record: a headline and its notes.
struct LogText {
    struct Note {
        /// The subject of a note, in a record with notes about both the request and the response.
        enum Side: String {
            case request = "> "
            case response = "< "
        }

        var title: String
        /// The lines of the note, without line ends.
        var lines: [String] = []
        /// The subject; `nil` for a note about the whole exchange.
        var side: Side?
    }

    var headline: String
    var notes: [Note] = []

    func laidOut(_ style: LogStyle) -> String {
        notes.reduce(into: headline) { text, note in
            switch style {
            case .oneLine: text += " | " + note.title + (note.lines.isEmpty ? "" : ": " + note.lines.joined(separator: "\\n"))
            case .pretty:
                text += "\n  " + (note.side?.rawValue ?? "") + note.title + (note.lines.isEmpty ? "" : ":")
                for line in note.lines {
                    text += "\n    "
                    text += line
                }
            }
        }
    }
}
#endif
