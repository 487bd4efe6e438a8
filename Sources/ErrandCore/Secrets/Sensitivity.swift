/// The rules that decide which fields and query items are secret, and how secret values are shown.
///
/// ```swift
/// request.options.sensitivity.formUnion(Sensitivity(fields: [HTTPField.Name("X-Card")!], queryNames: ["card"]))
/// ```
///
/// **Names decide which values are secret.** These names are secret:
///
/// - A list of known names, such as `Cookie`.
/// - Names that contain `token`, `secret`, `password`, `passphrase`, `credential`, `authoriz`, `jwt`, `api-key`, `access-key`,
///   `private-key` or a similar word. `authorized` is not secret.
/// - Names whose last word is `pass`, such as `db_pass`.
/// - Names of header fields that end in `-key`, except known harmless names such as `Idempotency-Key`, `Surrogate-Key` and
///   `Sec-WebSocket-Key`.
/// - Names that a request declares in ``RequestOptions/sensitivity``.
///
/// A field with the never-index flag is secret too. Logs, failures, descriptions and all exports obey these rules, and a redirect
/// to another origin removes secret fields.
public struct Sensitivity: Sendable, Hashable {
    /// The text that is shown instead of a field's value. The angle brackets show that the text is not a value.
    public static let placeholder = "<redacted>"
    /// The text that is shown instead of the value of a query item or a value in a body, as in OpenTelemetry's conventions. The
    /// text has only letters, so that URLs, JSON and forms stay valid.
    public static let urlPlaceholder = "REDACTED"
    /// The text that is shown instead of the user information of a URL: a name and a password.
    package static let userInfoPlaceholder = "\(urlPlaceholder):\(urlPlaceholder)"

    /// The standard rules, without names of your own.
    public static let standard = Sensitivity()

    private var extraFields: Set<String> = []  // octets: see isOne(of:_:)
    private var extraQueryNames: Set<String> = []  // octets: see isOne(of:_:)

    /// Creates the standard rules, without names of your own.
    public init() {}

    /// Creates the standard rules with additional names. Case does not matter.
    ///
    /// - Parameters:
    ///   - fields: names of header fields. Members of JSON objects with these names are secret too.
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

    // MARK: Rules

    /// Returns whether a field is secret by its name or by its never-index flag.
    public func isSensitive(_ field: HTTPField) -> Bool {
        if case .disallow = field.indexingStrategy { return true }
        return isSensitive(field.name)
    }

    /// Returns whether fields of this name are secret.
    public func isSensitive(_ name: HTTPField.Name) -> Bool {
        let name = name.canonicalName
        return Self.isOne(of: Self.knownFields, name) || Self.isOne(of: extraFields, name) || Self.saysSo(name) || Self.isKey(name)
    }

    /// Returns whether query items of this name are secret.
    public func isSensitive(queryName: String) -> Bool {
        let name = queryName.lowercased()
        return Self.isOne(of: Self.knownQueryNames, name) || Self.isOne(of: extraQueryNames, name) || Self.saysSo(name)
            || Self.endsInPassInCamelCase(queryName)
    }

    /// Returns whether members of a JSON object with this name are secret. The rules for query items apply, and known or declared names of
    /// secret fields are secret too. `code` and `key` are secret only if they are declared, because these names are too common in JSON.
    public func isSensitive(memberName: String) -> Bool {
        let name = memberName.lowercased()
        if Self.isOne(of: extraQueryNames, name) || Self.isOne(of: extraFields, name) || Self.isOne(of: Self.knownFields, name) {
            return true
        }
        return Self.saysSo(name) || Self.endsInPassInCamelCase(memberName)
            || (Self.isOne(of: Self.knownQueryNames, name) && !name.isExactly("code") && !name.isExactly("key"))
    }

    /// Returns whether a name is in a set. A name longer than 256 bytes is in no set. Only the parts of a longer name determine whether the
    /// name is secret.
    private static func isOne(of names: Set<String>, _ name: String) -> Bool {  // octets: at most 256 bytes are looked up
        !names.isEmpty && name.utf8.count <= FieldLimits.nameBytes && names.contains(name)
    }

