/// A host in the form in which it is sent: ASCII, lower case
/// ([RFC 3986, section 3.2.2](https://www.rfc-editor.org/rfc/rfc3986#section-3.2.2);
/// [UTS 46](https://www.unicode.org/reports/tr46/) for other scripts).
enum Host {
    /// The longest text that is converted to ASCII, in bytes. A host that has 253 octets in ASCII is shorter than this limit in
    /// every script.
    static let limitBytes = 2048

    /// Returns `text` in its ASCII form.
    ///
    /// - Throws: ``InvalidURLError``, which shows `url`.
    static func normalized(_ text: Substring, in url: String) throws(InvalidURLError) -> String {
        func refused(_ why: String) -> InvalidURLError { InvalidURLError(url, .invalidHost(why)) }
        guard !text.isEmpty else { throw InvalidURLError(url, .missingHost) }
        guard text.utf8.count <= limitBytes else { throw refused("it is longer than 253 octets") }
        if text.utf8.first == UInt8(ascii: "[") {
            guard text.utf8.last == UInt8(ascii: "]"), text.utf8.count > 2 else { throw refused("a bracket is not closed") }
            let address = text.dropFirst().dropLast()
            guard isIPv6(address) else {
                // The error shows only text that looks like an address. Any other text may be a secret.
                let shown = looksLikeAddress(address.utf8) ? "'\(address)' is not an IPv6 address" : nil
                throw refused(shown ?? "the text in brackets must be an IPv6 address without a zone")
            }
            return text.lowercased()
        }
        var host = text.lowercased()
        if !host.utf8.allSatisfy({ $0 < 128 }) {
            guard let ascii = asciiForm(of: String(text)) else {
                throw refused("'\(text)' has no ASCII form (UTS 46)")
            }
            host = ascii.lowercased()
        }
        if let bad = host.utf8.first(where: { !URLCharacterSet.host.contains($0) }) {
            throw refused("it holds the octet 0x\(String(bad, radix: 16, uppercase: true))")
        }
        let labels = host.hasOctetSuffix(".") ? host.dropLast() : host[...]
        guard labels.utf8.count <= 253 else { throw refused("it is longer than 253 octets") }
        for label in labels.split(atOctet: UInt8(ascii: "."), omittingEmptyPieces: false) {
            guard !label.isEmpty else { throw refused("a label is empty") }
            guard label.utf8.count <= 63 else { throw refused("a label is longer than 63 octets") }
        }
        return host
    }

    /// Returns the ASCII form of a host; `nil` if the host has no such form. This function calls Foundation's conversion, which works only
    /// if FoundationInternationalization is linked. The module `Errand` links FoundationInternationalization.
    private static func asciiForm(of host: String) -> String? {
        guard !host.unicodeScalars.contains(where: { $0.value < 128 && !URLCharacterSet.host.contains(UInt8($0.value)) })
        else { return nil }
        var components = URLComponents()
        components.scheme = "https"
        components.host = host
        guard let ascii = components.encodedHost, !ascii.isEmpty, !ascii.containsOctet(UInt8(ascii: "%")) else { return nil }
        return ascii
    }

    /// Returns whether a text has only brackets and the parts of an IPv6 address: groups of up to four hexadecimal digits.
    static func looksLikeAddress(_ octets: some Sequence<UInt8>) -> Bool {
        var digits = 0
        return octets.allSatisfy { octet in
            digits = octet.isHexDigit ? digits + 1 : 0
            return digits <= 4 && (octet.isHexDigit || ":.[]".utf8.contains(octet))
        }
    }

    /// Returns whether `text` is an IPv6 address as in [RFC 4291, section
    /// 2.2](https://www.rfc-editor.org/rfc/rfc4291#section-2.2). The address may have up to eight groups, one gap, and an IPv4
    /// address at the end. A zone ([RFC 9844](https://www.rfc-editor.org/rfc/rfc9844)) is not allowed.
    static func isIPv6(_ text: Substring) -> Bool {
        let halves = text.utf8.ranges(of: "::".utf8)
        guard halves.count <= 1, !text.containsOctets(":::") else { return false }
        func groups(_ part: Substring, mayEndInIPv4: Bool) -> Int? {
            if part.isEmpty { return 0 }
            let fields = part.split(atOctet: UInt8(ascii: ":"), omittingEmptyPieces: false)
            var count = 0
            for (index, field) in fields.enumerated() {
                if index == fields.count - 1, mayEndInIPv4, field.containsOctet(UInt8(ascii: ".")) {
                    guard isIPv4(field) else { return nil }
                    count += 2
                } else {
                    guard (1...4).contains(field.utf8.count), field.utf8.allSatisfy(\.isHexDigit) else { return nil }
                    count += 1
                }
            }
            return count
        }
        guard let gap = halves.first else {
            return text.containsOctet(UInt8(ascii: ":")) && groups(text, mayEndInIPv4: true) == 8
        }
        guard let front = groups(text[..<gap.lowerBound], mayEndInIPv4: false),
            let back = groups(text[gap.upperBound...], mayEndInIPv4: true)
        else { return false }
        return front + back <= 7
    }

    static func isIPv4(_ text: Substring) -> Bool { ipv4(text) != nil }

    /// Returns the 32 bits of an IPv4 address in four decimal numbers, `192.0.2.1`; `nil` for any other text.
    static func ipv4(_ text: Substring) -> UInt32? {
        let parts = text.split(atOctet: UInt8(ascii: "."), omittingEmptyPieces: false)
        guard parts.count == 4 else { return nil }
        var number: UInt32 = 0
        for part in parts {
            guard (1...3).contains(part.utf8.count), part.utf8.allSatisfy(\.isASCIIDigit),
                part.utf8.count == 1 || part.utf8.first != UInt8(ascii: "0"), let octet = UInt8(part)
            else { return nil }
            number = number << 8 | UInt32(octet)
        }
        return number
    }

    /// Returns the eight groups of an IPv6 address without brackets and zone; `nil` for any other text.
    static func ipv6Groups(_ text: Substring) -> [UInt16]? {
        guard isIPv6(text) else { return nil }
        func groups(_ part: Substring) -> [UInt16] {
            part.split(atOctet: UInt8(ascii: ":")).flatMap { field -> [UInt16] in
                if let number = ipv4(field) { return [UInt16(number >> 16), UInt16(truncatingIfNeeded: number)] }
                return [UInt16(field, radix: 16) ?? 0]
            }
        }
        guard let gap = text.utf8.firstRange(of: "::".utf8) else { return groups(text) }
        let (front, back) = (groups(text[..<gap.lowerBound]), groups(text[gap.upperBound...]))
        return front + Array(repeating: 0, count: 8 - front.count - back.count) + back
    }
}
