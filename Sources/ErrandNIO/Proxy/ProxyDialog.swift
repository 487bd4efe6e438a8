#if NIO
internal import ErrandCore

/// What one request, or one tunnel, has sent to a proxy to authenticate itself: a value without connections.
///
/// Before it is asked, it sends what the authenticator says to the challenges that the proxy sent last, or else the credentials for Basic.
/// Each challenge is answered once, and no more than ``answerLimit`` of them are.
struct ProxyDialog: Sendable {
    /// A first challenge, and one more after a nonce that was too old.
    static let answerLimit = 2

    /// What the next request is sent with, after a challenge.
    private var next: String?
    /// What the last request was sent with.
    private var sent: String?
    /// The challenges to which that is the response.
    private var answered: [AuthenticationChallenge] = []
    private var answers = 0
    /// How often credentials were refused.
    private(set) var refusals = 0

    /// Returns the value of `Proxy-Authorization` for the next request; `nil` if it has none.
    mutating func authorization(for proxy: ProxyServer, _ method: HTTPRequest.Method, _ target: String) -> String? {
        sent = next ?? unasked(proxy, method, target)
        next = nil
        return sent
    }

    private mutating func unasked(_ proxy: ProxyServer, _ method: HTTPRequest.Method, _ target: String) -> String? {
        let known = proxy.knownChallenges
        if !known.isEmpty, let authenticator = proxy.settings.authenticator,
            let value = authenticator.respond(
                to: ProxyChallenge(from: proxy.settings, challenges: known, method: method, target: target, refusals: refusals))
        {
            answered = known
            return value
        }
        return proxy.settings.credentials?.basicField
    }

    /// The proxy asks for credentials (407).
    ///
    /// - Returns: whether the request is to be sent again.
    mutating func answer(_ fields: HTTPFields, of proxy: ProxyServer, _ method: HTTPRequest.Method, _ target: String) -> Bool {
        if sent != nil { refusals += 1 }
        guard let authenticator = proxy.settings.authenticator, answers < Self.answerLimit else { return false }
        let challenges = AuthenticationChallenge.parse(fields[values: .proxyAuthenticate])
        guard !challenges.isEmpty, challenges != answered else { return false }
        let challenge = ProxyChallenge(from: proxy.settings, challenges: challenges, method: method, target: target, refusals: refusals)
        guard let value = authenticator.respond(to: challenge), value != sent else { return false }
        (next, answered) = (value, challenges)
        answers += 1
        proxy.note(challenges)
        return true
    }
}
#endif
