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

    /// A member of a JSON object. As for a query item, but `code` and `key` are too common there to be secret.
    public func isSensitive(memberName: String) -> Bool {
        let name = memberName.lowercased()
        if extraQueryNames.contains(name) || extraFields.contains(name) || Self.knownFields.contains(name) { return true }
        return Self.saysSo(name) || (Self.knownQueryNames.contains(name) && name != "code" && name != "key")
    }

    private static func saysSo(_ name: String) -> Bool {
        // A yes or no of CORS, which tells nothing.
        if name == "access-control-allow-credentials" { return false }
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

    /// Name and value of each field, in order, as they may be shown.
    public func shown(_ fields: HTTPFields) -> [(name: String, value: String)] {
        fields.map { ($0.name.rawName, shownValue(of: $0)) }
    }

    /// A URL or a path and query without credentials and without the values of secret query items. Takes any text.
    public func redactedURL(_ url: String) -> String {
        // By octets throughout: a combining character behind a separator must not hide it.
        guard let mark = url.utf8.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
            return Self.withoutCredentials(url)
        }
        let behind = url.utf8.index(after: mark)
        return Self.withoutCredentials(url[..<behind] + redactedQuery(url[behind...]))
    }

    /// `text` with every authority in it, also one within a query, without what stands before its at sign.
    private static func withoutCredentials(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "@")) else { return text }
        var shown = ""
        var rest = text[...]
        while let slashes = rest.utf8.firstRange(of: "//".utf8) {
            shown += rest[..<slashes.upperBound]
            rest = rest[slashes.upperBound...]
            var end = rest.utf8.firstIndex(where: "/?#<>\" ".utf8.contains) ?? rest.endIndex
            if hasPasswordForPort(rest[..<end]) {
                let near = rest.utf8.prefix(1024)  // a bound, so that no text costs more than its length
                end = near.firstIndex(where: "<>\" ".utf8.contains) ?? near.endIndex
            }
            if let at = rest.utf8[..<end].lastIndex(of: UInt8(ascii: "@")) {
                shown += "\(urlPlaceholder):\(urlPlaceholder)"
                rest = rest[at...]
            }
        }
        return shown + rest
    }

    /// Whether what stands for a port is none, and so perhaps the front of a password that holds an unescaped `/`, `?` or `#`.
    private static func hasPasswordForPort(_ authority: Substring) -> Bool {
        guard authority.utf8.first != UInt8(ascii: "["), let colon = authority.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
        return !authority.utf8[colon...].dropFirst().allSatisfy(\.isASCIIDigit)
    }

    /// A query or a fragment (OAuth's implicit grant puts tokens there), percent-encoded, without the values of secret items.
    ///
    /// An item ends at `&` or `#`. Within one that is not secret, what follows `?` or `;` is looked at as well: a value may be a URL.
    public func redactedQuery(_ query: some StringProtocol) -> String {
        var rest = Substring(query)
        guard rest.utf8.contains(UInt8(ascii: "=")) else { return String(rest) }
        var shown = ""
        var isSecret = false  // up to the end of the item
        while true {
            let end = rest.utf8.firstIndex(where: "&#?;".utf8.contains) ?? rest.endIndex
            let part = rest[..<end]
            if !isSecret {
                let equals = part.utf8.firstIndex(of: UInt8(ascii: "="))
                isSecret = equals.map { isSensitive(queryName: PercentEncoding.decode(part[..<$0]) ?? String(part[..<$0])) } ?? false
                if isSecret, let equals { shown += part[..<equals] + "=" + Self.urlPlaceholder } else { shown += part }
            }
            guard end < rest.endIndex else { return shown }
            let behind = rest.utf8.index(after: end)
            if rest[end..<behind] == "&" || rest[end..<behind] == "#" { isSecret = false }
            if !isSecret { shown += rest[end..<behind] }
            rest = rest[behind...]
        }
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
