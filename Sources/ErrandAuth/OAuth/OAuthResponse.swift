#if Auth
internal import ErrandCore
internal import ErrandFormats

/// A response of an OAuth 2 server with its whole body. The status and the body decide the result:
///
/// | Status | Body with the value | Body with `error` | Both | Any other body |
/// |---|---|---|---|---|
/// | 2xx | success | that error | success | invalid response |
/// | 4xx | success | that error | that error | the status, but `invalid_client` for 401 |
/// | other | success | the status | the status | the status |
///
/// For 429, the status decides, with two exceptions: the error `slow_down` or `authorization_pending`, and a value without an error.
///
/// GitHub and Slack send errors with the status 200. The status of a response must not cause the loss of a rotated token.
///
/// An invalid part of the body must not cause the loss of a rotated token either. If the body can't be decoded as a whole, only
/// the needed members are read: ``/ErrandFormats/JSONMembers``.
struct OAuthResponse: Sendable {
    /// The coding for the JSON of servers, in which names have underscores.
    static let coding = JSONCoding(keys: .snakeCase)
    /// The maximum size of a body that is searched for an error: 64 KiB.
    static let errorLimitBytes = StatusError.bodyLimitBytes

    private let status: HTTPResponse.Status
    private let body: Data
    /// The error for the status; `nil` for 2xx.
    private let failure: StatusError?
    private let sent: EchoedSecrets
    /// The method and the URL of the request, with secrets replaced.
    let request: String?

    /// Creates a response with the status 2xx.
    init(_ status: HTTPResponse.Status, body: Data, sent: EchoedSecrets, to request: String? = nil) {
        self.status = status
        self.body = body
        failure = nil
        self.sent = sent
        self.request = request
    }

    /// Creates a response with a status other than 2xx.
    init(_ failure: StatusError, sent: EchoedSecrets, to request: String? = nil) {
        status = failure.status
        body = failure.bodyPrefix
        self.failure = failure
        self.sent = sent
        self.request = request
    }

    /// Returns the value in the body.
    ///
    /// - Parameter missing: the message of the error if a response with the status 2xx has neither a value nor an error.
    /// - Throws: ``OAuthError`` or `StatusError`, as in the table of ``OAuthResponse``.
    func value<Value: OAuthResponseValue>(_ type: Value.Type, orElse missing: String) throws -> Value {
        let refusal = refusal
        if failure == nil || refusal == nil, let value = read(type) { return value }
        throw error(refusal) ?? OAuthError(.invalidResponse, missing)
    }

    private func read<Value: OAuthResponseValue>(_ type: Value.Type) -> Value? {
        if let value = try? Self.coding.decode(type, from: body) { return value }
        guard let object = body.withUnsafeBytes({ JSONMembers.needed(type.memberNames, in: $0) }) else { return nil }
        return try? Self.coding.decode(type, from: Data(object))
    }

    /// Checks a response that needs no body.
    ///
    /// - Throws: ``OAuthError`` or `StatusError`, as in the table of ``OAuthResponse``.
    func check() throws {
        if let error = error(refusal) { throw error }
    }

    /// The error in the body.
    private var refusal: OAuthError? {
        guard body.count <= Self.errorLimitBytes, let read = read(ErrorResponse.self) else { return nil }
        // The code is compared as the server sent it. In the code that is shown, secrets are replaced.
        let code = OAuthError.Code(read.error, shownAs: sent.hiddenLong(in: read.error))
        return OAuthError(code, sent.hidden(in: read.description ?? ""), uri: read.uri.map(sent.hidden))
    }

    private func error(_ refusal: OAuthError?) -> (any Error)? {
        guard let failure else { return refusal }
        guard (400..<500).contains(status.code) else { return failure }
        guard let refusal else {
            // A status other than 401 says nothing about a refresh token, because a gateway may have sent the response.
            guard status == .unauthorized else { return failure }
            return OAuthError(.invalidClient, "the server responded with the status 401, without an error code of OAuth 2")
        }
        if status == .tooManyRequests, refusal.code != .slowDown, refusal.code != .authorizationPending { return failure }
        return refusal
    }

    /// The response with an error. A member that is empty or not text is treated as missing.
    private struct ErrorResponse: OAuthResponseValue {
        static let memberNames = ["error", "error_description", "error_uri"]

        let error: String
        let description: String?
        let uri: String?

        private enum CodingKeys: CodingKey { case error, errorDescription, errorUri }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            error = try container.requiredText(.error)
            description = container.text(.errorDescription)
            uri = container.text(.errorUri)
        }
    }
}

/// A value in the body of a response.
protocol OAuthResponseValue: Decodable {
    /// The names of the members from which the value is read, as servers send them.
    static var memberNames: [String] { get }
}

extension KeyedDecodingContainer {
    /// Returns a text; `nil` if the member is missing, empty, or not a text.
    func text(_ key: Key) -> String? {
        guard let text = try? decode(String.self, forKey: key), !text.isEmpty else { return nil }
        return text
    }

    /// Returns a text that is not empty.
    ///
    /// - Throws: `DecodingError`.
    func requiredText(_ key: Key) throws -> String {
        guard let text = text(key) else {
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "the text is missing or empty")
        }
        return text
    }
}
#endif
