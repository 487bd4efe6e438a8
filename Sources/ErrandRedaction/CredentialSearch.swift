internal import ErrandCore
internal import ErrandFormats

/// Finds credentials in the URLs of any text, word by word. The slashes of a URL may be escaped with backslashes, as in JSON.
struct CredentialSearch {
    let sensitivity: Sensitivity
    /// Whether the last word may continue, so that it may be credentials whose at sign is missing.
    let isCut: Bool
    /// Whether a word ends with an ampersand, as an item of a form does.
    var endsAtAmpersand = false
    /// Whether a word needs a double slash to be a URL; `mailto:joe@a.example` is then not one.
    var needsSlashes = false

    init(sensitivity: Sensitivity, isCut: Bool) { (self.sensitivity, self.isCut) = (sensitivity, isCut) }

    private static let slash = UInt8(ascii: "/")
    private static let backslash = UInt8(ascii: "\\")
    private static let at = UInt8(ascii: "@")
    private static let ends = ByteSet { $0.isSpace || "\"'<>`".utf8.contains($0) }
    private static let endsOfItem = ByteSet { $0.isSpace || "\"'<>`&".utf8.contains($0) }

    func findings(in bytes: [UInt8]) -> Findings {
        var found = Findings()
        guard isCut || bytes.contains(Self.at), Self.hasDoubleSlash(bytes) else { return found }
        let ends = endsAtAmpersand ? Self.endsOfItem : Self.ends
        var start = 0
        while start < bytes.count {
            let end = bytes.firstIndex(in: ends, from: start) ?? bytes.count
            add(bytes[start..<end], isLast: end == bytes.count, to: &found)
            start = end + 1
        }
        return found
    }

    private func add(_ word: ArraySlice<UInt8>, isLast: Bool, to found: inout Findings) {
        guard isCut && isLast || word.contains(Self.at) else { return }
        var plain = word.contains(Self.backslash) ? Self.withoutEscapes(Array(word))[...] : word
        let isUnfinished = isCut && isLast && Self.dropUnfinishedAuthority(&plain)
        var shown = Array(plain)
        if shown.contains(Self.at), !needsSlashes || Self.hasDoubleSlash(shown), let text = String(validating: shown, as: UTF8.self) {
            let redacted = sensitivity.redactedURL(text)
            if !redacted.isExactly(text) {
                found.values += sensitivity.secretValues(inURL: text)
                shown = Array(redacted.utf8)
            } else if !isUnfinished {
                return
            }
        } else if !isUnfinished {
            return
        }
        if isUnfinished { shown += BodyRedaction.placeholder.utf8 }
        found.edits.append(ByteEdit(word.startIndex..<word.endIndex, shown))
    }

    private static func hasDoubleSlash(_ bytes: [UInt8]) -> Bool {
        // With pointers, because tests run without optimization, and bodies may be long.
        bytes.withUnsafeBufferPointer { bytes in
            var isAfterSlash = false
            for byte in bytes {
                if byte == slash {
                    if isAfterSlash { return true }
                    isAfterSlash = true
                } else if byte != backslash {
                    isAfterSlash = false
                }
            }
            return false
        }
    }

    /// Returns the bytes without the backslashes before slashes.
    private static func withoutEscapes(_ bytes: [UInt8]) -> [UInt8] {
        var plain: [UInt8] = []
        var pending = 0
        for byte in bytes {
            if byte == backslash {
                pending += 1
                continue
            }
            if byte != slash { plain += repeatElement(backslash, count: pending) }
            pending = 0
            plain.append(byte)
        }
        return plain + repeatElement(backslash, count: pending)
    }

    /// Removes an authority that is truncated, or whose port is invalid and so may be the beginning of a password. Returns whether there
    /// was one.
    private static func dropUnfinishedAuthority(_ word: inout ArraySlice<UInt8>) -> Bool {
        var rest = word
        let at = word.lastIndex(of: Self.at)
        while let slashes = rest.firstRange(of: "//".utf8) {  // octets: of bytes
            rest = rest[slashes.upperBound...]
            let authority = rest.prefix { !"/?#".utf8.contains($0) }
            let port = authority.first == UInt8(ascii: "[") ? [] : authority.drop { $0 != UInt8(ascii: ":") }.dropFirst()
            guard authority.endIndex == word.endIndex || !port.allSatisfy(\.isASCIIDigit), at.map({ $0 < rest.startIndex }) ?? true else {
                continue
            }
            word = word[..<slashes.upperBound]
            return true
        }
        return false
    }
}
