#if Auth
public import ErrandCore

/// A sign-in in a browser that has begun: see ``OAuthClient/authorization(redirectTo:scopes:parameters:)``. Use it once.
///
/// Its description shows no secret.
public struct OAuthAuthorization: Sendable, CustomStringConvertible, CustomReflectable {
    /// The URL to open in a browser.
    public let url: String
    /// The URL that the browser is sent to in the end.
    public let redirect: String
    let state: String
    let verifier: String

    /// The code in the URL that the browser was sent to.
    func code(in text: String, server: OAuthServer) throws -> String {
        let query = text.split(separator: "?", maxSplits: 1).dropFirst().first.map { $0.prefix { $0 != "#" } } ?? ""
        let items = URLQuery(percentEncoded: String(query))
        guard items["state"] == state else { throw OAuthError(.stateMismatch, "the redirect does not belong to this sign-in") }
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
    public let completeVerificationURI: String?
    /// When the codes expire.
    public let expiresAt: Date
    let deviceCode: String
    let interval: Duration

    /// `visit https://auth.example/device`.
    public var description: String { "visit \(verificationURI.shownSafely(limit: 200))" }
    /// The description alone.
    public var customMirror: Mirror { Mirror(self, children: ["authorization": description]) }
}

extension OAuthClient {
    /// Begins a sign-in with another device: show the person the code and the page, then call ``token(for:clock:)``.
    ///
    /// - Throws: ``OAuthError``; what the sender throws.
    public func deviceAuthorization(scopes: [String] = []) async throws -> DeviceAuthorization {
        guard let endpoint = server.deviceAuthorizationEndpoint else { throw OAuthError(.unsupported, "there is no endpoint for devices") }
        let response = try await post(Self.scope(scopes), to: endpoint)
        guard response.status == .ok else { throw try await Self.error(of: response) }
        let data = try await response.body.collect(upTo: Self.responseLimitBytes)
        guard let read = try? OAuthClient.decoder.decode(DeviceResponse.self, from: data) else {
            throw OAuthError(.invalidResponse, "the response has no code for a device")
        }
        return DeviceAuthorization(
            userCode: read.userCode, verificationURI: read.verificationUri, completeVerificationURI: read.verificationUriComplete,
            expiresAt: date + (read.expiresIn?.seconds ?? 0), deviceCode: read.deviceCode,
            interval: .seconds(min(max(1, read.interval?.seconds ?? 5), 300)))
    }

    /// Waits until the person has signed in with the other device, and returns the token.
    ///
    /// It asks the server as often as the server permits: every 5 s, unless the server says otherwise; 5 s less often after each `slow_down`, and
    /// half as often after each lost connection ([RFC 8628, section 3.5](https://www.rfc-editor.org/rfc/rfc8628#section-3.5)).
    ///
    /// - Parameter clock: measures the waits.
    /// - Throws: ``OAuthError`` if the person refuses, or with `expiredToken` if the codes expire; `CancellationError`.
    public func token(for authorization: DeviceAuthorization, clock: any Clock<Duration> = ContinuousClock()) async throws -> AccessToken {
        var interval = authorization.interval
        while true {
            try await clock.sleep(for: interval)
            guard date < authorization.expiresAt else { throw OAuthError(.expiredToken, "nobody has signed in in time") }
            do {
                return try await token([
                    ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("device_code", authorization.deviceCode),
                ])
            } catch let error as OAuthError where error.code == .authorizationPending {
            } catch let error as OAuthError where error.code == .slowDown {
                interval += .seconds(5)
            } catch is TransportError {
                interval *= 2
            }
        }
    }

    private struct DeviceResponse: Decodable {
        let deviceCode: String
        let userCode: String
        let verificationUri: String
        let verificationUriComplete: String?
        let expiresIn: Lifetime?
        let interval: Lifetime?
    }
}
#endif
