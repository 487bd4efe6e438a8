#if Auth
public import ErrandCore
internal import ErrandFormats

/// A sign-in in a browser that has begun: see ``OAuthClient/authorization(redirectURI:scopes:parameters:)``. Use it once.
///
/// Its description shows no secret.
public struct OAuthAuthorization: Sendable, CustomStringConvertible, CustomReflectable {
    /// The URL to open in a browser.
    public let url: String
    /// The URL that the browser is sent to in the end.
    public let redirectURI: String
    let state: String
    let verifier: String
    let scopes: [String]

    /// Whether a URL that a browser was sent to belongs to this sign-in: it has its `state`. A program that gets several URLs waits for the right
    /// one, and ignores the others.
    public func matches(redirect: String) -> Bool { Self.items(in: redirect).filter { $0.name == "state" }.map(\.value) == [state] }

    /// The query is a form ([RFC 6749, section 4.1.2](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2)).
    private static func items(in text: String) -> [(name: String, value: String?)] {
        let query = text.split(separator: "?", maxSplits: 1).dropFirst().first.map { $0.prefix { $0 != "#" } } ?? ""
        return FormURLEncoded.decode(query)
    }

    /// The code in the URL that the browser was sent to.
    func code(in text: String, server: OAuthServer) throws -> String {
        let pairs = Self.items(in: text)
        let items = Dictionary(pairs.map { ($0.name, $0.value ?? "") }) { first, _ in first }
        guard pairs.contains(where: { $0.name == "state" }) else {
            throw OAuthError(.stateMismatch, "the redirect has no state: pass the whole URL that the browser was sent to")
        }
        guard matches(redirect: text) else { throw OAuthError(.stateMismatch, "the redirect belongs to another sign-in") }
        // RFC 6749, section 3.1.
        for name in ["code", "iss", "error"] where pairs.count(where: { $0.name == name }) > 1 {
            throw OAuthError(.invalidResponse, "the redirect has the parameter '\(name)' more than once")
        }
        let issuer = items["iss"]
        if let issuer, let expected = server.issuer, issuer != expected {
            throw OAuthError(.issuerMismatch, "the redirect comes from another server")
        }
        if issuer == nil, server.namesIssuer { throw OAuthError(.issuerMismatch, "the redirect does not name its server") }
        if let error = items["error"] {
            throw OAuthError(OAuthError.Code(error), items["error_description"] ?? "", uri: items["error_uri"])
        }
        guard let code = items["code"], !code.isEmpty else { throw OAuthError(.invalidResponse, "the redirect has no code") }
        return code
    }

    /// `sign-in at https://auth.example/authorize`.
    public var description: String { "sign-in at \(url.prefix { $0 != "?" })" }
    /// The description alone.
    public var customMirror: Mirror { Mirror(self, children: ["authorization": description]) }
}

/// What a person needs to sign in with another device ([RFC 8628, section 3.2](https://www.rfc-editor.org/rfc/rfc8628#section-3.2)).
public struct DeviceAuthorization: Sendable, CustomStringConvertible, CustomReflectable {
    /// The code that the person types.
    public let userCode: String
    /// The page where the person types it.
    public let verificationURI: String
    /// The same page with the code in it, for a QR code; `nil` if the server has none.
    public let verificationURIComplete: String?
    /// When the codes expire.
    public let expiresAt: Date
    let deviceCode: String
    let interval: Duration
    let scopes: [String]

    /// `visit https://auth.example/device`.
    public var description: String { "visit \(verificationURI.shownSafely(limit: 200))" }
    /// The description alone.
    public var customMirror: Mirror { Mirror(self, children: ["authorization": description]) }
}

extension OAuthClient {
    /// Begins a sign-in with another device: show the person the code and the page, then call ``token(for:clock:)``. The codes expire after 30 minutes,
    /// unless the server says when.
    ///
    /// - Throws: ``OAuthError``; what the sender throws.
    public func deviceAuthorization(scopes: [String] = []) async throws -> DeviceAuthorization {
        guard let endpoint = server.deviceAuthorizationEndpoint else { throw OAuthError(.unsupported, "there is no endpoint for devices") }
        let data = try await post(Self.scope(scopes), to: endpoint) { try await $0.body.collect(upTo: Self.responseLimitBytes) }
        guard let read = try? OAuthClient.decoder.decode(DeviceResponse.self, from: data) else {
            throw OAuthError(.invalidResponse, "the response has no code for a device")
        }
        return DeviceAuthorization(
            userCode: read.userCode, verificationURI: read.verificationUri, verificationURIComplete: read.verificationUriComplete,
            expiresAt: date + (read.expiresIn?.seconds ?? 1_800), deviceCode: read.deviceCode,
            interval: .seconds(min(max(1, read.interval?.seconds ?? 5), 300)), scopes: scopes)
    }

    /// Waits until the person has signed in with the other device, and returns the token.
    ///
    /// It asks the server as often as the server permits: every 5 s, unless the server says otherwise. After each `slow_down` it waits 5 s longer, and
    /// twice as long after each lost connection, and each response with the status 429 or 5xx
    /// ([RFC 8628, section 3.5](https://www.rfc-editor.org/rfc/rfc8628#section-3.5)).
    ///
    /// - Parameter clock: measures the waits.
    /// - Throws: ``OAuthError`` if the person refuses, or with `expiredToken` if the codes expire; any other error of the sender, such as a certificate that
    ///   is not valid; `CancellationError`.
    public func token(for authorization: DeviceAuthorization, clock: any Clock<Duration> = ContinuousClock()) async throws -> AccessToken {
        var interval = authorization.interval
        while true {
            try await clock.sleep(for: min(interval, .seconds(max(0, authorization.expiresAt.timeIntervalSince(date)))))
            guard date < authorization.expiresAt else { throw OAuthError(.expiredToken, "nobody has signed in in time") }
            do {
                let pairs = [("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("device_code", authorization.deviceCode)]
                return try await token(pairs, scopes: authorization.scopes)
            } catch let error as OAuthError where error.code == .authorizationPending {
            } catch let error as OAuthError where error.code == .slowDown {
                interval += .seconds(5)
            } catch let error as TransportError where Self.lost.contains(error.code) {
                interval *= 2
            } catch let error as StatusError where error.head.status == .tooManyRequests || error.head.status.kind == .serverError {
                interval *= 2
            }
        }
    }

    /// The failures after which another attempt may succeed.
    private static let lost: Set<TransportError.Code> = [.cannotFindHost, .cannotConnect, .connectionLost, .timedOut]

    private struct DeviceResponse: Decodable {
        let deviceCode: String
        let userCode: String
        let verificationUri: String
        let verificationUriComplete: String?
        let expiresIn: Lifetime?
        let interval: Lifetime?

        private enum CodingKeys: CodingKey { case deviceCode, userCode, verificationUri, verificationUriComplete, expiresIn, interval }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            deviceCode = try container.decode(String.self, forKey: .deviceCode)
            userCode = try container.decode(String.self, forKey: .userCode)
            verificationUri = try container.decode(String.self, forKey: .verificationUri)
            verificationUriComplete = try? container.decode(String.self, forKey: .verificationUriComplete)
            expiresIn = try? container.decode(Lifetime.self, forKey: .expiresIn)
            interval = try? container.decode(Lifetime.self, forKey: .interval)
        }
    }
}
#endif
