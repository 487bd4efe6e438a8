internal import ErrandFormats

/// An IPv4 or IPv6 address.
///
/// ```swift
/// let address = try IPAddress("2001:DB8:0:0::1")
/// address.description     // 2001:db8::1
/// ```
///
/// Two spellings of the same address are equal values. An IPv4 address and the IPv6 address that maps the IPv4 address
/// (`::ffff:192.0.2.1`) are not equal.
public struct IPAddress: Sendable, Hashable {
    /// Whether the address is an IPv4 address. If false, the address is an IPv6 address.
    public let isIPv4: Bool
    /// The number of the network interface of an IPv6 address, for example of a link-local address; `nil` for an address
    /// without an interface ([RFC 4007, section 11](https://www.rfc-editor.org/rfc/rfc4007#section-11)).
    public let interface: UInt32?
    private let high: UInt64
    private let low: UInt64

    /// Creates an address from text: four decimal numbers, `192.0.2.1`, or an IPv6 address without brackets, `2001:db8::1` ([RFC 4291,
    /// section 2.2](https://www.rfc-editor.org/rfc/rfc4291#section-2.2)). An IPv6 address may have the number of an interface: `fe80::1%2`.
    ///
    /// - Throws: ``InvalidIPAddressError`` for any other text, such as a host name, an address with a port, and the short forms `127.1` and
    ///   `0x7f000001`.
    public init(_ text: String) throws(InvalidIPAddressError) {
        if let value = Host.ipv4(text[...]) {
            self.init(isIPv4: true, interface: nil, high: 0, low: UInt64(value))
            return
        }
        let parts = text.split(atOctet: UInt8(ascii: "%"), maxSplits: 1, omittingEmptyPieces: false)
        guard let address = parts.first, let groups = Host.ipv6Groups(address) else { throw InvalidIPAddressError(text) }
        var interface: UInt32?
        if parts.count == 2 {
            guard parts[1].utf8.allSatisfy(\.isASCIIDigit), let number = UInt32(parts[1]), number > 0 else {
                throw InvalidIPAddressError(text)
            }
            interface = number
        }
        func half(_ groups: ArraySlice<UInt16>) -> UInt64 { groups.reduce(0) { $0 << 16 | UInt64($1) } }
        self.init(isIPv4: false, interface: interface, high: half(groups[..<4]), low: half(groups[4...]))
    }

    /// Creates an address from its octets in network byte order, as a DNS record has them.
    ///
    /// - Parameters:
    ///   - octets: 4 octets for IPv4, 16 octets for IPv6. For any other count, the result is `nil`.
    ///   - interface: the number of the interface to which an IPv6 address belongs; `nil`, the default, means no interface. The
    ///     number is ignored for IPv4.
    public init?(octets: some Collection<UInt8>, interface: UInt32? = nil) {
        func number(_ octets: some Collection<UInt8>) -> UInt64 { octets.reduce(0) { $0 << 8 | UInt64($1) } }
        switch octets.count {
        case 4: self.init(isIPv4: true, interface: nil, high: 0, low: number(octets))
        case 16: self.init(isIPv4: false, interface: interface, high: number(octets.prefix(8)), low: number(octets.dropFirst(8)))
        default: return nil
        }
    }

    private init(isIPv4: Bool, interface: UInt32?, high: UInt64, low: UInt64) {
        self.isIPv4 = isIPv4
        self.interface = interface
        self.high = high
        self.low = low
    }

    /// The octets in network byte order: 4 octets for IPv4, 16 octets for IPv6.
    public var octets: [UInt8] {
        func octets(of number: UInt64, _ count: Int) -> [UInt8] {
            (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
        }
        return isIPv4 ? octets(of: low, 4) : octets(of: high, 8) + octets(of: low, 8)
    }
}

extension IPAddress: CustomStringConvertible, HidesStorage {
    /// The address in its usual form: `192.0.2.1`, `2001:db8::1`, `fe80::1%2` ([RFC 5952](https://www.rfc-editor.org/rfc/rfc5952)).
    public var description: String {
        if isIPv4 { return Self.dotted(UInt32(truncatingIfNeeded: low)) }
        let zone = interface.map { "%\($0)" } ?? ""
        // RFC 5952, section 5: the last 32 bits of an IPv4-mapped address are written as an IPv4 address.
        if high == 0, low >> 32 == 0xFFFF { return "::ffff:" + Self.dotted(UInt32(truncatingIfNeeded: low)) + zone }
        let groups = [high, low].flatMap { half in [48, 32, 16, 0].map { UInt16(truncatingIfNeeded: half >> UInt64($0)) } }
        // The longest run of at least two zero groups is left out. If several runs have the same length, the first run is left
        // out (section 4.2).
        var gap = 0..<0
        var start = 0
        for (index, group) in groups.enumerated() {
            if group != 0 {
                start = index + 1
            } else if index + 1 - start > max(1, gap.count) {
                gap = start..<(index + 1)
            }
        }
        func text(_ groups: ArraySlice<UInt16>) -> String { groups.map { String($0, radix: 16) }.joined(separator: ":") }
        if gap.isEmpty { return text(groups[...]) + zone }
        return text(groups[..<gap.lowerBound]) + "::" + text(groups[gap.upperBound...]) + zone
    }

    private static func dotted(_ number: UInt32) -> String {
        [24, 16, 8, 0].map { "\(number >> UInt32($0) & 255)" }.joined(separator: ".")
    }
}

/// The error for text that is not an IP address.
///
/// The description shows the text: `invalid IP address 'localhost': give four decimal numbers such as 192.0.2.1, or an IPv6 address such as
/// 2001:db8::1`.
public struct InvalidIPAddressError: NumberedFailure, Sendable, Hashable, CustomStringConvertible {
    /// The text, truncated to 200 characters.
    public let text: String

    init(_ text: String) { self.text = text.shownSafely() }

    /// The text, and the valid forms.
    public var description: String {
        "invalid IP address '\(text)': give four decimal numbers such as 192.0.2.1, or an IPv6 address such as 2001:db8::1"
    }
    public var failureNumber: FailureNumber { .invalidIPAddress }
    /// The text, and the valid forms.
    public var failureReason: String? { description.asSentence }
    /// The valid forms.
    public var recoverySuggestion: String? { "Give four decimal numbers such as 192.0.2.1, or an IPv6 address such as 2001:db8::1." }
}

extension InvalidIPAddressError: SafelyDescribedError {}
