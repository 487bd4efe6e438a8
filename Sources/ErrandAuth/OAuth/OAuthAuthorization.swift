#if Auth
public import ErrandCore
internal import ErrandFormats

/// A sign-in that has begun in a browser: see ``OAuthClient/authorization(redirectURI:scopes:parameters:)``. Use each authorization
/// once.
///
/// The description shows no secret.
public struct OAuthAuthorization: Sendable, CustomStringConvertible, HidesStorage {
    /// The URL to open in a browser.
    public let url: String
    /// The URL to which the server redirects the browser at the end of the sign-in.
    public let redirectURI: String
    let state: String
    let verifier: String
    let scopes: [String]

    /// Returns whether a redirect of the browser belongs to this sign-in. The URL of such a redirect has the `state` of this
    /// sign-in.
    ///
    /// A program that gets several URLs waits for the URL of its sign-in, and ignores the other URLs.
    public func matches(redirect: String) -> Bool {
        let states = Self.items(in: redirect).filter { $0.name.isExactly("state") }
        return states.count == 1 && states[0].value?.isExactly(state) == true
    }

    /// Returns the items of the URL's query, which is a form
    /// ([RFC 6749, section 4.1.2](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2)).
    private static func items(in text: String) -> [(name: String, value: String?)] {
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) else { return [] }
        let query = text[text.utf8.index(after: mark)...]
        return FormURLEncoded.decode(query[..<(query.utf8.firstIndex(of: UInt8(ascii: "#")) ?? query.endIndex)])
    }

    /// Returns the code in the URL of the redirect.
    func code(in text: String, server: OAuthServer) throws -> String {
        let pairs = Self.items(in: text)
        func values(_ name: String) -> [String] { pairs.filter { $0.name.isExactly(name) }.map { $0.value ?? "" } }
        guard !values("state").isEmpty else {
            throw OAuthError(.stateMismatch, "the redirect has no state: pass the whole URL that the browser was sent to")
        }
        guard matches(redirect: text) else { throw OAuthError(.stateMismatch, "the redirect belongs to another sign-in") }
        // A parameter must not occur more than once (RFC 6749, section 3.1).
        for name in ["code", "iss", "error"] where values(name).count > 1 {
            throw OAuthError(.invalidResponse, "the redirect has the parameter '\(name)' more than once")
        }
        let issuer = values("iss").first
        if let issuer, let expected = server.issuer, !issuer.isExactly(expected) {
            throw OAuthError(.issuerMismatch, "the redirect comes from another server")
        }
        if issuer == nil, server.namesIssuer {
            throw OAuthError(.issuerMismatch, "the redirect has no parameter iss, and the server must name its issuer")
        }
        func given(_ name: String) -> String? { values(name).first.flatMap { $0.isEmpty ? nil : $0 } }
        if let error = given("error") {
            throw OAuthError(OAuthError.Code(error), given("error_description") ?? "", uri: given("error_uri"))
        }
        guard let code = given("code") else { throw OAuthError(.invalidResponse, "the redirect has no code") }
        return code
    }

    /// `sign-in at https://auth.example/authorize`.
    public var description: String { "sign-in at \(Substring(url.utf8.prefix { $0 != UInt8(ascii: "?") }))" }
}

/// The code and the page for a sign-in on another device
/// ([RFC 8628, section 3.2](https://www.rfc-editor.org/rfc/rfc8628#section-3.2)).
public struct DeviceAuthorization: Sendable, CustomStringConvertible, HidesStorage {
    /// The code that the person types.
    public let userCode: String
    /// The page on which the person types the code.
    public let verificationURI: String
    /// The URL of the same page, with the user code in the URL, for a QR code; `nil` if the server sent no such URL.
    public let verificationURIComplete: String?
    /// The date when the user code and the device code expire.
    public let expiresAt: Date
    let deviceCode: String
    let interval: Duration
    let scopes: [String]

    /// `visit https://auth.example/device`.
    public var description: String { "visit \(verificationURI.shownSafely(limit: 200))" }
}

