#if Auth
extension OAuthClient {
    /// The response with a token. A member that is empty or of the wrong type is treated as missing, so that an issued token is
    /// not lost.
    struct TokenResponse: OAuthResponseValue {
        static let memberNames = ["access_token", "token_type", "expires_in", "refresh_token", "scope", "id_token"]

        let accessToken: String
        let tokenType: String?
        let expiresIn: Lifetime?
        let refreshToken: String?
        let scope: String?
        let idToken: String?

        private enum CodingKeys: CodingKey { case accessToken, tokenType, expiresIn, refreshToken, scope, idToken }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            accessToken = try container.requiredText(.accessToken)
            tokenType = container.text(.tokenType)
            refreshToken = container.text(.refreshToken)
            scope = container.text(.scope)
            idToken = container.text(.idToken)
            expiresIn = try? container.decode(Lifetime.self, forKey: .expiresIn)
        }
    }

    /// A number of seconds above zero, which some servers send as text. Values above 100 years become 100 years.
    struct Lifetime: Decodable {
        let seconds: Double

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            let number = try (try? container.decode(Double.self)) ?? Double(container.decode(String.self)) ?? 0
            guard number > 0 else { throw DecodingError.dataCorruptedError(in: container, debugDescription: "it is no lifetime") }
            seconds = min(number, 100 * 365 * 86_400)
        }
    }
}
#endif