    /// Returns whether a part of the name says that the value is secret.
    ///
    /// - Parameter name: the name in lower case.
    private static func saysSo(_ name: String) -> Bool {
        // The value of this CORS field is a Boolean, which reveals no secret.
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
        // `authorized` names a state, not a secret.
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

    /// The first octets of the parts that mark a secret. Most octets of a name are not in this set, and need no further
    /// comparison.
    private static let tellingStarts = ByteSet { octet in tellingParts.contains { $0[0] == octet } }

    /// Returns whether the last word is `pass`: `pass`, `x-auth-pass`, `user[pass]`.
    private static func endsInPass(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        let letters = name.lastIndex { $0.isASCIILetter }.map { name[...$0] } ?? name[..<0]
        guard letters.suffix(4).elementsEqual("pass".utf8) else { return false }
        return letters.dropLast(4).last.map { !$0.isASCIILetter && !$0.isASCIIDigit && $0 < 0x80 } ?? true
    }

    /// Returns whether a name in camel case ends in `Pass`: `userPass`.
    private static func endsInPassInCamelCase(_ name: String) -> Bool { name.hasOctetSuffix("Pass") }

    /// Returns whether the name of a field, in lower case, means that its value is a secret key. The word before `-key` decides whether
    /// the key is secret.
    private static func isKey(_ name: String) -> Bool {
        guard name.hasOctetSuffix("-key") else { return false }
        let front = name.utf8.dropLast(4)
        let start = front.lastIndex { !$0.isASCIILetter && !$0.isASCIIDigit }.map(front.index(after:)) ?? front.startIndex
        return !plainKeys.contains { $0.utf8.elementsEqual(front[start...]) }
    }

    /// The words before `-key` in names that are not secret. The keys with these names only name a thing, or are created by a protocol for
    /// each message.
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

    // MARK: Shown text

    /// Returns the text to show for a field: the value, or the placeholder if the field is secret. If the value is or
    /// contains a path or a URL (`Location`, `Referer`, `X-Accel-Redirect`, …), the URL is shown without its secrets.
    public func shownValue(of field: HTTPField) -> String {
        if isSensitive(field) { return Self.placeholder }
        let value = field.value
        // Fields such as `X-Accel-Redirect` have a path or a URL too.
        let hasURL = Self.urlFields.contains(field.name) || value.hasOctetPrefix("/") || value.containsOctets("://")
        return hasURL ? redactedURL(value) : value
    }

    /// Returns the name and the value of each field, in order, with each secret value replaced. A value longer than 8 KiB is
    /// truncated, and its length is added.
    public func shown(_ fields: HTTPFields) -> [(name: String, value: String)] {
        fields.map { field in
            let value = shownValue(of: field)
            let length = value.utf8.count
            guard length > FieldLimits.valueBytes else { return (field.name.rawName, value) }
            let shown = String(decoding: value.utf8.prefix(FieldLimits.valueBytes), as: UTF8.self)
            return (field.name.rawName, "\(shown)… (\(length.counted("byte")))")
        }
    }

    /// Returns the fields, in order, with each secret value replaced, for records that keep header fields. A value longer than 8 KiB is
    /// truncated, and its length is added.
    public func redacted(_ fields: HTTPFields) -> HTTPFields {
        var redacted = HTTPFields()
        redacted.reserveCapacity(fields.count)
        for (field, shown) in zip(fields, shown(fields)) { redacted.append(HTTPField(name: field.name, value: shown.value)) }
        return redacted
    }

    /// Returns a URL, or a path and query, without credentials and without the values of secret query items. Accepts any text.
    ///
    /// Percent-encoded text is decoded up to three times: an encoded URL within a query item is shown without its secrets too. If
    /// the beginning or the end of a password is unclear, all text that may belong to the password is replaced. The time is
    /// linear in the length of the text.
    public func redactedURL(_ url: String) -> String {
        var secrets = URLSecrets(self)
        return secrets.redactedURL(url[...])
    }

    /// Returns a percent-encoded query or fragment without the values of secret items. The implicit grant of OAuth puts tokens
    /// into fragments.
    ///
    /// An item ends with `&` or `#`. Within an item that is not secret, the text after `?` or `;` is checked too, because a value
    /// may be a URL. The decoded text of the item is also checked.
    public func redactedQuery(_ query: some StringProtocol) -> String {
        var secrets = URLSecrets(self)
        return secrets.redactedQuery(Substring(query))
    }

    /// Returns the decoded values that ``redactedURL(_:)`` or ``redactedQuery(_:)`` replaces. A value may occur more than once.
    package func secretValues(inURL url: String) -> [String] { URLSecrets.values(inURL: url, by: self) }
}

extension HTTPFields {
    /// Returns these fields with the never-index flag on every secret field
    /// ([RFC 7541, section 7.1.3](https://www.rfc-editor.org/rfc/rfc7541#section-7.1.3)). The flag prevents a proxy from
    /// keeping a secret in a table that an attacker can probe.
    ///
    /// This function is for transports that encode HTTP/2 or HTTP/3. HTTP/1.1 has no never-index flag.
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
