// The functions of this file compare and search text by its octets. Swift compares texts in a normal form, which takes quadratic
// time for a long run of combining marks. In addition, a combining mark after a quotation mark or a slash changes the
// `Character` that contains this quotation mark or slash. For text from outside the app, use these functions instead of `==`,
// `contains`, `split` and `Set<String>`. The script `scripts/check-octets` refuses `==`, `contains`, `split` and `Set<String>`
// in all files, except in the files that the script names with a reason.

extension StringProtocol {
    /// Returns whether this text has the same octets in UTF-8 as `other`. The lengths are compared first.
    package func isExactly(_ other: some StringProtocol) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }

    /// Returns whether this text has the same octets as `other`. The case of ASCII letters is ignored. The lengths are compared first.
    package func isExactlyIgnoringCase(_ other: some StringProtocol) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8) { $0.asciiLowercased == $1.asciiLowercased }
    }

    /// Returns whether this text begins with the octets of `prefix`.
    package func hasOctetPrefix(_ prefix: some StringProtocol) -> Bool { utf8.starts(with: prefix.utf8) }

    /// Returns whether this text ends with the octets of `suffix`.
    package func hasOctetSuffix(_ suffix: some StringProtocol) -> Bool { utf8.reversed().starts(with: suffix.utf8.reversed()) }

    /// Returns whether this text contains `octet`, as in `text.containsOctet(UInt8(ascii: "/"))`.
    package func containsOctet(_ octet: UInt8) -> Bool { utf8.contains(octet) }

    /// Returns whether this text contains the octets of `other`.
    package func containsOctets(_ other: some StringProtocol) -> Bool { utf8.firstRange(of: other.utf8) != nil }

    /// Returns the pieces of the text that are separated by `octet`. Empty pieces are left out unless `omittingEmptyPieces` is
    /// false.
    package func split(atOctet octet: UInt8, maxSplits: Int = .max, omittingEmptyPieces: Bool = true) -> [SubSequence] {
        utf8.split(separator: octet, maxSplits: maxSplits, omittingEmptySubsequences: omittingEmptyPieces).map {
            self[$0.startIndex..<$0.endIndex]
        }
    }

    /// The members of a comma-separated list ([RFC 9110, section 5.6.1](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.1)), without
    /// white space around each member. Empty members are left out.
    package var listMembers: [String] {
        withUTF8Bytes { bytes in
            var members: [String] = []
            bytes.forEachListElement { if !$0.isEmpty { members.append(String(decoding: $0, as: UTF8.self)) } }
            return members
        }
    }

    /// Returns a copy of this text in which `replacement(octet)` replaces each octet that is in `octets`. Other octets stay
    /// unchanged.
    package func escapingOctets(_ octets: ByteSet, by replacement: (UInt8) -> String) -> String {
        guard utf8.contains(where: octets.contains) else { return String(self) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count)
        for byte in utf8 {
            if octets.contains(byte) { bytes += replacement(byte).utf8 } else { bytes.append(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Functions that compare two values of `String` by their octets. Calls of generic functions of another module are not specialized: a
/// comparison of `https` by a generic function takes 6,000 instructions.
extension String {
    /// Returns whether this text has the same octets in UTF-8 as `other`. The lengths are compared first.
    package func isExactly(_ other: String) -> Bool {
        utf8.count == other.utf8.count && withUTF8Bytes { octets in other.withUTF8Bytes { octets.isExactly($0) } }
    }

    /// Returns whether this text begins with the octets of `prefix`.
    package func hasOctetPrefix(_ prefix: String) -> Bool {
        withUTF8Bytes { octets in
            prefix.withUTF8Bytes { $0.count <= octets.count && UnsafeBufferPointer(rebasing: octets[..<$0.count]).isExactly($0) }
        }
    }

    /// Returns whether this text ends with the octets of `suffix`.
    package func hasOctetSuffix(_ suffix: String) -> Bool {
        withUTF8Bytes { octets in
            suffix.withUTF8Bytes {
                $0.count <= octets.count && UnsafeBufferPointer(rebasing: octets[(octets.count - $0.count)...]).isExactly($0)
            }
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Returns whether the octets are equal to the octets of `other`. The lengths are compared first.
    package func isExactly(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard count == other.count else { return false }
        var index = 0
        while index < count, self[index] == other[index] { index += 1 }
        return index == count
    }
}

extension String? {
    /// Returns whether both texts are `nil`, or have the same octets.
    package func isExactly(_ other: String?) -> Bool {
        guard let self, let other else { return self == nil && other == nil }
        return self.isExactly(other)
    }
}

extension String {
    /// The text as a quoted string ([RFC 9110, section 5.6.4](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.4)): in quotation
    /// marks, with a backslash before each quotation mark and each backslash.
    package var quotedString: String {
        "\"" + escapingOctets(.quotedPairs) { $0 == UInt8(ascii: "\"") ? #"\""# : #"\\"# } + "\""
    }

    /// Returns the text without spaces and tabs at both ends (`OWS`,
    /// [RFC 9110, section 5.6.3](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.3)).
    package func trimmingOptionalWhitespace() -> String {
        var bytes = Substring(self).utf8
        while let first = bytes.first, first.isOptionalSpace { bytes.removeFirst() }
        while let last = bytes.last, last.isOptionalSpace { bytes.removeLast() }
        return String(Substring(bytes))
    }
}

extension ByteSet {
    fileprivate static let quotedPairs = ByteSet { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
}

extension UInt8 {
    /// This octet in lower case, if it is an ASCII letter.
    package var asciiLowercased: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }
}

/// A text from outside the app that is compared and hashed by its octets. The type is for keys of a `Set` or a `Dictionary`.
package struct OctetKey: Hashable, Sendable {
    /// The text.
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (one: OctetKey, other: OctetKey) -> Bool { one.text.isExactly(other.text) }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xFF as UInt8)
    }
}
