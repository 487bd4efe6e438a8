/// The value of a `Set-Cookie` field: a cookie that a server sends
/// ([RFC 6265bis, section 5.6](https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#section-5.6)).
///
/// ```swift
/// let cookie = SetCookie("sid=31d4; Path=/; Secure; HttpOnly; Max-Age=3600")
/// cookie?.name         // sid
/// cookie?.maxAge       // 3600.0 seconds
/// ```
///
/// The text is read octet by octet, in linear time, as browsers read it. If an attribute occurs several times, the last occurrence counts,
/// even if its `Domain`, `Path` or `SameSite` has no usable value. These attributes are ignored: unknown attributes, an invalid `Max-Age`
/// or `Expires`, and attributes with values of more than 1,024 octets.
///
/// The description and the mirror show the name and the attributes, and never the value.
public struct SetCookie: Sendable {
    /// The attribute `SameSite`: the contexts in which the cookie is sent.
    public enum SameSite: String, Sendable, Hashable, CaseIterable {
        /// The cookie is sent in every context. The attribute `Secure` is required.
        case none = "None"
        /// The cookie is sent in requests that its own site makes. If a person follows a link from another site, the cookie is also
        /// sent.
        case lax = "Lax"
        /// The cookie is sent only in requests that its own site makes.
        case strict = "Strict"
    }

    /// The largest number of octets of the name and the value together: 4,096.
    package static let pairLimitBytes = 4096
    /// The largest number of octets of an attribute's value: 1,024.
    package static let attributeLimitBytes = 1024
    /// The longest lifetime of a cookie: 400 days.
    package static let longestLifetime = Duration.seconds(400 * 86_400)

    /// The name; empty if the field has no equals sign, or nothing before the equals sign.
    public private(set) var name: String
    /// The value, which is secret. Quotation marks belong to the value.
    public private(set) var value: String
    /// The attribute `Domain` in lower case. If the value begins with a dot, that dot is removed. `nil` if the attribute is missing, or if
    /// no text is left. A server can send any text, such as the domain of another server.
    public private(set) var domain: String?
    /// The attribute `Path`; `nil` if the attribute is missing, or does not begin with a slash.
    public private(set) var path: String?
    /// The attribute `Max-Age`, in whole seconds; `nil` if the field has no valid `Max-Age`. A number of seconds outside the range of
    /// `Int64` becomes the nearest number of the range.
    public private(set) var maxAge: Duration?
    /// The attribute `Expires`; `nil` if the field has no valid `Expires`. `Max-Age` has priority: ``expiry(receivedAt:)``.
    public private(set) var expires: HTTPDate?
    /// Whether the field has the attribute `Secure`.
    public private(set) var isSecure = false
    /// Whether the field has the attribute `HttpOnly`.
    public private(set) var isHTTPOnly = false
    /// The attribute `SameSite`; `nil` if the attribute is missing or has an unknown value.
    public private(set) var sameSite: SameSite?

    /// Reads a field's value.
    ///
    /// - Returns: `nil` in these cases:
    ///   - The value has a control character other than a tab.
    ///   - The name and the value are both empty, or have more than 4,096 octets together.
    public init?(_ text: some StringProtocol) {
        let result = text.withUTF8Bytes { octets in
            Result { () throws(Problem) in try SetCookie(octets: octets) }
        }
        guard case .success(let cookie) = result else { return nil }
        self = cookie
    }

    /// The reason why a field's value is not a cookie.
    package enum Problem: Error, Sendable, Hashable {
        case controlCharacter
        case isEmpty
        case tooManyOctets
        /// The name or the value is not UTF-8, so that no text has the same octets.
        case notUTF8
    }

    /// Reads the octets of a field's value.
    package init(octets: UnsafeBufferPointer<UInt8>) throws(Problem) {
        guard ByteScan.firstControl(in: octets).control == nil else { throw .controlCharacter }
        var end = octets.end(ofPieceAt: 0)
        let pair = octets.part(0..<end)
        // A pair without an equals sign is a value without a name.
        let sign = pair.firstIndex(of: UInt8(ascii: "="))
        let name = pair.part(0..<(sign ?? 0)).trimmed
        let value = pair.part((sign.map { $0 + 1 } ?? 0)..<pair.count).trimmed
        guard !name.isEmpty || !value.isEmpty else { throw .isEmpty }
        guard name.count + value.count <= Self.pairLimitBytes else { throw .tooManyOctets }
        guard let nameText = String(validating: name, as: UTF8.self), let valueText = String(validating: value, as: UTF8.self) else {
            throw .notUTF8
        }
        (self.name, self.value) = (nameText, valueText)
        while end < octets.count {
            let start = end + 1
            end = octets.end(ofPieceAt: start)
            let attribute = octets.part(start..<end)
            let sign = attribute.firstIndex(of: UInt8(ascii: "="))
            let value = attribute.part((sign.map { $0 + 1 } ?? attribute.count)..<attribute.count).trimmed
            guard value.count <= Self.attributeLimitBytes else { continue }
            apply(attribute.part(0..<(sign ?? attribute.count)).trimmed, value)
        }
    }

