/// Decides which fields and query items are secret, and how they are shown.
///
/// ```swift
/// request.options.sensitivity.formUnion(Sensitivity(fields: [HTTPField.Name("X-Card")!], queryNames: ["card"]))
/// ```
///
/// **Names decide.** These names are secret:
///
/// - A list of known names, such as `Cookie`.
/// - Names that contain `token`, `secret`, `password`, `passphrase`, `credential`, `authoriz`, `jwt`, `api-key`, `access-key`, `private-key` or similar.
///   `authorized` alone does not count.
/// - Names whose last word is `pass`, such as `db_pass`.
/// - Header fields that end in `-key`, except those that are known to be harmless, such as `Idempotency-Key`, `Surrogate-Key` and `Sec-WebSocket-Key`.
/// - Names that are declared on a request.
///
/// A field with the never-index flag is secret too. Logs, failures, descriptions and all exports obey it, and a redirect to another origin drops such fields.
public struct Sensitivity: Sendable, Hashable {
    /// The text that is shown instead of a field's value. The angle brackets show that the text is not a value.
    public static let placeholder = "<redacted>"
    /// The text that is shown instead of a query item's value and of a value in a body, as in OpenTelemetry's conventions. The text has only
    /// letters, so that a URL, JSON and a form stay valid.
    public static let urlPlaceholder = "REDACTED"
    /// The text that is shown instead of the user information of a URL: a name and a password.
    package static let userInfoPlaceholder = "\(urlPlaceholder):\(urlPlaceholder)"

    /// Only the known names.
    public static let standard = Sensitivity()

    private var extraFields: Set<String> = []  // octets: see isOne(of:_:)
    private var extraQueryNames: Set<String> = []  // octets: see isOne(of:_:)

    /// Creates a value with only the known names.
    public init() {}

    /// Creates a value with names in addition to the known ones. Case does not matter.
    ///
    /// - Parameters:
    ///   - fields: names of header fields.
    ///   - queryNames: names of query items, and of members of JSON objects.
    public init(fields: some Sequence<HTTPField.Name>, queryNames: some Sequence<String> = []) {
        extraFields = Set(fields.map(\.canonicalName))
        extraQueryNames = Set(queryNames.map { $0.lowercased() })
    }

    /// Adds the names of `other`.
    public mutating func formUnion(_ other: Sensitivity) {
        extraFields.formUnion(other.extraFields)
        extraQueryNames.formUnion(other.extraQueryNames)
    }

    // MARK: What is secret

    /// Whether a field is secret: by its name, or by its never-index flag.
    public func isSensitive(_ field: HTTPField) -> Bool {
        if case .disallow = field.indexingStrategy { return true }
        return isSensitive(field.name)
    }

    /// Whether fields of this name are secret.
    public func isSensitive(_ name: HTTPField.Name) -> Bool {
        let name = name.canonicalName
        return Self.isOne(of: Self.knownFields, name) || Self.isOne(of: extraFields, name) || Self.saysSo(name) || Self.isKey(name)
    }

    /// Whether query items of this name are secret.
    public func isSensitive(queryName: String) -> Bool {
        let name = queryName.lowercased()
        return Self.isOne(of: Self.knownQueryNames, name) || Self.isOne(of: extraQueryNames, name) || Self.saysSo(name)
            || Self.endsInPassInCamelCase(queryName)
    }

    /// Whether members of a JSON object with this name are secret. As for a query item, but not `code` and `key`, which are too common in
    /// JSON.
    public func isSensitive(memberName: String) -> Bool {
        let name = memberName.lowercased()
        if Self.isOne(of: extraQueryNames, name) || Self.isOne(of: extraFields, name) || Self.isOne(of: Self.knownFields, name) {
            return true
        }
        return Self.saysSo(name) || Self.endsInPassInCamelCase(memberName)
            || (Self.isOne(of: Self.knownQueryNames, name) && !name.isExactly("code") && !name.isExactly("key"))
    }

    /// Longer names are decided by their parts only.
    private static func isOne(of names: Set<String>, _ name: String) -> Bool {  // octets: at most 256 bytes are looked up
        !names.isEmpty && name.utf8.count <= FieldLimits.nameBytes && names.contains(name)
    }

    /// - Parameter name: in lower case.
    private static func saysSo(_ name: String) -> Bool {
        // A boolean of CORS, which reveals nothing.
        if name.isExactly("access-control-allow-credentials") { return false }
        var name = name
        return name.withUTF8 { bytes in
            bytes.indices.contains { index in
                tellingStarts.contains(bytes[index]) && tellingParts.contains { hasPart($0, bytes, at: index) }
            } || endsInPass(bytes)
        }
    }

