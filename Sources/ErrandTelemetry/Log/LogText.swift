#if Telemetry
/// The message of one record: a headline and its notes.
struct LogText {
    struct Note {
        /// The message that a note is about, in a record with notes about both the request and the response.
        enum Side: String {
            case request = "> "
            case response = "< "
        }

        var title: String
        /// Without line ends.
        var lines: [String] = []
        /// `nil` for a note about the exchange as a whole.
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
