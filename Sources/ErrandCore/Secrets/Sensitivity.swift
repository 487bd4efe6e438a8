/// Which fields and query items are secret, and how they are shown.
///
/// **Names decide**: a known list, names that say so themselves (`token`, `secret`, `password`, `api-key` within them), and names
/// declared on a request. A field's own never-index flag adds to that. Logs, failures, descriptions and every export obey it.
public struct Sensitivity: Sendable, Hashable {
    /// What is shown in place of a field's value.
    public static let placeholder = "<redacted>"
    /// What is shown in place of a query item's value and of credentials in a URL, as OpenTelemetry's conventions have it.
    public static let urlPlaceholder = "REDACTED"

    /// The known names alone.
    public static let standard = Sensitivity()

    private var extraFields: Set<String> = []
    private var extraQueryNames: Set<String> = []

    public init() {}

    /// Names in addition to the known ones; case does not matter.
    public init(fields: some Sequence<HTTPField.Name>, queryNames: some Sequence<String> = []) {
        extraFields = Set(fields.map(\.canonicalName))
        extraQueryNames = Set(queryNames.map { $0.lowercased() })
    }

    public mutating func formUnion(_ other: Sensitivity) {
        extraFields.formUnion(other.extraFields)
        extraQueryNames.formUnion(other.extraQueryNames)
    }

    // MARK: What is secret

    public func isSensitive(_ field: HTTPField) -> Bool {
        if case .disallow = field.indexingStrategy { return true }
        return isSensitive(field.name)
    }

    public func isSensitive(_ name: HTTPField.Name) -> Bool {
        let name = name.canonicalName
        return Self.isOne(of: Self.knownFields, name) || Self.isOne(of: extraFields, name) || Self.saysSo(name)
    }

    public func isSensitive(queryName: String) -> Bool {
        let name = queryName.lowercased()
        return Self.isOne(of: Self.knownQueryNames, name) || Self.isOne(of: extraQueryNames, name) || Self.saysSo(name)
    }

    /// A member of a JSON object. As for a query item, but `code` and `key` are too common there to be secret.
    public func isSensitive(memberName: String) -> Bool {
        let name = memberName.lowercased()
        if Self.isOne(of: extraQueryNames, name) || Self.isOne(of: extraFields, name) || Self.isOne(of: Self.knownFields, name) {
            return true
        }
        return Self.saysSo(name) || (Self.isOne(of: Self.knownQueryNames, name) && name != "code" && name != "key")
    }

    /// Longer names are looked at by their parts alone.
    private static func isOne(of names: Set<String>, _ name: String) -> Bool {
        !names.isEmpty && name.utf8.count <= FieldLimits.nameBytes && names.contains(name)
    }

    private static func saysSo(_ name: String) -> Bool {
        // A yes or no of CORS, which tells nothing.
        if name.utf8.elementsEqual("access-control-allow-credentials".utf8) { return false }
        return tellingParts.contains { name.utf8.count >= $0.utf8.count && name.utf8.contains($0.utf8) }
    }

    private static let tellingParts = ["token", "secret", "password", "passwd", "api-key", "apikey", "api_key", "credential"]

    private static let knownFields: Set<String> = [
        "authorization", "proxy-authorization", "authentication-info", "proxy-authentication-info", "cookie", "set-cookie",
        "cookie2", "set-cookie2", "x-api-key", "x-auth", "x-session-id", "x-amz-signature", "dpop", "x-goog-iap-jwt-assertion",
        "x-jwt-assertion", "x-ms-authorization-auxiliary", "x-auth-key", "x-functions-key", "ocp-apim-subscription-key",
        "dd-application-key",
        "x-honeycomb-team",
    ]

    private static let knownQueryNames: Set<String> = [
        "x-amz-signature", "x-amz-credential", "x-amz-security-token", "awsaccesskeyid", "signature", "sig", "x-goog-signature",
        "x-goog-credential", "key", "auth", "authorization", "pwd", "code", "code_verifier", "assertion", "client_assertion",
        "session", "sessionid", "session_id", "jwt",
    ]

    private static let urlFields: Set<String> = ["location", "content-location", "referer", "link", "refresh"]

    // MARK: How it is shown

    /// The value, the placeholder, or for a field that holds a URL (`Location`, `Referer`, …) that URL without its secrets.
    public func shownValue(of field: HTTPField) -> String {
        if isSensitive(field) { return Self.placeholder }
        return Self.urlFields.contains(field.name.canonicalName) ? redactedURL(field.value) : field.value
    }

    /// Name and value of each field, in order, as they may be shown. A value longer than 8 KiB is cut there, and its length stands after it.
    public func shown(_ fields: HTTPFields) -> [(name: String, value: String)] {
        fields.map { field in
            let value = shownValue(of: field)
            let length = value.utf8.count
            guard length > FieldLimits.valueBytes else { return (field.name.rawName, value) }
            return (field.name.rawName, String(decoding: value.utf8.prefix(FieldLimits.valueBytes), as: UTF8.self) + "… (\(length) bytes)")
        }
    }

    /// A URL or a path and query without credentials and without the values of secret query items. Takes any text.
    ///
    /// Escapes are seen through: an escaped URL within a query item is shown without its secrets too. Where the text does not say clearly what
    /// is a password and what is not, more is replaced rather than less. The work is linear in the length of the text.
    public func redactedURL(_ url: String) -> String { redactedURL(url[...], levels: Self.escapeLevels) }

    /// How many escapes within escapes are seen through.
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

    /// A path may hold an escaped URL, as a proxy's does.
    private func redactedPath(_ path: Substring, levels: Int) -> String {
        guard levels > 0, path.utf8.contains(UInt8(ascii: "%")) else { return String(path) }
        let plain = PercentEncoding.decodedLeniently(path)
        let redacted = redactedURL(plain[...], levels: levels - 1)
        return redacted == plain ? String(path) : PercentEncoding.encode(redacted, allowing: .shownURL)
    }

    /// A query or a fragment (OAuth's implicit grant puts tokens there), percent-encoded, without the values of secret items.
    ///
    /// An item ends at `&` or `#`. Within one that is not secret, what follows `?` or `;` is looked at as well: a value may be a URL. So is
    /// what its escapes stand for.
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
            if rest[end..<after] == "&" || rest[end..<after] == "#" { isSecret = false }
            if !isSecret { shown += rest[end..<after] }
            rest = rest[after...]
        }
    }

    /// One part of a query whose own name is not secret: its escapes may hold a URL, or a query.
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
        return redacted == plain ? String(part) : part[..<value] + PercentEncoding.encode(redacted, allowing: .shownURL)
    }
}

extension HTTPFields {
    /// These fields with the never-index flag on every secret one ([RFC 7541, 7.1.3](https://www.rfc-editor.org/rfc/rfc7541#section-7.1.3)), so that
    /// no proxy keeps them in a table that others can probe.
    ///
    /// For a transport that encodes HTTP/2 or HTTP/3. HTTP/1.1 has no such flag.
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
