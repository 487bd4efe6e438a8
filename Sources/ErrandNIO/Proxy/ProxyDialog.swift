#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats

/// The authentication of one request, or one tunnel, to a proxy. The value has no connections.
///
/// The first request is sent with the authenticator's value for the last known challenges of the proxy. If the authenticator gives no
/// value, the first request is sent with the credentials for Basic. The dialog responds to each challenge once, and to at most
/// ``challengeLimit`` challenges.
struct ProxyDialog: Sendable {
    /// The maximum number of challenges that the dialog responds to: a first challenge, and a second challenge after a stale
    /// nonce.
    static let challengeLimit = 2
    /// The maximum size of a value that an authenticator returns: 64 KiB. A ticket of a large Kerberos realm can be this long.
    static let valueLimitBytes = 64 * 1024

    /// The value for the next request after a challenge; `nil` if there is no value.
    private var next: String?
    /// The value of the last request; `nil` if the request had no value.
    private var sent: String?
    /// The challenges that the last value responds to.
    private var lastChallenges: [AuthenticationChallenge] = []
    /// Whether the proxy sent `lastChallenges` in response to an earlier request. The proxy may no longer know these challenges, for
    /// example after a restart.
    private var areEarlier = false
    private var responseCount = 0
    /// The number of times that the proxy has refused credentials.
    private(set) var refusals = 0

    /// Returns the value of `Proxy-Authorization` for the next request; `nil` if the field is not sent.
    mutating func authorization(
        for proxy: ProxyServer, _ method: HTTPRequest.Method, _ target: String
    ) throws(ProxyAuthorizationError) -> String? {
        if let next { sent = next } else { sent = try unasked(proxy, method, target) }
        next = nil
        return sent
    }

    private mutating func unasked(
        _ proxy: ProxyServer, _ method: HTTPRequest.Method, _ target: String
    ) throws(ProxyAuthorizationError) -> String? {
        let known = proxy.knownChallenges
        if !known.isEmpty, let authenticator = proxy.settings.authenticator,
            let value = try Self.value(
                of: authenticator,
                to: ProxyChallenge(from: proxy.settings, challenges: known, method: method, target: target, refusals: refusals))
        {
            (lastChallenges, areEarlier) = (known, true)
            return value
        }
        return proxy.settings.credentials?.basicField
    }

    /// Responds to a proxy that asks for credentials (407).
    ///
    /// - Returns: whether the request must be sent again.
    mutating func respond(
        to fields: HTTPFields, of proxy: ProxyServer, _ method: HTTPRequest.Method, _ target: String
    ) throws(ProxyAuthorizationError) -> Bool {
        let challenges = AuthenticationChallenge.parse(fields[values: .proxyAuthenticate])
        // If a new challenge replaces an earlier challenge, the proxy has not refused the credentials.
        let isReplaced = areEarlier && challenges != lastChallenges
        areEarlier = false
        if sent != nil, !isReplaced { refusals += 1 }
        guard let authenticator = proxy.settings.authenticator, responseCount < Self.challengeLimit else { return false }
        guard !challenges.isEmpty, challenges != lastChallenges else { return false }
        let challenge = ProxyChallenge(from: proxy.settings, challenges: challenges, method: method, target: target, refusals: refusals)
        guard let value = try Self.value(of: authenticator, to: challenge), value != sent else { return false }
        (next, lastChallenges) = (value, challenges)
        responseCount += 1
        proxy.record(challenges)
        return true
    }

    /// Returns the reason why the last challenge ends the request or the tunnel, as a value and in words.
    func refusal(by settings: ProxySettings?) -> (problem: ProxyCredentialsProblem?, reason: String) {
        if next != nil { return (nil, "it requires credentials, but the body of the request can't be sent again") }
        if refusals > 0 { return (.refused, "it does not accept the credentials") }
        if settings?.authenticator != nil { return (nil, "it requires credentials, but the authenticator returned no value") }
        return (.missing, "it requires credentials, but no credentials were given")
    }

    /// Asks the authenticator for a value. A value with only white space is treated as `nil`.
    private static func value(
        of authenticator: ProxyAuthenticator, to challenge: ProxyChallenge
    ) throws(ProxyAuthorizationError) -> String? {
        guard var value = authenticator.respond(to: challenge), !value.utf8.allSatisfy(\.isOptionalSpace) else { return nil }
        guard value.utf8.count <= valueLimitBytes else { throw .tooLong }
        // HTTPTypes would replace a line break, and send a value that the authenticator has not returned.
        guard value.withUTF8({ ByteScan.firstControl(in: $0).control == nil }) else { throw .controlCharacter }
        return value
    }
}

/// An error for an authenticator's value that can't be sent. The description does not show the value, because the value is
/// secret.
enum ProxyAuthorizationError: SafelyDescribedError, Equatable {
    case controlCharacter
    case tooLong

    var description: String {
        switch self {
        case .controlCharacter: "its authenticator returned a value with a character that is not allowed, such as a line break"
        case .tooLong: "its authenticator returned a value of more than \(ProxyDialog.valueLimitBytes) bytes"
        }
    }
}
#endif