extension OAuthClient {
    /// Begins a sign-in with another device. Show the person the code and the page, then call ``token(for:clock:)``.
    ///
    /// If the response names no lifetime, the codes expire after 30 minutes.
    ///
    /// - Throws: ``OAuthError``; the errors of the sender.
    public func deviceAuthorization(scopes: [String] = []) async throws -> DeviceAuthorization {
        guard let endpoint = server.deviceAuthorizationEndpoint else {
            throw OAuthError(.unsupported, "the server has no endpoint for devices")
        }
        let read = try await post(Self.scope(scopes), to: endpoint) {
            try $0.value(DeviceResponse.self, orElse: "the response has no code for a device")
        }
        return DeviceAuthorization(
            userCode: read.userCode, verificationURI: read.verificationUri, verificationURIComplete: read.verificationUriComplete,
            expiresAt: date + (read.expiresIn?.seconds ?? 1_800), deviceCode: read.deviceCode,
            interval: .seconds(min(max(1, read.interval?.seconds ?? 5), 300)), scopes: scopes)
    }

    /// Waits until the person has signed in with the other device, and returns the token.
    ///
    /// Polls the server at the interval that the server sent: 5 s if the server sent no interval. The interval grows
    /// ([RFC 8628, section 3.5](https://www.rfc-editor.org/rfc/rfc8628#section-3.5)):
    /// - by 5 s, after each `slow_down`
    /// - to twice its length, after each lost connection, after each response with the status 429 or 5xx, and after each refusal by
    ///   `rateLimit` or `circuitBreaker`
    ///
    /// - Parameter clock: the clock that measures the waiting times.
    /// - Throws: one of these errors:
    ///   - ``OAuthError`` if the person or the server refuses. If the codes expire, the error has the code `expiredToken`.
    ///   - any other error of the sender, such as an invalid certificate
    ///   - `CancellationError`
    public func token(for authorization: DeviceAuthorization, clock: any Clock<Duration> = ContinuousClock()) async throws -> AccessToken {
        var interval = authorization.interval
        while true {
            try await clock.sleep(for: min(interval, .seconds(max(0, authorization.expiresAt.timeIntervalSince(date)))))
            guard date < authorization.expiresAt else { throw Self.expiredCode }
            do {
                let pairs = [("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("device_code", authorization.deviceCode)]
                return try await token(pairs, scopes: authorization.scopes)
            } catch let error as OAuthError where error.code == .expiredToken && error.message.isEmpty {
                var expired = Self.expiredCode
                expired.request = error.request
                throw expired
            } catch let error as OAuthError where error.code == .authorizationPending {
            } catch let error as OAuthError where error.code == .slowDown {
                interval += .seconds(5)
            } catch let error where TemporaryFailure(error, statuses: Self.busyStatuses) != nil {
                interval *= 2
            }
        }
    }

    private static let busyStatuses = StatusRule("429, 5xx") { $0 == .tooManyRequests || $0.kind == .serverError }
    private static var expiredCode: OAuthError { OAuthError(.expiredToken, "the code for the device has expired") }

    private struct DeviceResponse: OAuthResponseValue {
        static let memberNames = [
            "device_code", "user_code", "verification_uri", "verification_url", "verification_uri_complete", "expires_in", "interval",
        ]

        let deviceCode: String
        let userCode: String
        let verificationUri: String
        let verificationUriComplete: String?
        let expiresIn: Lifetime?
        let interval: Lifetime?

        private enum CodingKeys: CodingKey {
            case deviceCode, userCode, verificationUri, verificationUrl, verificationUriComplete, expiresIn, interval
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            deviceCode = try container.requiredText(.deviceCode)
            userCode = try container.requiredText(.userCode)
            // The name `verification_url` comes from a draft of the RFC. Google's server sends this name.
            verificationUri = try container.text(.verificationUri) ?? container.requiredText(.verificationUrl)
            verificationUriComplete = container.text(.verificationUriComplete)
            expiresIn = try? container.decode(Lifetime.self, forKey: .expiresIn)
            interval = try? container.decode(Lifetime.self, forKey: .interval)
        }
    }
}
#endif
