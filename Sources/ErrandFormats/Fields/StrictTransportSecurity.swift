/// The value of the field `Strict-Transport-Security`, with which a host demands `https`
/// ([RFC 6797, section 6.1](https://www.rfc-editor.org/rfc/rfc6797#section-6.1)).
///
/// ```swift
/// let policy = StrictTransportSecurity("max-age=31536000; includeSubDomains")
/// policy?.maxAge                // 31536000.0 seconds
/// policy?.includesSubdomains    // true
/// ```
///
/// The description is a value of the field: `max-age=31536000; includeSubDomains`.
public struct StrictTransportSecurity: Sendable, Hashable, CustomStringConvertible {
    /// The longest ``maxAge``. A longer duration becomes this duration.
    private static let longestMaxAge = Duration.seconds(1 << 31)

    /// The time after the response during which the host demands `https`, in whole seconds: from 0 to 2^31 seconds,
    /// about 68 years. With 0, the host no longer demands `https`.
    public let maxAge: Duration
    /// Whether the subdomains of the host demand `https` too.
    public let includesSubdomains: Bool

    /// Creates a value.
    ///
    /// - Parameters:
    ///   - maxAge: the time for which the host demands `https`. A fraction of a second is dropped. A negative time counts as 0. A time
    ///     above 2^31 seconds counts as 2^31 seconds.
    ///   - includesSubdomains: whether the subdomains of the host demand `https` too. Default: `false`.
    public init(maxAge: Duration, includesSubdomains: Bool = false) {
        let bounded = min(max(maxAge, .zero), Self.longestMaxAge)
        (self.maxAge, self.includesSubdomains) = (.seconds(bounded.components.seconds), includesSubdomains)
    }

    /// Reads a value of the field; `nil` for an invalid value, which must be ignored.
    ///
    /// Directives may be in any order. The case of a directive's name does not matter. A value may be in quotation marks. Unknown
    /// directives are ignored. If a response has several fields, only the first field counts ([RFC 6797, section
    /// 8.1](https://www.rfc-editor.org/rfc/rfc6797#section-8.1)).
    ///
    /// A value is invalid in these cases:
    /// - `max-age` is missing, or is not a number of seconds.
    /// - `max-age` or `includeSubDomains` occurs twice.
    /// - `includeSubDomains` has a value.
    /// - A directive does not conform to the grammar.
    /// - The value has more than 8 KiB.
    public init?(_ value: String) {
        guard value.utf8.count <= FieldLimits.valueBytes else { return nil }
        var reader = FieldReader(value)
        guard let policy = reader.strictTransportSecurity() else { return nil }
        self = policy
    }

    /// A value of the field.
    public var description: String {
        "max-age=\(maxAge.components.seconds)" + (includesSubdomains ? "; includeSubDomains" : "")
    }
}

extension FieldReader {
    fileprivate mutating func strictTransportSecurity() -> StrictTransportSecurity? {
        var maxAge: Duration?
        var includesSubdomains = false
        while true {
            skip(\.isOptionalSpace)
            if let name = token() {
                skip(\.isOptionalSpace)
                var value: String?
                if take("=") {
                    skip(\.isOptionalSpace)
                    value = next == UInt8(ascii: "\"") ? quoted() : token()
                    if value == nil { return nil }
                    skip(\.isOptionalSpace)
                }
                if name.isExactlyIgnoringCase("max-age") {
                    guard maxAge == nil, let seconds = value.flatMap(Self.seconds) else { return nil }
                    maxAge = seconds
                } else if name.isExactlyIgnoringCase("includeSubDomains") {
                    if includesSubdomains || value != nil { return nil }
                    includesSubdomains = true
                }
            }
            guard next != nil else { break }
            // Only a semicolon may follow a directive. A second word or a comma, for example, does not conform to the grammar.
            guard take(";") else { return nil }
        }
        return maxAge.map { StrictTransportSecurity(maxAge: $0, includesSubdomains: includesSubdomains) }
    }

    private static func seconds(_ digits: String) -> Duration? {
        Int64(clampingDigits: digits.utf8).map { .seconds($0) }
    }
}
