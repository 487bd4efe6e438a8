import Errand

/// Recognizes a misspelt subcommand, which the parser takes for a URL.
enum Misspelling {
    static let subcommands = [
        "send", "get", "post", "put", "patch", "delete", "head", "events", "download", "upload", "auth", "cache", "serve", "tour", "help",
    ]
    /// The subcommands that are named as their method.
    static let methods = ["get", "post", "put", "patch", "delete", "head"]
    /// The subcommands of a subcommand.
    static let groups = ["auth": ["login", "status", "logout"], "cache": ["list", "show", "remove", "clear", "stats"]]

    /// The message for too many arguments, if the first argument is a word that names no subcommand. `nil` otherwise.
    static func hint(for arguments: [String]) -> String? {
        guard let word = arguments.first, isWord(word) else { return nil }
        if let group = groups[word], let second = arguments.dropFirst().first, !group.contains(second) {
            return "'errand \(word)' has no subcommand '\(second.shownSafely())'; it has \(group.joined(separator: ", "))"
        }
        guard !subcommands.contains(word) else { return nil }
        let near = nearest(to: word)
        if !near.isEmpty {
            return "there is no subcommand '\(word)'; did you mean \(near.map { "'\($0)'" }.joined(separator: " or "))?"
        }
        return "there is no subcommand '\(word)'; the subcommands are \(subcommands.joined(separator: ", ")). "
            + "Other methods: errand -X \(word.uppercased()) <url>"
    }

    /// Whether a text has only letters. A host with several labels, a port or a path is not a word.
    private static func isWord(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) }
    }

    /// The subcommands with the fewest changes from `word`, if the changes are few for the length of the word.
    static func nearest(to word: String) -> [String] {
        guard isWord(word), word.utf8.count <= 20 else { return [] }
        let (near, changes) = EditDistance.nearest(to: word, among: subcommands)
        return changes <= max(1, word.count / 3) ? near : []
    }
}
