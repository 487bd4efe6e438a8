/// An additional host, port and protocol for an origin, as a server states them in `Alt-Svc` ([RFC
/// 7838](https://www.rfc-editor.org/rfc/rfc7838)).
///
/// ```swift
/// let services = AlternativeService.parse(#"h3=":443"; ma=3600, h2="b.example:8443""#)
/// services[0].protocolID    // h3
/// services[0].port          // 443
/// services[1].host          // b.example
/// ```
///
/// The description is a value of the field: `h3=":443"; ma=3600`.
public struct AlternativeService: Sendable, Hashable, CustomStringConvertible {
    /// The default of ``maxAge``: 24 hours.
    public static let defaultMaxAge = Duration.seconds(86_400)
    /// The largest number of services that are read from one value.
    static let countLimit = 32
    /// The longest ``maxAge``: about 68 years. A longer duration in a field is read as this duration.
    private static let longestAgeSeconds: Int64 = 1 << 31

    /// The ALPN identifier of the protocol: `h3` for HTTP/3, `h2` for HTTP/2 over TLS, `http/1.1`.
    public let protocolID: String
    /// The host, as written; an IPv6 address has brackets. `nil`: the host of the origin is used.
    public let host: String?
    /// The port, from 1 to 65535.
    public let port: Int
    /// The time after the response during which the service may be used, in whole seconds. The time is 24 hours if the field states
    /// no duration.
    public var maxAge: Duration
    /// Whether the service may still be used after the network has changed.
    public let isPersistent: Bool

    /// Creates a service.
    ///
    /// - Parameters:
    ///   - protocolID: the ALPN identifier of the protocol, as in ``protocolID``.
    ///   - host: the host of the service. `nil`, the default: the host of the origin is used.
    ///   - port: the port of the service, from 1 to 65535.
    ///   - maxAge: the lifetime, in whole seconds. Default: ``defaultMaxAge``.
    ///   - isPersistent: whether the service may still be used after the network has changed. Default: `false`.
    public init(_ protocolID: String, host: String? = nil, port: Int, maxAge: Duration = defaultMaxAge, isPersistent: Bool = false) {
        (self.protocolID, self.host, self.port) = (protocolID, host, port)
        (self.maxAge, self.isPersistent) = (maxAge, isPersistent)
    }

    /// Reads a value of `Alt-Svc` ([RFC 7838, section 3](https://www.rfc-editor.org/rfc/rfc7838#section-3)).
    ///
    /// - Returns: the services, in the server's order of preference. Empty for `clear`, which withdraws the server's earlier
    ///   services, and for a value of more than 8 KiB. Invalid services are left out. At most 32 services are read.
    public static func parse(_ value: String) -> [AlternativeService] {
        guard value.utf8.count <= FieldLimits.valueBytes, !value.trimmingOptionalWhitespace().isExactly("clear") else { return [] }
        var reader = FieldReader(value)
        return reader.services()
    }

    /// A value of the field.
    public var description: String {
        var text = PercentEncoding.encode(protocolID, allowing: .protocolID) + "=\"\(host ?? ""):\(port)\""
        if maxAge != Self.defaultMaxAge { text += "; ma=\(maxAge.components.seconds)" }
        return isPersistent ? text + "; persist=1" : text
    }

    fileprivate static func age(_ text: String) -> Duration? {
        Int64(clampingDigits: text.utf8).map { .seconds(min($0, longestAgeSeconds)) }
    }

    /// Reads `host:port`. The host may be missing. The colon and the port must not be missing.
    fileprivate static func authority(_ text: String) -> (host: String?, port: Int)? {
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { return nil }
        let (host, digits) = (text[..<colon], text[colon...].dropFirst())
        guard let port = Int(portDigits: digits.utf8) else { return nil }
        if host.isEmpty { return (nil, port) }
        let isAddress = host.utf8.first == UInt8(ascii: "[") && host.utf8.last == UInt8(ascii: "]")
        let name = isAddress ? host.dropFirst().dropLast() : host
        let allowed = isAddress ? URLCharacterSet.addressInBrackets : .host
        guard !name.isEmpty, PercentEncoding.firstInvalidByte(in: name, allowing: allowed) == nil else { return nil }
        return (String(host), port)
    }
}

extension URLCharacterSet {
    /// The octets that are not encoded in a protocol identifier, which are the octets of a token except `%` ([RFC 7838, section
    /// 3](https://www.rfc-editor.org/rfc/rfc7838#section-3)).
    fileprivate static let protocolID = URLCharacterSet("!#$&'*+-.^_`|~")
    /// The octets of an IPv6 address.
    fileprivate static let addressInBrackets = URLCharacterSet(":.")
}

extension FieldReader {
    fileprivate mutating func services() -> [AlternativeService] {
        var services: [AlternativeService] = []
        while services.count < AlternativeService.countLimit {
            skip { $0.isOptionalSpace || $0 == UInt8(ascii: ",") }
            guard next != nil else { break }
            if let service = service() { services.append(service) } else { skipMember() }
        }
        return services
    }

    /// Reads a service; `nil` if the service is not valid. If the service is invalid, parsing stops at an unspecified position
    /// inside the service, but never inside a quoted string.
    private mutating func service() -> AlternativeService? {
        guard let name = token(), take("="), next == UInt8(ascii: "\"") else { return nil }
        let text = quoted()
        guard let protocolID = PercentEncoding.decode(name), let (host, port) = text.flatMap(AlternativeService.authority) else {
            return nil
        }
        var (age, isPersistent) = (AlternativeService.defaultMaxAge, false)
        while true {
            skip(\.isOptionalSpace)
            guard take(";") else { break }
            skip(\.isOptionalSpace)
            guard let parameter = token(), take("="), let value = next == UInt8(ascii: "\"") ? quoted() : token() else { return nil }
            // Parameter names are case-insensitive. Unknown parameters are ignored.
            switch parameter.lowercased() {  // octets: a token is ASCII
            case "ma":
                guard let seconds = AlternativeService.age(value) else { return nil }
                age = seconds
            case "persist": isPersistent = value.isExactly("1")
            default: break
            }
        }
        guard next == nil || next == UInt8(ascii: ",") else { return nil }
        return AlternativeService(protocolID, host: host, port: port, maxAge: age, isPersistent: isPersistent)
    }

    /// Skips to the next comma outside quoted strings.
    private mutating func skipMember() {
        while let byte = next, byte != UInt8(ascii: ",") {
            if byte == UInt8(ascii: "\"") { _ = quoted() } else { position += 1 }
        }
    }
}
