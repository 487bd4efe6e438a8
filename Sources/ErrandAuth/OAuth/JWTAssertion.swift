#if Auth
internal import Crypto
public import ErrandCore
internal import ErrandFormats
internal import ErrandHashing

/// Signs JSON web tokens ([RFC 7515](https://www.rfc-editor.org/rfc/rfc7515)) with a key.
public struct JWTSigner: Sendable, CustomStringConvertible, HidesStorage {
    /// The name of the algorithm ([RFC 7518, section 3.1](https://www.rfc-editor.org/rfc/rfc7518#section-3.1)): `RS256`, `ES256`.
    public let algorithm: String
    /// The identifier of the key (`kid`); `nil` if the token has no `kid`.
    public let keyID: String?
    let sign: @Sendable (Data) async throws -> Data

    /// Creates a signer for a custom key, such as an RSA key, or a key in a vault.
    ///
    /// - Parameters:
    ///   - algorithm: the name of the algorithm.
    ///   - keyID: the identifier of the key (`kid`). `nil`, the default: the token has no `kid`.
    ///   - sign: a closure that returns the signature of the bytes in the form of RFC 7518. For ES256, the signature has 64 bytes.
    public init(algorithm: String, keyID: String? = nil, sign: @escaping @Sendable (Data) async throws -> Data) {
        (self.algorithm, self.keyID, self.sign) = (algorithm, keyID, sign)
    }

    /// Returns a signer with a private key on the curve P-256 (`ES256`).
    ///
    /// - Parameters:
    ///   - pem: the key, as PEM.
    ///   - keyID: the identifier of the key (`kid`). `nil`, the default: the token has no `kid`.
    /// - Throws: ``AuthenticationError`` if `pem` is not a private key on the curve P-256. For an RSA key, use
    ///   ``init(algorithm:keyID:sign:)``.
    public static func es256(pem: String, keyID: String? = nil) throws(AuthenticationError) -> JWTSigner {
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) else {
            throw AuthenticationError(
                .invalidCredentials("the PEM is not a private key on the curve P-256; for RSA, use JWTSigner(algorithm:keyID:sign:)"))
        }
        return JWTSigner(algorithm: "ES256", keyID: keyID) { try key.signature(for: $0).rawRepresentation }
    }

    /// Returns a signer with a shared secret (`HS256`), such as a client secret.
    public static func hs256(secret: String, keyID: String? = nil) -> JWTSigner { hs256(secret: Data(secret.utf8), keyID: keyID) }

    static func hs256(secret: Data, keyID: String? = nil) -> JWTSigner {
        JWTSigner(algorithm: "HS256", keyID: keyID) { Data(KeyedHash.hmacSHA256.code(of: $0, key: secret)) }
    }

    /// The name of the algorithm.
    public var description: String { algorithm }
}

/// A signed JSON web token that names the client and the account for which the client asks
/// ([RFC 7523, section 3](https://www.rfc-editor.org/rfc/rfc7523#section-3)).
public struct JWTAssertion: Sendable, CustomStringConvertible, HidesStorage {
    /// The issuer of the assertion: `iss`.
    public var issuer: String
    /// The account for which the client requests a token: `sub`. By default, the issuer.
    public var subject: String
    /// The server that reads the assertion: `aud`; `nil`, the default, names the token endpoint.
    public var audience: String?
    /// The time for which the assertion is valid: 1 s to 1 h.
    public let lifetime: Duration
    /// Further claims, such as `scope`. A claim with the name of a standard claim is ignored.
    public var claims: [String: JSONValue]
    private let signer: JWTSigner

    /// Creates an assertion, which gets a new signature for each request.
    ///
    /// - Parameters:
    ///   - issuer: the issuer of the assertion: `iss`.
    ///   - subject: the account for which the client requests a token: `sub`; `nil`, the default, names the issuer.
    ///   - audience: the server that reads the assertion: `aud`; `nil`, the default, names the token endpoint.
    ///   - lifetime: the time for which the assertion is valid. Default: 5 minutes. Values below 1 s become 1 s, and values above 1
    ///     h become 1 h.
    ///   - claims: further claims, such as `scope`. A claim with the name of a standard claim is ignored.
    ///   - signer: the signer of the assertion.
    public init(
        issuer: String, subject: String? = nil, audience: String? = nil, lifetime: Duration = .seconds(300),
        claims: [String: JSONValue] = [:],
        signer: JWTSigner
    ) {
        (self.issuer, self.subject, self.audience) = (issuer, subject ?? issuer, audience)
        self.lifetime = min(max(lifetime, .seconds(1)), .seconds(3_600))
        self.claims = claims
        self.signer = signer
    }

    func signed(audience fallback: String, id: String, at now: Date) async throws -> String {
        let seconds = Int(now.timeIntervalSince1970.rounded(.down))
        var header: [String: JSONValue] = ["alg": .string(signer.algorithm), "typ": "JWT"]
        if let keyID = signer.keyID { header["kid"] = .string(keyID) }
        var body: [String: JSONValue] = [
            "iss": .string(issuer), "sub": .string(subject), "aud": .string(audience ?? fallback), "jti": .string(id),
            "iat": .number(JSONNumber(seconds)), "exp": .number(JSONNumber(seconds + Int(lifetime / .seconds(1)))),
        ]
        body.merge(claims) { own, _ in own }
        let text = Base64.encodeForURLs(JSONValue.object(header).bytes()) + "." + Base64.encodeForURLs(JSONValue.object(body).bytes())
        return text + "." + Base64.encodeForURLs(try await signer.sign(Data(text.utf8)))
    }

    /// `assertion of ISSUER`.
    public var description: String { "assertion of \(issuer.shownSafely(limit: 80))" }
}
#endif