    private static func hasPart(_ part: [UInt8], _ name: UnsafeBufferPointer<UInt8>, at index: Int) -> Bool {
        guard name.count - index >= part.count, name[index..<(index + part.count)].elementsEqual(part) else { return false }
        // `authorized` is a state, and not a secret.
        return part != authoriz || !name[(index + part.count)...].starts(with: "ed".utf8)
    }

    private static let authoriz = Array("authoriz".utf8)

    private static let tellingParts: [[UInt8]] = {
        let words = ["token", "secret", "password", "passwd", "passphrase", "passcode", "credential", "jwt"].map { Array($0.utf8) }
        let keys = ["api", "access", "private", "subscription", "auth", "app"].flatMap { owner in
            ["-key", "_key", "key"].map { Array((owner + $0).utf8) }
        }
        return words + keys + [authoriz]
    }()

    /// The first octets of these parts: most octets of a name are none of them, and need no comparison.
    private static let tellingStarts = ByteSet { octet in tellingParts.contains { $0[0] == octet } }

    /// Whether the last word is `pass`: `pass`, `x-auth-pass`, `user[pass]`.
    private static func endsInPass(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        let letters = name.lastIndex { $0.isASCIILetter }.map { name[...$0] } ?? name[..<0]
        guard letters.suffix(4).elementsEqual("pass".utf8) else { return false }
        return letters.dropLast(4).last.map { !$0.isASCIILetter && !$0.isASCIIDigit && $0 < 0x80 } ?? true
    }

    /// Whether a name in camel case ends in `Pass`: `userPass`.
    private static func endsInPassInCamelCase(_ name: String) -> Bool { name.hasOctetSuffix("Pass") }

    /// Whether fields of this name, in lower case, have a key. The word before `-key` says what the key is for.
    private static func isKey(_ name: String) -> Bool {
        guard name.hasOctetSuffix("-key") else { return false }
        let front = name.utf8.dropLast(4)
        let start = front.lastIndex { !$0.isASCIILetter && !$0.isASCIIDigit }.map(front.index(after:)) ?? front.startIndex
        return !plainKeys.contains { $0.utf8.elementsEqual(front[start...]) }
    }

    /// The words before `-key` in names that are not secret: names of things, and values that a protocol makes anew for each message.
    private static let plainKeys = [
        "idempotency", "idempotence", "websocket", "surrogate", "cache", "routing", "partition", "shard", "sort", "group", "message",
        "deduplication", "dedup", "public", "primary", "foreign", "row", "object", "trace", "correlation",
    ]

    private static let knownFields: Set<String> = [  // octets: see isOne(of:_:)
        "authorization", "proxy-authorization", "authentication-info", "proxy-authentication-info", "cookie", "set-cookie",
        "cookie2", "set-cookie2", "x-api-key", "x-auth", "x-session-id", "x-amz-signature", "dpop", "x-goog-iap-jwt-assertion",
        "x-jwt-assertion", "x-ms-authorization-auxiliary", "x-auth-key", "x-functions-key", "ocp-apim-subscription-key",
        "dd-application-key",
        "x-honeycomb-team",
    ]

    private static let knownQueryNames: Set<String> = [  // octets: see isOne(of:_:)
        "x-amz-signature", "x-amz-credential", "x-amz-security-token", "awsaccesskeyid", "signature", "sig", "x-goog-signature",
        "x-goog-credential", "key", "auth", "authorization", "pwd", "code", "code_verifier", "assertion", "client_assertion",
        "session", "sessionid", "session_id", "jwt",
    ]

    private static let urlFields: Set<HTTPField.Name> = [.location, .contentLocation, .referer, .known("Link"), .known("Refresh")]

    // MARK: How it is shown

    /// Returns the text to show for a field: its value, or the placeholder if it is secret. If its value is a URL (`Location`, `Referer`,
    /// …), the URL without its secrets.
    public func shownValue(of field: HTTPField) -> String {
        if isSensitive(field) { return Self.placeholder }
        return Self.urlFields.contains(field.name) ? redactedURL(field.value) : field.value
    }

    /// Returns the name and the value of each field, in order, as they may be shown. A value longer than 8 KiB is cut, and its length is
    /// added.
    public func shown(_ fields: HTTPFields) -> [(name: String, value: String)] {
        fields.map { field in
            let value = shownValue(of: field)
            let length = value.utf8.count
            guard length > FieldLimits.valueBytes else { return (field.name.rawName, value) }
            return (field.name.rawName, String(decoding: value.utf8.prefix(FieldLimits.valueBytes), as: UTF8.self) + "… (\(length) bytes)")
        }
    }

