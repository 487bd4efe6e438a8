internal import ErrandFormats

/// A pattern for the hosts of certificate pins: `a.example`, `*.a.example`, `**.a.example`.
struct PinPattern: Sendable, Hashable, CustomStringConvertible {
    enum Wildcard: String, Sendable {
        case absent = ""
        case oneLabel = "*."
        case anyLabels = "**."
    }

    let wildcard: Wildcard
    /// The host in its comparable form.
    let host: String

    /// Creates a pattern from text.
    ///
    /// - Throws: ``TLSSettingsError`` if the text is not a pattern.
    init(_ text: String) throws(TLSSettingsError) {
        let wildcard = [Wildcard.anyLabels, .oneLabel].first { text.hasPrefix($0.rawValue) } ?? .absent
        let host = text.dropFirst(wildcard.rawValue.count)
        guard !text.isEmpty else {
            throw TLSSettingsError(.emptyPattern, of: text, "the pattern is empty; write a host, *.host or **.host")
        }
        if let (parts, pattern) = Self.partsOfURL(in: text) {
            throw TLSSettingsError(.invalidPattern, of: text, "a pattern has no \(parts); write \"\(pattern)\"")
        }
        guard !host.isEmpty, !host.utf8.contains(UInt8(ascii: "*")) else {
            throw TLSSettingsError(.invalidPattern, of: text, "write a host, *.host for exactly one label, or **.host for any number")
        }
        self.host = try Host.comparable(written: host, in: text, .invalidPattern)
        self.wildcard = wildcard
        guard wildcard == .absent || !Host.isAddress(self.host) else {
            throw TLSSettingsError(.wildcardForAddress, of: text, "an address has no labels; write the whole address, without '*'")
        }
    }

    /// Returns the names of the parts that only a URL has, such as `scheme or port`, and the pattern without these parts.
    /// Returns `nil` if the text has no such part, or if the rest is not a pattern.
    private static func partsOfURL(in text: String) -> (parts: String, pattern: String)? {
        var parts: [String] = []
        var rest = text[...]
        if let scheme = rest.firstRange(of: "://") {
            parts.append("scheme")
            rest = rest[scheme.upperBound...]
        }
        let path = rest.firstIndex(of: "/")
        if let path { rest = rest[..<path] }
        // An IPv6 address has its own colons: at least two, or brackets around them.
        let colons = rest.indices.filter { rest[$0] == ":" }
        if let last = colons.last, colons.count == 1 || rest[..<last].hasSuffix("]"),
            rest[last...].dropFirst().utf8.allSatisfy(\.isASCIIDigit)
        {
            parts.append("port")
            rest = rest[..<last]
        }
        if path != nil { parts.append("path") }
        guard !parts.isEmpty, (try? PinPattern(String(rest))) != nil else { return nil }
        let all = parts.count == 3 ? "scheme, port or path" : parts.joined(separator: " or ")
        return (all, String(rest))
    }

    /// Returns whether the pattern matches a host.
    ///
    /// - Parameter other: the host, in its comparable form.
    func matches(_ other: String) -> Bool {
        switch wildcard {
        case .absent: other == host
        case .oneLabel: prefix(of: other).map { !$0.isEmpty && !$0.containsOctet(UInt8(ascii: ".")) } ?? false
        case .anyLabels: other == host || prefix(of: other).map { !$0.isEmpty } ?? false
        }
    }

    /// Returns the part of `other` that precedes a dot and the pattern's host; `nil` if `other` does not end with a dot and the host.
    private func prefix(of other: String) -> Substring? {
        other.hasOctetSuffix("." + host) ? Substring(other.utf8.dropLast(host.utf8.count + 1)) : nil
    }

    var description: String { wildcard.rawValue + host }
}
