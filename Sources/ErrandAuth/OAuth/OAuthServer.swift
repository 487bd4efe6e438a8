#if Auth
public import ErrandCore
internal import ErrandFormats

/// The endpoints and the features of an OAuth 2 authorization server ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414)).
///
/// ```swift
/// let server = try await OAuthServer.discover(issuer: "https://auth.example", via: HTTPStack.default)
/// let known = OAuthServer(tokenEndpoint: "https://auth.example/token", authorizationEndpoint: "https://auth.example/authorize")
/// ```
public struct OAuthServer: Sendable, Hashable {
    /// The URL that identifies the server. `nil` if the URL is not known. If the URL is `nil`, the issuer of a redirect is not
    /// checked.
    public var issuer: String?
    /// The URL of the endpoint that issues tokens.
    public var tokenEndpoint: String
    /// The URL at which a person signs in with a browser; `nil` if there is no such URL.
    public var authorizationEndpoint: String?
    /// The URL at which a device without a browser begins a sign-in ([RFC 8628](https://www.rfc-editor.org/rfc/rfc8628)); `nil` if
    /// there is no such URL.
    public var deviceAuthorizationEndpoint: String?
    /// The URL of the endpoint that revokes tokens ([RFC 7009](https://www.rfc-editor.org/rfc/rfc7009)); `nil` if there is no
    /// such URL.
    public var revocationEndpoint: String?
    /// Whether the server names its issuer in each redirect ([RFC 9207](https://www.rfc-editor.org/rfc/rfc9207)). If `namesIssuer` is true,
    /// a redirect without an issuer is refused.
    public var namesIssuer: Bool

    /// Creates the description of a server from known values, for example if the server does not publish a description.
    public init(
        issuer: String? = nil, tokenEndpoint: String, authorizationEndpoint: String? = nil, deviceAuthorizationEndpoint: String? = nil,
        revocationEndpoint: String? = nil, namesIssuer: Bool = false
    ) {
        (self.issuer, self.tokenEndpoint, self.authorizationEndpoint) = (issuer, tokenEndpoint, authorizationEndpoint)
        (self.deviceAuthorizationEndpoint, self.revocationEndpoint) = (deviceAuthorizationEndpoint, revocationEndpoint)
        self.namesIssuer = namesIssuer
    }

    /// Fetches the description that a server publishes.
    ///
    /// The path of the description is `/.well-known/oauth-authorization-server`. If there is no readable description, this function tries
    /// the path of OpenID Connect: `/.well-known/openid-configuration`.
    ///
    /// - Parameters:
    ///   - issuer: the URL that identifies the server. The URL must use `https`, or the host must be this machine.
    ///   - sender: the sender that sends the requests. Redirects are not followed.
    /// - Throws: ``OAuthError`` if `issuer` or an endpoint is not a secure URL, if the description is missing, is invalid, or names another
    ///   issuer, and if the server does not support PKCE with S256; the errors of `sender`.
    public static func discover(issuer: String, via sender: some HTTPSender) async throws -> OAuthServer {
        guard let url = try? HTTPURL(issuer), url.query == nil else {
            throw OAuthError(.unsupported, "the issuer '\(issuer.shownSafely(limit: 200))' must be an https URL without a query")
        }
        try checkSecure(issuer)
        let path = url.path.hasOctetSuffix("/") ? String(url.path.dropLast()) : url.path
        let base = "\(url.scheme)://\(url.authority)"
        // RFC 8414, section 3.1: the issuer's path follows the well-known path. With OpenID Connect, the issuer's path comes first.
        var isUnreadable = false
        let places = ["/.well-known/oauth-authorization-server\(path)", "\(path)/.well-known/openid-configuration"]
        for place in places {
            var request = try Request(.get, url: base + place)
            request.headers[.accept] = "application/json"
            request.options.forbidsRedirects = true
            let response = try await sender.send(request)
            guard response.status.kind == .successful else {
                response.discard()
                continue
            }
            let data = try await response.body.collect(upTo: OAuthClient.responseLimitBytes)
            guard let metadata = try? OAuthResponse.coding.decode(Metadata.self, from: data), let named = metadata.issuer else {
                // Some servers respond to any path with a web page.
                isUnreadable = true
                continue
            }
            guard named.isExactly(issuer) else {
                let (shown, expected) = (named.shownSafely(limit: 200), issuer.shownSafely(limit: 200))
                throw OAuthError(.issuerMismatch, "the metadata names the issuer '\(shown)', not '\(expected)'")
            }
            guard let token = metadata.tokenEndpoint else { throw OAuthError(.invalidResponse, "the metadata names no token endpoint") }
            for endpoint in [token, metadata.authorizationEndpoint, metadata.deviceAuthorizationEndpoint, metadata.revocationEndpoint] {
                if let endpoint { try checkSecure(endpoint) }
            }
            if let methods = metadata.codeChallengeMethodsSupported, !methods.contains(where: { $0.isExactly("S256") }) {
                throw OAuthError(.unsupported, "the server does not support PKCE with S256")
            }
            return OAuthServer(
                issuer: issuer, tokenEndpoint: token, authorizationEndpoint: metadata.authorizationEndpoint,
                deviceAuthorizationEndpoint: metadata.deviceAuthorizationEndpoint, revocationEndpoint: metadata.revocationEndpoint,
                namesIssuer: metadata.authorizationResponseIssParameterSupported ?? false)
        }
        let shown = places.map { base + $0 }.joined(separator: " and ").shownSafely(limit: 400)
        if isUnreadable { throw OAuthError(.invalidResponse, "the metadata of the server can't be read: \(shown)") }
        throw OAuthError(.unsupported, "the server publishes no metadata at \(shown)")
    }

    /// - Throws: ``OAuthError`` unless the URL uses `https`, or the host is this machine.
    static func checkSecure(_ text: String) throws {
        let shown = Substring(text.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }).shownSafely(limit: 200)
        guard let url = try? HTTPURL(text) else { throw OAuthError(.unsupported, "the endpoint '\(shown)' is not a URL") }
        guard url.scheme.isExactly("https") || url.origin.isThisMachine else {
            throw OAuthError(.unsupported, "the endpoint '\(shown)' does not use https")
        }
    }

    /// The published description. An endpoint that is empty or not text is treated as missing.
    private struct Metadata: Decodable {
        let issuer: String?
        let tokenEndpoint: String?
        let authorizationEndpoint: String?
        let deviceAuthorizationEndpoint: String?
        let revocationEndpoint: String?
        let codeChallengeMethodsSupported: [String]?
        let authorizationResponseIssParameterSupported: Bool?

        private enum CodingKeys: CodingKey {
            case issuer, tokenEndpoint, authorizationEndpoint, deviceAuthorizationEndpoint, revocationEndpoint,
                codeChallengeMethodsSupported
            case authorizationResponseIssParameterSupported
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            issuer = container.text(.issuer)
            tokenEndpoint = container.text(.tokenEndpoint)
            authorizationEndpoint = container.text(.authorizationEndpoint)
            revocationEndpoint = container.text(.revocationEndpoint)
            deviceAuthorizationEndpoint = container.text(.deviceAuthorizationEndpoint)
            codeChallengeMethodsSupported = try container.decodeIfPresent([String].self, forKey: .codeChallengeMethodsSupported)
            authorizationResponseIssParameterSupported =
                try container.decodeIfPresent(Bool.self, forKey: .authorizationResponseIssParameterSupported)
        }
    }
}
#endif
