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
        return Self.knownFields.contains(name) || extraFields.contains(name) || Self.saysSo(name)
    }

    public func isSensitive(queryName: String) -> Bool {
        let name = queryName.lowercased()
        return Self.knownQueryNames.contains(name) || extraQueryNames.contains(name) || Self.saysSo(name)
    }

    private static func saysSo(_ name: String) -> Bool {
        tellingParts.contains { name.utf8.count >= $0.utf8.count && name.contains($0) }
    }

    private static let tellingParts = ["token", "secret", "password", "passwd", "api-key", "apikey", "api_key", "credential"]

    private static let knownFields: Set<String> = [
        "authorization", "proxy-authorization", "authentication-info", "proxy-authentication-info", "cookie", "set-cookie",
        "cookie2", "set-cookie2", "x-api-key", "x-auth", "x-session-id", "x-amz-signature", "dpop", "x-goog-iap-jwt-assertion",
        "x-jwt-assertion", "x-ms-authorization-auxiliary",
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

    /// Name and value of each field, in order, as they may be shown.
    public func shown(_ fields: HTTPFields) -> [(name: String, value: String)] {
        fields.map { ($0.name.rawName, shownValue(of: $0)) }
    }

    /// A URL or a path and query without credentials and without the values of secret query items. Takes any text.
    public func redactedURL(_ url: String) -> String {
        var text = url[...]
        var front = ""
        if let scheme = text.firstRange(of: "//") {
            let rest = text[scheme.upperBound...]
            let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
            if let at = rest[..<end].lastIndex(of: "@") {
                front = text[..<scheme.upperBound] + "\(Self.urlPlaceholder):\(Self.urlPlaceholder)"
                text = text[at...]
            }
        }
        guard let mark = text.firstIndex(of: "?") else { return front + redactedFragment(text) }
        let behind = text[text.index(after: mark)...]
        let end = behind.firstIndex(of: "#") ?? behind.endIndex
        return front + text[...mark] + redactedQuery(behind[..<end]) + redactedFragment(behind[end...])
    }

    /// OAuth's implicit grant puts tokens behind the number sign.
    private func redactedFragment(_ text: Substring) -> String {
        guard let mark = text.firstIndex(of: "#") else { return String(text) }
        return text[...mark] + redactedQuery(text[text.index(after: mark)...])
    }

    /// A query, percent-encoded, without the values of secret items.
    public func redactedQuery(_ query: some StringProtocol) -> String {
        guard query.contains("=") else { return String(query) }
        return query.split(separator: "&", omittingEmptySubsequences: false).map { item in
            guard let equals = item.firstIndex(of: "=") else { return String(item) }
            let name = item[..<equals]
            let plain = PercentEncoding.decode(name) ?? String(name)
            return isSensitive(queryName: plain) ? "\(name)=\(Self.urlPlaceholder)" : String(item)
        }.joined(separator: "&")
    }
}

extension HTTPFields {
    /// These fields with the never-index flag on every secret one (RFC 7541, 7.1.3). Done once, at the transport's boundary.
    package func markingSensitive(by sensitivity: Sensitivity) -> HTTPFields {
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
