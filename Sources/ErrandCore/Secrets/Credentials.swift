/// A search for credentials in URLs, and in text that may contain URLs. Every byte is examined a bounded number of times.
enum Credentials {
    private static let shown = Array(Sensitivity.userInfoPlaceholder.utf8)

    /// Returns `text` with the user information of every authority replaced.
    ///
    /// An authority begins after `//`, `\\` or `http:/` and any further slashes, or at the start of a text such as
    /// `joe:password@host`. The authority ends with a slash, a question mark, a number sign or an octet that is invalid in a URL.
    /// A password may contain one of these octets, as in `//joe:pa/ss@host`. Then the authority seems to be `joe:pa`, and `pa` is not a
    /// valid port. Therefore, after an invalid port, all text up to the last at sign of the line is replaced.
    static func removed(from text: String) -> String {
        let text = withASCIIAtSigns(text)
        guard text.utf8.contains(UInt8(ascii: "@")) else { return text }
        let bytes = Array(text.utf8)
        let edits = userInfos(in: bytes).compactMap { found in found.replaced.map { ByteEdit($0, shown) } }
        return edits.isEmpty ? text : String(decoding: edits.applied(to: bytes), as: UTF8.self)
    }

    /// Returns the user-info parts of the URLs in `text`, without decoding. If it is unclear where a password ends, the part is returned
    /// once for each possible end.
    static func userInfos(in text: String) -> [String] {
        let plain = withASCIIAtSigns(text)
        let texts = plain.isExactly(text) ? [text] : [text, plain]
        return texts.filter { $0.utf8.contains(UInt8(ascii: "@")) }.map { Array($0.utf8) }.flatMap { bytes in
            userInfos(in: bytes).map { String(decoding: bytes[$0.range], as: UTF8.self) }
        }
    }

    /// Returns one invalid URL without credentials: everything from its first colon or double slash to its last at sign is replaced.
    static func removed(fromInvalidURL text: String) -> String {
        let bytes = Array(withASCIIAtSigns(text).utf8)
        guard let at = bytes.lastIndex(of: UInt8(ascii: "@")) else { return text }
        let slashes = bytes.firstRange(of: "//".utf8)?.lowerBound ?? at
        var start = min(bytes.firstIndex(of: UInt8(ascii: ":")) ?? at, slashes)
        let isPath = bytes.first.map { isSlash($0) || "?#".utf8.contains($0) } ?? true
        // The text before the colon is a scheme or a user name.
        let isScheme = ["http", "https"].contains(where: String(decoding: bytes[..<start], as: UTF8.self).isExactlyIgnoringCase)
        if start >= at || (!isPath && !isScheme) {
            if isPath { return text }
            start = 0
        }
        while start < at, bytes[start] == UInt8(ascii: ":") || isSlash(bytes[start]) { start += 1 }
        return String(decoding: bytes[..<start] + shown + bytes[at...], as: UTF8.self)
    }

    /// Returns `url` with "…" instead of the text after the bracket at the beginning of its authority, if this text can't be an address.
    static func withoutInvalidAddress(_ url: String) -> String {
        let bytes = Array(url.utf8)
        let authority = authority(of: bytes)
        guard bytes[authority].first == UInt8(ascii: "["), !Host.looksLikeAddress(bytes[authority]) else { return url }
        return String(decoding: bytes[...authority.lowerBound] + Array("…".utf8) + bytes[authority.upperBound...], as: UTF8.self)
    }

    /// Returns the range of the authority. A text without slashes begins with its authority.
    private static func authority(of bytes: [UInt8]) -> Range<Int> {
        let start = bytes.firstRange(of: "//".utf8)?.upperBound ?? 0
        return start..<(bytes[start...].firstIndex(where: isEnd) ?? bytes.count)
    }

    /// Returns `url` with "…" instead of the port of its authority.
    static func withoutPort(_ url: String) -> String {
        let bytes = Array(url.utf8)
        let (start, end) = (authority(of: bytes).lowerBound, authority(of: bytes).upperBound)
        guard let colon = bytes[start..<end].lastIndex(of: UInt8(ascii: ":")) else { return url }
        return String(decoding: bytes[...colon] + Array("…".utf8) + bytes[end...], as: UTF8.self)
    }

    /// Returns whether `text` contains an at sign of any kind, escaped or not.
    static func mayStand(in text: String) -> Bool {
        withASCIIAtSigns(PercentEncoding.decodedLeniently(text)).utf8.contains(UInt8(ascii: "@"))
    }

