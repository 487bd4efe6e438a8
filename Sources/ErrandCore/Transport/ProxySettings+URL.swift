extension ProxySettings {
    /// Reads the URL of a proxy, as curl does.
    ///
    /// ```swift
    /// try ProxySettings("http://me:secret@proxy.example:3128")
    /// ```
    ///
    /// | Scheme | Proxy | Port, if there is none |
    /// |---|---|---|
    /// | `http`, or no scheme | HTTP | 1080 |
    /// | `https` | HTTPS | 443 |
    /// | `socks5h`, `socks5` | SOCKS 5; the proxy resolves host names in both cases | 1080 |
    ///
    /// The user and the password are percent-encoded where they have other characters than letters, digits, and `-._~!$&'()*+,;=`. A user
    /// without a colon has an empty password.
    ///
    /// - Throws: ``ProxySettingsError`` for any other text. It never shows the text.
    public init(_ url: String) throws(ProxySettingsError) { try self.init(url, variable: nil) }

    /// - Parameter variable: the variable of the environment that has the URL.
    init(_ url: String, variable: String?) throws(ProxySettingsError) {
        func refused(_ reason: String) -> ProxySettingsError { ProxySettingsError(reason, variable: variable) }
        guard url.utf8.count <= FieldLimits.valueBytes else { throw refused("it is longer than 8 KiB") }
        var (rest, kind) = (url[...], Kind.http)
        if let mark = rest.firstRange(of: "://") {
            guard let named = Self.kind(of: rest[..<mark.lowerBound]) else {
                throw refused("its scheme must be http, https, socks5 or socks5h")
            }
            (rest, kind) = (rest[mark.upperBound...], named)
        }
        let authority = rest.prefix { !"/?#".contains($0) }
        let end = rest[authority.endIndex...]
        guard end.isEmpty || end == "/" else {
            throw refused(
                end.contains("@") ? "its user and password must be percent-encoded" : "it has more than a scheme, a host and a port")
        }
        var credentials: Credentials?
        var place = authority
        if let at = authority.lastIndex(of: "@") {
            place = authority[authority.index(after: at)...]
            let parts = authority[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let decoded = parts.map { PercentEncoding.decode($0) }
            guard let user = decoded[0], let password = decoded.count == 2 ? decoded[1] : "" else {
                throw refused("its user and password must be percent-encoded")
            }
            credentials = Credentials(user: user, password: password)
        }
        do {
            let origin = try Origin(scheme: "http", authority: String(place), in: "")
            let host = origin.host.hasPrefix("[") ? String(origin.host.dropFirst().dropLast()) : origin.host
            // Each scheme leaves its own port out.
            let port = try origin.port ?? Origin(scheme: "https", authority: String(place), in: "").port
            self.init(kind, host, port ?? (kind == .https ? 443 : 1080), credentials)
        } catch {
            // The host is not shown: it may be a part of a password.
            throw refused("its host or its port is invalid")
        }
        do {
            _ = try address()
        } catch {
            throw refused(error.reason)
        }
    }

    private static func kind(of scheme: Substring) -> Kind? {
        switch scheme.lowercased() {
        case "http": .http
        case "https": .https
        case "socks5", "socks5h": .socks5
        default: nil
        }
    }
}

/// The settings of a proxy can't be used, or a transport does not support them.
///
/// It never shows the URL of a proxy, which may hold a password:
///
/// ```
/// invalid proxy in the variable https_proxy: its scheme must be http, https, socks5 or socks5h
/// ```
public struct ProxySettingsError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    /// The variable of the environment; `nil` if the settings come from elsewhere.
    public let variable: String?
    /// What is wrong.
    public let reason: String

    package init(_ reason: String, variable: String? = nil) { (self.reason, self.variable) = (reason, variable) }

    /// The variable, and what is wrong.
    public var description: String { "invalid proxy\(variable.map { " in the variable \($0)" } ?? ""): \(reason)" }
    /// A sentence for people.
    public var errorDescription: String? { "The settings of the proxy are not valid." }
    /// What is wrong, with the variable.
    public var failureReason: String? { description.asSentence }
}

extension ProxySettingsError: SafelyDescribedError {}
