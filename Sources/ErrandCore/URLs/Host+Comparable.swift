extension Host {
    /// Returns the form of a host for comparisons: without brackets, without the dot at the end, and with all groups of an IPv6
    /// address.
    ///
    /// - Parameter normal: a host in its normal form.
    static func comparable(_ normal: String) -> String {
        guard normal.utf8.first == UInt8(ascii: "[") else { return normal.hasOctetSuffix(".") ? String(normal.dropLast()) : normal }
        let address = normal.dropFirst().dropLast()
        guard let gap = address.utf8.firstRange(of: "::".utf8) else { return shown(groups(address)) }
        let (front, back) = (groups(address[..<gap.lowerBound]), groups(address[gap.upperBound...]))
        return shown(front + Array(repeating: 0, count: max(0, 8 - front.count - back.count)) + back)
    }

    /// Returns the comparable form of a host that a person has written. An IPv6 address needs no brackets.
    static func comparable(
        written text: Substring, in whole: String, _ code: TLSSettingsError.Code
    ) throws(TLSSettingsError) -> String {
        let isBare = isIPv6(text)
        do {
            return comparable(try normalized(isBare ? "[\(text)]"[...] : text, in: whole))
        } catch {
            throw TLSSettingsError(code, of: whole, "\(error.code)")
        }
    }

    private static func shown(_ groups: [UInt16]) -> String { groups.map { String($0, radix: 16) }.joined(separator: ":") }

    private static func groups(_ part: Substring) -> [UInt16] {
        part.split(atOctet: UInt8(ascii: ":")).flatMap { field -> [UInt16] in
            let octets = field.split(atOctet: UInt8(ascii: ".")).compactMap { UInt16($0) }
            guard octets.count == 4 else { return [UInt16(field, radix: 16) ?? 0] }
            return [octets[0] << 8 | octets[1], octets[2] << 8 | octets[3]]
        }
    }

    /// Returns whether a comparable host is an address, or ends in a number. Only addresses, and parts of addresses, end in a number.
    static func isAddress(_ host: String) -> Bool {
        host.utf8.contains(UInt8(ascii: ":")) || host.split(atOctet: UInt8(ascii: ".")).last?.utf8.allSatisfy(\.isASCIIDigit) ?? false
    }
}