    /// Returns a URL, or a path and query, without credentials and without the values of secret query items. Accepts any text.
    ///
    /// Percent-encoded text is decoded up to three times: an encoded URL within a query item is shown without its secrets too. If it is
    /// unclear what is a password, more is replaced rather than less. The time is linear in the length of the text.
    public func redactedURL(_ url: String) -> String { redactedURL(url[...], levels: Self.escapeLevels) }

    /// How many levels of nested percent-encoding are decoded.
    private static let escapeLevels = 3

    private func redactedURL(_ url: Substring, levels: Int) -> String {
        // By octets throughout: a combining character after a separator must not hide it.
        guard let mark = url.utf8.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
            return Credentials.removed(from: redactedPath(url, levels: levels))
        }
        let after = url.utf8.index(after: mark)
        return Credentials.removed(
            from: redactedPath(url[..<mark], levels: levels) + url[mark..<after] + redactedQuery(url[after...], levels: levels))
    }

    /// A path may contain an encoded URL, as a proxy's does.
    private func redactedPath(_ path: Substring, levels: Int) -> String {
        guard levels > 0, path.utf8.contains(UInt8(ascii: "%")) else { return String(path) }
        let plain = PercentEncoding.decodedLeniently(path)
        let redacted = redactedURL(plain[...], levels: levels - 1)
        return redacted.isExactly(plain) ? String(path) : PercentEncoding.encode(redacted, allowing: .shownURL)
    }

    /// Returns a percent-encoded query or fragment without the values of secret items. (OAuth's implicit grant puts tokens into fragments.)
    ///
    /// An item ends with `&` or `#`. Within an item that is not secret, the text after `?` or `;` is checked too, because a value may be a
    /// URL. So is its decoded text.
    public func redactedQuery(_ query: some StringProtocol) -> String { redactedQuery(Substring(query), levels: Self.escapeLevels) }

    private func redactedQuery(_ query: Substring, levels: Int) -> String {
        var rest = query
        guard rest.utf8.contains(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: "%") }) else { return String(rest) }
        var shown = ""
        var isSecret = false  // up to the end of the item
        while true {
            let end = rest.utf8.firstIndex(where: "&#?;".utf8.contains) ?? rest.endIndex
            let part = rest[..<end]
            if !isSecret {
                let equals = part.utf8.firstIndex(of: UInt8(ascii: "="))
                isSecret = equals.map { isSensitive(queryName: PercentEncoding.decodedLeniently(part[..<$0])) } ?? false
                if isSecret, let equals {
                    shown += part[..<equals] + "=" + Self.urlPlaceholder
                } else {
                    shown += redactedEscapes(of: part, levels: levels)
                }
            }
            guard end < rest.endIndex else { return shown }
            let after = rest.utf8.index(after: end)
            let separator = rest.utf8[end]
            if separator == UInt8(ascii: "&") || separator == UInt8(ascii: "#") { isSecret = false }
            if !isSecret { shown += rest[end..<after] }
            rest = rest[after...]
        }
    }

    /// Returns one part of a query whose own name is not secret: its percent-encoded text may contain a URL or a query.
    private func redactedEscapes(of part: Substring, levels: Int) -> String {
        guard levels > 0, part.utf8.contains(UInt8(ascii: "%")) else { return String(part) }
        let value = part.utf8.firstIndex(of: UInt8(ascii: "=")).map { part.utf8.index(after: $0) } ?? part.startIndex
        let plain = PercentEncoding.decodedLeniently(part[value...])
        let isURL = plain.utf8.contains { "?#/\\@".utf8.contains($0) }
        var redacted = isURL ? redactedURL(plain[...], levels: levels - 1) : redactedQuery(plain[...], levels: levels - 1)
        // With a name of its own in front, `state=token%3Dx` is a query within a query.
        if isURL, !plain.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) {
            redacted = redactedQuery(redacted[...], levels: 0)
        }
        return redacted.isExactly(plain) ? String(part) : part[..<value] + PercentEncoding.encode(redacted, allowing: .shownURL)
    }
}

extension HTTPFields {
    /// Returns these fields with the never-index flag on every secret one
    /// ([RFC 7541, section 7.1.3](https://www.rfc-editor.org/rfc/rfc7541#section-7.1.3)), so that no proxy keeps them in a table that
    /// others can probe.
    ///
    /// For transports that encode HTTP/2 or HTTP/3. HTTP/1.1 has no such flag.
    public func markingSensitive(by sensitivity: Sensitivity) -> HTTPFields {
        guard contains(where: { sensitivity.isSensitive($0) }) else { return self }
        var marked = HTTPFields()
        marked.reserveCapacity(count)
        for var field in self {
            if sensitivity.isSensitive(field) { field.indexingStrategy = .disallow }
            marked.append(field)
        }
        return marked
    }
}
