internal import ErrandFormats

extension ProxySettings {
    /// Creates the settings from the URL of a proxy, as curl does.
    ///
    /// ```swift
    /// try ProxySettings("http://me:secret@proxy.example:3128")
    /// ```
    ///
    /// | Scheme | Proxy | Port, if the URL has no port |
    /// |---|---|---|
    /// | `http`, or no scheme | HTTP | 1080 |
    /// | `https` | HTTPS | 443 |
    /// | `socks5h`, `socks5` | SOCKS 5; with both schemes, the proxy resolves host names | 1080 |
    ///
    /// In the user and the password, all characters except letters, digits, and `-._~!$&'()*+,;=` must be percent-encoded. If no
    /// colon follows the user, the password is empty. SOCKS 4 is not supported.
    ///
    /// - Throws: ``ProxySettingsError`` if the text has another form. The error names the problem, such as the port, and never
    ///   shows the text.
    public init(_ url: String) throws(ProxySettingsError) { try self.init(url, variable: nil) }

    /// Creates the settings from the URL of a proxy.
    ///
    /// - Parameter variable: the environment variable that has the URL; `nil` if the URL does not come from a variable.
    init(_ url: String, variable: String?) throws(ProxySettingsError) {
        func refused(_ reason: String) -> ProxySettingsError { ProxySettingsError(reason, variable: variable) }
        guard url.utf8.count <= FieldLimits.valueBytes else { throw refused("it is longer than 8 KiB") }
        guard !url.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
            throw refused("it has a space or a control character; in a user or a password, such characters must be percent-encoded")
        }
        var (rest, kind) = (url[...], Kind.http)
        if let mark = Self.schemeEnd(in: url) {
            let scheme = rest[..<mark.lowerBound]
            guard let named = Self.kind(of: scheme) else {
                throw refused(
                    ["socks", "socks4", "socks4a"].contains { scheme.isExactlyIgnoringCase($0) }
                        ? "SOCKS 4 is not supported: use socks5 if the proxy supports it"
                        : "its scheme must be http, https, socks5 or socks5h")
            }
            (rest, kind) = (rest[mark.upperBound...], named)
        }
        let authority = rest[..<(rest.utf8.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex)]
        let end = rest[authority.endIndex...]
        guard end.isEmpty || end.isExactly("/") else {
            throw refused(
                end.containsOctet(UInt8(ascii: "@"))
                    ? "its user and password must be percent-encoded" : "it has more than a scheme, a host and a port")
        }
        var credentials: Credentials?
        var place = authority
        if let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) {
            place = authority[authority.utf8.index(after: at)...]
            guard at > authority.startIndex else { throw refused("it has an '@' without a user before it") }
            guard !authority[..<at].containsOctet(UInt8(ascii: "@")) else {
                throw refused("it has more than one '@': in a user and a password, '@' must be percent-encoded as %40")
            }
            let parts = authority[..<at].split(atOctet: UInt8(ascii: ":"), maxSplits: 1, omittingEmptyPieces: false)
            let decoded = parts.map { PercentEncoding.decode($0) }
            guard let user = decoded[0], let password = decoded.count == 2 ? decoded[1] : "" else {
                throw refused("its user and password must be percent-encoded")
            }
            credentials = Credentials(user: user, password: password)
        }
        // Neither the host nor the port is shown, because they may be a part of a password.
        guard let parts = Self.split(place) else { throw refused("its host has a colon: an IPv6 address must be in brackets") }
        guard !parts.host.isEmpty else { throw refused("it has no host") }
        guard let port = parts.port.isEmpty ? kind.defaultPort : Int(portDigits: parts.port.utf8) else {
            throw refused("its port must be a number from 1 to 65535")
        }
        do {
            let host = try Host.normalized(parts.host, in: "")
            self.init(kind, host.hasOctetPrefix("[") ? String(host.dropFirst().dropLast()) : host, port, credentials)
        } catch {
            throw refused("its host is neither a name nor an address")
        }
        do {
            _ = try address()
        } catch {
            throw refused(error.reason)
        }
    }

    /// Returns the host and the port. The port is empty if the text has no port. `nil` if the host has a colon and no brackets.
    private static func split(_ place: Substring) -> (host: Substring, port: Substring)? {
        let colonOctet = UInt8(ascii: ":")
        let afterBracket = place.utf8.lastIndex(of: UInt8(ascii: "]")) ?? place.startIndex
        guard let colon = place[afterBracket...].utf8.lastIndex(of: colonOctet) else { return (place, "") }
        let host = place[..<colon]
        guard host.hasOctetPrefix("[") || !host.containsOctet(colonOctet) else { return nil }
        return (host, place[place.utf8.index(after: colon)...])
    }

    /// Returns the range of the first `://`.
    private static func schemeEnd(in url: String) -> Range<String.Index>? {
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        guard url[colon...].hasOctetPrefix("://") else { return nil }
        return colon..<url.utf8.index(colon, offsetBy: 3)
    }

    private static func kind(of scheme: Substring) -> Kind? {
        let kinds: [(String, Kind)] = [("http", .http), ("https", .https), ("socks5", .socks5), ("socks5h", .socks5)]
        return kinds.first { scheme.isExactlyIgnoringCase($0.0) }?.1
    }
}

extension ProxySettings.Kind {
    /// The port for a URL without a port.
    fileprivate var defaultPort: Int { self == .https ? 443 : 1080 }
}

/// The error for settings of a proxy that are invalid, or that a transport does not support.
///
/// The error never shows the URL of a proxy, which may hold a password:
///
/// ```
/// invalid proxy in the variable https_proxy: its scheme must be http, https, socks5 or socks5h
/// ```
public struct ProxySettingsError: NumberedFailure, Sendable, Hashable, CustomStringConvertible {
    /// The environment variable; `nil` if the settings do not come from a variable.
    public let variable: String?
    /// The problem.
    public let reason: String

    package init(_ reason: String, variable: String? = nil) { (self.reason, self.variable) = (reason, variable) }

    /// The variable and the problem.
    public var description: String { "invalid proxy\(variable.map { " in the variable \($0)" } ?? ""): \(reason)" }
    public var failureNumber: FailureNumber { .proxySettings }
    /// The problem, with the variable.
    public var failureReason: String? { description.asSentence }
}

extension ProxySettingsError: SafelyDescribedError {}
