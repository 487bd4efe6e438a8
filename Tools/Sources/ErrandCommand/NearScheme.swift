/// Recognizes a URL with a misspelt scheme, such as `https:/a.example`. If the command added `http://` to such a URL, the scheme would
/// become the host. The rest of the URL, with any password, would be sent to that host.
enum NearScheme {
    /// The problem with the scheme of `url`; `nil` if the URL has a valid scheme or no scheme. The text shows no part of the URL.
    static func problem(of url: String) -> String? {
        let text = url.unicodeScalars.drop { $0.properties.isWhitespace || $0.properties.generalCategory == .format }
        let octets = Array(String(text).utf8)
        let end = octets.firstIndex { ":/\\?#".utf8.contains($0) } ?? octets.count
        guard end > 0 else { return nil }
        // `https;//` and `https.//` are typing errors.
        let word = String(decoding: octets[..<end].reversed().drop { ";.,".utf8.contains($0) }.reversed(), as: UTF8.self).lowercased()
        let rest = octets[end...]
        guard !rest.starts(with: "://".utf8) || word.utf8.count != end else { return nil }
        let scheme = scheme(near: word)
        if word.isExactly("http") || word.isExactly("https") { return misspelt(word) }
        // A slash after a colon is a typing error: after a host and its colon, a port must come before the path.
        if rest.starts(with: ":/".utf8) || rest.starts(with: #":\"#.utf8) {
            return scheme.map(misspelt) ?? "a URL begins with a scheme and '://', as in https://a.example/, or with a host"
        }
        return rest.starts(with: "//".utf8) || rest.first == UInt8(ascii: "\\") ? scheme.map(misspelt) : nil
    }

    private static func misspelt(_ scheme: String) -> String {
        "its scheme is misspelt; write '\(scheme)://' before the host. A host that is named '\(scheme)' needs a scheme before its name: "
            + "http://\(scheme)/"
    }

    private static func scheme(near word: String) -> String? {
        guard word.utf8.count <= 8 else { return nil }
        let (near, changes) = EditDistance.nearest(to: word, among: ["http", "https"])
        return changes <= 1 ? near.first : nil
    }
}
