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

    /// Returns whether a comparable host is meant to be this machine: a loopback address, `localhost`, or a name under `localhost`.
    ///
    /// Some resolvers look up a name under `localhost` in the network. Therefore only ``isThisMachine(_:)`` may replace TLS.
    static func isLoopback(_ host: String) -> Bool { isThisMachine(host) || host.hasOctetSuffix(".localhost") }

    /// Returns whether a comparable host is this machine itself: a loopback address, or `localhost`.
    static func isThisMachine(_ host: String) -> Bool {
        host.isExactly("localhost") || host.isExactly("0:0:0:0:0:0:0:1") || host.hasOctetPrefix("127.") && isIPv4(host[...])
    }

    /// Returns whether a host in its normal or comparable form is an address, or ends in a number. Only addresses, and parts of addresses,
    /// end in a number, which may be hexadecimal (`10.0.0.0x1`). Allocates nothing.
    static func isAddress(_ host: String) -> Bool {
        var labels = Substring(host).utf8
        if labels.contains(UInt8(ascii: ":")) { return true }
        if labels.last == UInt8(ascii: ".") { labels.removeLast() }
        // The system also reads a last label such as `0x1f` as a number: https://url.spec.whatwg.org/#ends-in-a-number-checker.
        let digits = labels.reversed().prefix(while: \.isHexDigit).count
        var last = labels.suffix(digits)
        let isHex = labels.dropLast(digits).last == UInt8(ascii: "x") && labels.dropLast(digits + 1).last == UInt8(ascii: "0")
        if isHex { last = labels.suffix(digits + 2) }
        guard !last.isEmpty, isHex || last.allSatisfy(\.isASCIIDigit) else { return false }
        return last.count == labels.count || labels.dropLast(last.count).last == UInt8(ascii: ".")
    }
}
