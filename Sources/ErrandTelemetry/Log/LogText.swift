#if Telemetry
/// The message of one record: a headline, and notes about it.
struct LogText {
    struct Note {
        /// Whose note it is, in a record that has notes of both messages.
        enum Side: String {
            case request = "> "
            case response = "< "
        }

        var title: String
        /// Without line ends.
        var lines: [String] = []
        /// Nil for a note about the exchange as a whole.
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
