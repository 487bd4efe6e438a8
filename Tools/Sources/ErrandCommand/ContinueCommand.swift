import Errand

/// The command that continues the downloads or the uploads of this command, as a text for a shell, without secrets.
struct ContinueCommand: Equatable {
    /// The text of the command.
    let text: String
    /// Whether a placeholder is in the place of a secret.
    let hidesSecrets: Bool

    /// The options whose values may be secrets.
    private static let secretOptions: [String] = ["-u", "--user", "-U", "--proxy-user", "--oauth2-bearer"]
    private static let dropped: [String] = ["-C", "--continue-at", "--continue"]

    /// - Parameters:
    ///   - words: the arguments of this command, as ``ArgumentRewriter`` has rewritten them.
    ///   - insertion: the words after the subcommand, such as `-C -`.
    ///   - keeps: whether an argument that is not an option stays.
    init(words: [String], insertion: [String], keeps: (String) -> Bool) {
        var shown: [String] = ["errand"]
        var hides = false
        var rest = words[...]
        if let subcommand = rest.popFirst() { shown.append(subcommand) }
        shown += insertion
        func show(_ text: String, _ original: String) {
            if !text.isExactly(original) { hides = true }
            shown.append(Self.quoted(text))
        }
        var isAfterOptions = false
        while let word = rest.popFirst() {
            if isAfterOptions || !word.hasOctetPrefix("-") || word.isExactly("-") {
                if keeps(word) { show(Self.shownURL(word), word) }
                continue
            }
            if word.isExactly("--") {
                isAfterOptions = true
                shown.append(word)
                continue
            }
            let (name, joined) = word.cut(atOctet: UInt8(ascii: "="))
            let takesValue =
                name.hasOctetPrefix("--")
                ? OptionTable.longOptionsWithValues.contains(String(name.dropFirst(2)))
                : name.last.map(OptionTable.shortOptionsWithValues.contains) == true
            let value = takesValue ? joined ?? rest.popFirst() : nil
            if Self.dropped.contains(where: { $0.isExactly(name) }) { continue }
            guard let value else {
                shown.append(Self.quoted(word))
                continue
            }
            let text = Self.shownValue(value, of: name)
            if joined == nil {
                shown.append(name)
                show(text, value)
            } else {
                show("\(name)=\(text)", word)
            }
        }
        (self.text, hidesSecrets) = (shown.joined(separator: " "), hides)
    }

    private static func shownURL(_ text: String) -> String { Sensitivity.standard.redactedURL(text) }

    private static func shownValue(_ value: String, of name: String) -> String {
        let placeholder = Sensitivity.urlPlaceholder
        func isOption(_ names: String...) -> Bool { names.contains { $0.isExactly(name) } }
        if secretOptions.contains(where: { $0.isExactly(name) }) { return placeholder }
        if isOption("-H", "--header") {
            guard !value.hasOctetPrefix("@"), let line = try? HeaderLine(value), let text = line.value else { return value }
            return Sensitivity.standard.isSensitive(HTTPField(name: line.name, value: text)) ? "\(line.name): \(placeholder)" : value
        }
        if isOption("-b", "--cookie") {
            return value.containsOctet(UInt8(ascii: "=")) && !value.hasOctetPrefix("@") ? placeholder : value
        }
        if isOption("-q", "--query") {
            let (item, content) = value.cut(atOctet: UInt8(ascii: "="))
            return content != nil && Sensitivity.standard.isSensitive(queryName: item) ? "\(item)=\(placeholder)" : value
        }
        if isOption("-x", "--proxy") { return value.containsOctet(UInt8(ascii: "@")) ? placeholder : value }
        return isOption("-e", "--referer") ? shownURL(value) : value
    }

    /// A word in the form in which a shell reads it unchanged.
    static func quoted(_ word: String) -> String {
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+".utf8)
        guard word.isEmpty || !word.utf8.allSatisfy(plain.contains) else { return word }
        let parts = word.shownSafely(limit: 4000).utf8.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
        return "'\(parts.map { String(Substring($0)) }.joined(separator: #"'\''"#))'"
    }
}