    /// Returns `text` with each non-ASCII at sign replaced by `@`, because some parsers accept these signs.
    private static func withASCIIAtSigns(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isOtherAtSign) else { return text }
        var plain = ""
        for scalar in text.unicodeScalars { plain.unicodeScalars.append(isOtherAtSign(scalar) ? "@" : scalar) }
        return plain
    }

    private static func isOtherAtSign(_ scalar: Unicode.Scalar) -> Bool { scalar == "\u{FF20}" || scalar == "\u{FE6B}" }

    private struct UserInfo {
        /// The user information, without the at sign after it.
        let range: Range<Int>
        /// The bytes to replace, from the beginning of ``range``; `nil` if the replacement for an earlier user information includes these
        /// bytes.
        let replaced: Range<Int>?
    }

    private static func userInfos(in bytes: [UInt8]) -> [UserInfo] {
        var found: [UserInfo] = []
        var index = 0
        while index < bytes.count {
            let end = bytes[index...].firstIndex(where: isLineEnd) ?? bytes.count
            addUserInfos(in: bytes[index..<end], to: &found)
            index = end + 1
        }
        return found
    }

    private static func addUserInfos(in line: ArraySlice<UInt8>, to found: inout [UserInfo]) {
        guard let last = line.lastIndex(of: UInt8(ascii: "@")) else { return }
        var index = line.startIndex
        var replacedEnd: Int?
        // A line may begin with credentials, without slashes before the credentials.
        let front = line.prefix { !isEnd($0) }
        if let at = front.lastIndex(of: UInt8(ascii: "@")), front[..<at].contains(UInt8(ascii: ":")) {
            found.append(UserInfo(range: index..<at, replaced: index..<at))
            (index, replacedEnd) = (at, at)
        }
        while let start = authorityStart(in: line, from: index), start <= last {
            let end = line[start...].firstIndex(where: isEnd) ?? line.endIndex
            let isDoubtful = hasPasswordForPort(line[start..<end]) || (end < line.endIndex && breaksPassword(line[end], line[start..<end]))
            let at = line[start..<end].lastIndex(of: UInt8(ascii: "@"))
            if let replacedEnd, start <= replacedEnd {
                if let at { found.append(UserInfo(range: start..<at, replaced: nil)) }
            } else if let replacement = isDoubtful ? last : at {
                // Different parsers of URLs end an authority at different octets.
                let longest = line[start...].prefix { !isSlash($0) && !"?#".utf8.contains($0) }
                let other = longest.lastIndex(of: UInt8(ascii: "@")) ?? line[end...].firstIndex(of: UInt8(ascii: "@")) ?? last
                found.append(UserInfo(range: start..<(at ?? other), replaced: start..<replacement))
                if let at, at < other { found.append(UserInfo(range: start..<other, replaced: nil)) }
                replacedEnd = replacement
            }
            index = at ?? end
        }
    }

    /// Returns the start of the next authority; `nil` if there is no authority.
    ///
    /// An authority starts after `//` or a double backslash, or after `http:` or `https:` and a slash or backslash. Further
    /// slashes are skipped.
    private static func authorityStart(in line: ArraySlice<UInt8>, from index: Int) -> Int? {
        var index = index
        while index + 1 < line.endIndex {
            let byte = line[index]
            if isSlash(line[index + 1]), byte == line[index + 1] || (byte == UInt8(ascii: ":") && endsInScheme(line[..<index])) {
                index += 2
                while index < line.endIndex, isSlash(line[index]) { index += 1 }
                return index
            }
            index += 1
        }
        return nil
    }

    /// Returns whether `end`, the octet after an authority with an apparent port, is invalid in a URL. An invalid octet may be part of a
    /// password.
    private static func breaksPassword(_ end: UInt8, _ authority: ArraySlice<UInt8>) -> Bool {
        !"/\\?#>".utf8.contains(end) && authority.first != UInt8(ascii: "[") && authority.contains(UInt8(ascii: ":"))
    }

    private static func endsInScheme(_ text: ArraySlice<UInt8>) -> Bool {
        let end = text.suffix(5).map(\.asciiLowercased)
        return end.elementsEqual("https".utf8) || end.suffix(4).elementsEqual("http".utf8)
    }

    /// Returns whether the text at the position of the port is not a port.
    private static func hasPasswordForPort(_ authority: ArraySlice<UInt8>) -> Bool {
        guard authority.first != UInt8(ascii: "["), let colon = authority.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let port = authority[(colon + 1)...]
        guard port.allSatisfy(\.isASCIIDigit) else { return true }
        return port.count > 5 || (Int(String(decoding: port, as: UTF8.self)) ?? 0) > 65_535
    }

    private static func isSlash(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") }
    private static func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }
    private static func isEnd(_ byte: UInt8) -> Bool { byte <= 0x20 || byte == 0x7F || "/\\?#<>\"".utf8.contains(byte) }
}
