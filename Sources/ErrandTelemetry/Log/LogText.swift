#if Telemetry
/// One event: a headline, and what is noted below it.
struct LogText {
    struct Note {
        var title: String
        /// Without line ends.
        var lines: [String] = []
    }

    var headline: String
    var notes: [Note] = []

    func laidOut(_ style: LogStyle) -> String {
        notes.reduce(into: headline) { text, note in
            switch style {
            case .oneLine: text += " | " + note.title + (note.lines.isEmpty ? "" : ": " + note.lines.joined(separator: "\\n"))
            case .pretty:
                text += "\n  " + note.title + (note.lines.isEmpty ? "" : ":")
                for line in note.lines {
                    text += "\n    "
                    text += line
                }
            }
        }
    }
}
#endif
