/// A search for the secrets in a URL or a query, including its percent-encoded texts. The search replaces the secrets, and can collect
/// their values.
///
/// The search compares octets, because a combining character after a separator must not hide the separator.
struct URLSecrets {
    /// The number of levels of nested percent-encoding that are decoded.
    private static let escapeLevels = 3

    private let sensitivity: Sensitivity
    private let collectsValues: Bool
    /// The secret values, decoded. A value may occur more than once.
    private var values: [String] = []

    init(_ sensitivity: Sensitivity, collectsValues: Bool = false) {
        (self.sensitivity, self.collectsValues) = (sensitivity, collectsValues)
    }

    /// Returns the decoded values of the secrets in a URL or a query.
    ///
    /// The whole text is also decoded several times, because an escape may hide a separator between the parts of the URL.
    static func values(inURL url: String, by sensitivity: Sensitivity) -> [String] {
        var secrets = URLSecrets(sensitivity, collectsValues: true)
        _ = secrets.redactedURL(url[...])
        _ = secrets.redactedItems(of: url[...], levels: escapeLevels)
        var text = url
        for _ in 0..<escapeLevels where text.utf8.contains(UInt8(ascii: "%")) {
            text = PercentEncoding.decodedLeniently(text)
            secrets.collectValues(in: text[...])
        }
        return secrets.values
    }

    mutating func redactedURL(_ url: Substring) -> String { redactedURL(url, levels: Self.escapeLevels) }

    mutating func redactedQuery(_ query: Substring) -> String { redactedQuery(query, levels: Self.escapeLevels) }

    // MARK: Levels of escapes

    private mutating func redactedURL(_ url: Substring, levels: Int) -> String {
        if collectsValues { collectValues(in: url) }
        guard let mark = url.utf8.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
            return Credentials.removed(from: redactedPath(url, levels: levels))
        }
        let after = url.utf8.index(after: mark)
        return Credentials.removed(
            from: redactedPath(url[..<mark], levels: levels) + url[mark..<after] + redactedItems(of: url[after...], levels: levels))
    }

    private mutating func redactedQuery(_ query: Substring, levels: Int) -> String {
        if collectsValues { collectValues(in: query) }
        return redactedItems(of: query, levels: levels)
    }

    /// Returns a path with its secrets replaced. A path may contain an encoded URL with secrets, for example if the path
    /// belongs to a request to a proxy.
    private mutating func redactedPath(_ path: Substring, levels: Int) -> String {
        guard levels > 0, path.utf8.contains(UInt8(ascii: "%")) else { return String(path) }
        let plain = PercentEncoding.decodedLeniently(path)
        let redacted = redactedURL(plain[...], levels: levels - 1)
        return redacted.isExactly(plain) ? String(path) : PercentEncoding.encode(redacted, allowing: .shownURL)
    }

    private mutating func redactedItems(of query: Substring, levels: Int) -> String {
        guard query.utf8.contains(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: "%") }) else { return String(query) }
        var shown = ""
        var isSecret = false  // up to the end of the item
        for part in QueryParts(query) {
            if !isSecret {
                isSecret = self.isSecret(part)
                if isSecret {
                    shown += part.name + "=" + Sensitivity.urlPlaceholder
                } else {
                    shown += redactedEscapes(of: part.text, levels: levels)
                }
            }
            if let separator = part.separator.utf8.first, "&#".utf8.contains(separator) { isSecret = false }
            if !isSecret { shown += part.separator }
        }
        return shown
    }

    /// Returns a part of a query with its secrets replaced. The name of the part is not secret. The percent-encoded text of the part may
    /// contain a URL or a query with secrets.
    private mutating func redactedEscapes(of part: Substring, levels: Int) -> String {
        guard levels > 0, part.utf8.contains(UInt8(ascii: "%")) else { return String(part) }
        let value = part.utf8.firstIndex(of: UInt8(ascii: "=")).map { part.utf8.index(after: $0) } ?? part.startIndex
        let plain = PercentEncoding.decodedLeniently(part[value...])
        let isURL = plain.utf8.contains { "?#/\\@".utf8.contains($0) }
        var redacted = isURL ? redactedURL(plain[...], levels: levels - 1) : redactedQuery(plain[...], levels: levels - 1)
        // An item such as `state=token%3Dx` contains a query within a query.
        if isURL, !plain.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) {
            redacted = redactedItems(of: redacted[...], levels: 0)
        }
        return redacted.isExactly(plain) ? String(part) : part[..<value] + PercentEncoding.encode(redacted, allowing: .shownURL)
    }

    // MARK: One level

    private func isSecret(_ part: QueryParts.Part) -> Bool {
        part.value != nil && sensitivity.isSensitive(queryName: PercentEncoding.decodedLeniently(part.name))
    }

    /// Collects the secret values of a text. The encoded texts within this text are not searched.
    private mutating func collectValues(in text: Substring) {
        for part in QueryParts(text) where isSecret(part) {
            // In a `Link` field, the URL ends at the character `>`, before the end of the query item.
            let value = String(Substring((part.value ?? "").utf8.prefix { !"<>\" ".utf8.contains($0) }))
            values.append(PercentEncoding.decode(value) ?? value)
            // Some readers decode a plus as a space. Therefore both forms of the value are collected.
            if value.containsOctet(UInt8(ascii: "+")) { values += FormURLEncoded.decode("=" + value).compactMap(\.value) }
        }
        for userInfo in Credentials.userInfos(in: String(text)) {
            let password = userInfo.utf8.firstIndex(of: UInt8(ascii: ":")).map { userInfo[userInfo.utf8.index(after: $0)...] }
            values += [userInfo[...], password].compactMap { $0 }.map { PercentEncoding.decode($0) ?? String($0) }
        }
    }
}

/// The parts of a query between `&`, `#`, `?` and `;`, in order.
private struct QueryParts: Sequence, IteratorProtocol {
    struct Part {
        let text: Substring
        /// The separator after the part; empty at the end of the query.
        let separator: Substring
        /// The text before the first equals sign; the whole text if there is no equals sign.
        let name: Substring
        /// The text after the first equals sign; `nil` if there is no equals sign.
        let value: Substring?
    }

    private var rest: Substring?

    init(_ query: Substring) { rest = query }

    mutating func next() -> Part? {
        guard let query = rest else { return nil }
        let end = query.utf8.firstIndex(where: "&#?;".utf8.contains) ?? query.endIndex
        let after = end < query.endIndex ? query.utf8.index(after: end) : end
        rest = end < query.endIndex ? query[after...] : nil
        let text = query[..<end]
        let equals = text.utf8.firstIndex(of: UInt8(ascii: "="))
        return Part(
            text: text, separator: query[end..<after], name: text[..<(equals ?? end)],
            value: equals.map { text[text.utf8.index(after: $0)...] })
    }
}
