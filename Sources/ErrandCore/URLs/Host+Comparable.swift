extension Host {
    /// Returns the comparable form of a host: without brackets and without the dot at the end. An IPv6 address has all eight
    /// groups.
    ///
    /// - Parameter normal: a host in its normal form.
    static func comparable(_ normal: String) -> String {
        guard normal.utf8.first == UInt8(ascii: "[") else { return normal.hasOctetSuffix(".") ? String(normal.dropLast()) : normal }
        guard let groups = ipv6Groups(normal.dropFirst().dropLast()) else { return normal }
        return groups.map { String($0, radix: 16) }.joined(separator: ":")
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

    /// Returns whether a comparable host is this machine itself.
    static func isLoopback(_ host: String) -> Bool {
        host.isExactly("localhost") || host.hasOctetSuffix(".localhost") || host.isExactly("0:0:0:0:0:0:0:1")
            || host.hasOctetPrefix("127.") && isIPv4(host[...])
    }

    /// Returns whether a comparable host is an address, or ends in a number. Only addresses, and parts of addresses, end in a number.
    static func isAddress(_ host: String) -> Bool {
        host.utf8.contains(UInt8(ascii: ":")) || host.split(atOctet: UInt8(ascii: ".")).last?.utf8.allSatisfy(\.isASCIIDigit) ?? false
    }
}