    private mutating func apply(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
        if name.isName("expires") {
            if let date = HTTPDate(cookieDate: value.text) { expires = date }
        } else if name.isName("max-age") {
            if let seconds = Self.seconds(value) { maxAge = .seconds(seconds) }
        } else if name.isName("domain") {
            let hasDot = value.first == UInt8(ascii: ".")
            let written = value.part((hasDot ? 1 : 0)..<value.count)
            domain = written.isEmpty ? nil : String(decoding: written.map(\.asciiLowercased), as: UTF8.self)
        } else if name.isName("path") {
            path = value.first == UInt8(ascii: "/") ? value.text : nil
        } else if name.isName("secure") {
            isSecure = true
        } else if name.isName("httponly") {
            isHTTPOnly = true
        } else if name.isName("samesite") {
            sameSite = SameSite.allCases.first { value.isName($0.rawValue) }
        }
    }

    /// Returns the number of a `Max-Age`; `nil` unless the octets are digits with or without a minus sign.
    private static func seconds(_ octets: UnsafeBufferPointer<UInt8>) -> Int64? {
        let isNegative = octets.first == UInt8(ascii: "-")
        let digits = octets.part((isNegative ? 1 : 0)..<octets.count)
        guard let seconds = Int64(clampingDigits: digits) else { return nil }
        return isNegative ? (seconds == .max ? .min : -seconds) : seconds
    }

    /// Returns the date at which the cookie expires; `nil` for a cookie of the session, which has neither a valid `Max-Age` nor a valid
    /// `Expires`.
    ///
    /// The date is at most 400 days after `date`. For a `Max-Age` of zero or less, the date is before `date`.
    ///
    /// - Parameter date: the date at which the field was received.
    public func expiry(receivedAt date: HTTPDate) -> HTTPDate? {
        guard let maxAge else { return expires.map { $0.atMost(Self.longestLifetime, after: date) } }
        let past = min(HTTPDate(secondsSinceEpoch: 0), date.advanced(by: .seconds(-1)))
        return maxAge <= .zero ? past : date.advanced(by: min(maxAge, Self.longestLifetime))
    }
}

extension SetCookie: Hashable {
    /// Returns whether all parts have the same octets.
    public static func == (first: SetCookie, second: SetCookie) -> Bool {
        first.name.isExactly(second.name) && first.value.isExactly(second.value) && first.domain.isExactly(second.domain)
            && first.path.isExactly(second.path) && first.maxAge == second.maxAge && first.expires == second.expires
            && first.isSecure == second.isSecure && first.isHTTPOnly == second.isHTTPOnly && first.sameSite == second.sameSite
    }

    /// Hashes the name and the value.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(OctetKey(name))
        hasher.combine(OctetKey(value))
    }
}

extension SetCookie: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name and the attributes: `sid; Path=/; Secure; Max-Age=3600`.
    public var description: String {
        let attributes = [
            domain.map { "Domain=\($0.shownSafely())" }, path.map { "Path=\($0.shownSafely())" }, isSecure ? "Secure" : nil,
            isHTTPOnly ? "HttpOnly" : nil, sameSite.map { "SameSite=\($0.rawValue)" }, maxAge.map { "Max-Age=\($0.components.seconds)" },
            expires.map { "Expires=\($0)" },
        ]
        return ([name.shownSafely()] + attributes.compactMap { $0 }).joined(separator: "; ")
    }
    /// The description.
    public var debugDescription: String { description }
    /// A mirror with the description.
    public var customMirror: Mirror { Mirror(self, children: ["cookie": description]) }
}

extension UnsafeBufferPointer<UInt8> {
    fileprivate var text: String { String(decoding: self, as: UTF8.self) }

    /// Returns the end of the piece that begins at `start`: the index of the next semicolon, or the end of the octets.
    fileprivate func end(ofPieceAt start: Int) -> Int {
        var index = start
        while index < count, self[index] != UInt8(ascii: ";") { index += 1 }
        return index
    }

    /// Returns whether the octets are `name`. The comparison ignores case.
    fileprivate func isName(_ name: String) -> Bool {
        name.utf8.count == count && name.utf8.elementsEqual(self) { $0.asciiLowercased == $1.asciiLowercased }
    }
}
