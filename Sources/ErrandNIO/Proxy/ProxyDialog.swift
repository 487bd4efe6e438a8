#if NIO
internal import ErrandCore
internal import ErrandFormats

/// What one request, or one tunnel, has sent to a proxy to authenticate itself: a value without connections.
///
/// Before it is asked, it sends what the authenticator says to the challenges that the proxy sent last, or else the credentials for Basic.
/// Each challenge is answered once, and no more than ``answerLimit`` of them are.
struct ProxyDialog: Sendable {
    /// A first challenge, and one more after a nonce that was too old.
    static let answerLimit = 2
    /// The most bytes that an authenticator may return: 64 KiB, which the ticket of a large Kerberos realm may need.
    static let valueLimitBytes = 64 * 1024

    /// What the next request is sent with, after a challenge.
    private var next: String?
    /// What the last request was sent with.
    private var sent: String?
    /// The challenges to which that is the response.
    private var answered: [AuthenticationChallenge] = []
    /// Whether the proxy sent those to an earlier request. It may not know them any more, for example after a restart.
    private var areEarlier = false
    private var answers = 0
    /// How often credentials were refused.
    private(set) var refusals = 0

    /// Returns the value of `Proxy-Authorization` for the next request; `nil` if it has none.
    mutating func authorization(
        for proxy: ProxyServer, _ method: HTTPRequest.Method, _ target: String
    ) throws(ProxyAnswerError) -> String? {
        if let next { sent = next } else { sent = try unasked(proxy, method, target) }
        next = nil
        return sent
    }

    private mutating func unasked(
        _ proxy: ProxyServer, _ method: HTTPRequest.Method, _ target: String
    ) throws(ProxyAnswerError) -> String? {
        let known = proxy.knownChallenges
        if !known.isEmpty, let authenticator = proxy.settings.authenticator,
            let value = try Self.value(
                of: authenticator,
                to: ProxyChallenge(from: proxy.settings, challenges: known, method: method, target: target, refusals: refusals))
        {
            (answered, areEarlier) = (known, true)
            return value
        }
        return proxy.settings.credentials?.basicField
    }

    /// The proxy asks for credentials (407).
    ///
    /// - Returns: whether the request is to be sent again.
    mutating func answer(
        _ fields: HTTPFields, of proxy: ProxyServer, _ method: HTTPRequest.Method, _ target: String
    ) throws(ProxyAnswerError) -> Bool {
        let challenges = AuthenticationChallenge.parse(fields[values: .proxyAuthenticate])
        // A new challenge in place of an earlier one says nothing about the credentials.
        let isReplaced = areEarlier && challenges != answered
        areEarlier = false
        if sent != nil, !isReplaced { refusals += 1 }
        guard let authenticator = proxy.settings.authenticator, answers < Self.answerLimit else { return false }
        guard !challenges.isEmpty, challenges != answered else { return false }
        let challenge = ProxyChallenge(from: proxy.settings, challenges: challenges, method: method, target: target, refusals: refusals)
        guard let value = try Self.value(of: authenticator, to: challenge), value != sent else { return false }
        (next, answered) = (value, challenges)
        answers += 1
        proxy.note(challenges)
        return true
    }

    /// Why the last challenge is the end of a request or of a tunnel, and in words.
    func refusal(by settings: ProxySettings?) -> (problem: ProxyCredentialsProblem?, reason: String) {
        if next != nil { return (nil, "it requires credentials, and the body of the request can't be sent again with them") }
        if refusals > 0 { return (.refused, "it does not accept the credentials") }
        if settings?.authenticator != nil { return (nil, "it requires credentials, and the authenticator returned none") }
        return (.missing, "it requires credentials, and none were given")
    }

    /// Asks the authenticator. A value that has nothing but white space is no answer.
    private static func value(
        of authenticator: ProxyAuthenticator, to challenge: ProxyChallenge
    ) throws(ProxyAnswerError) -> String? {
        guard var value = authenticator.respond(to: challenge), !value.utf8.allSatisfy(\.isOptionalSpace) else { return nil }
        guard value.utf8.count <= valueLimitBytes else { throw .tooLong }
        // HTTPTypes would replace a line break, and send a value that nobody has chosen.
        guard value.withUTF8({ ByteScan.firstControl(in: $0).control == nil }) else { throw .controlCharacter }
        return value
    }
}

/// An authenticator has returned a value that can't be sent. The value is not shown: it is secret.
enum ProxyAnswerError: SafelyDescribedError, Equatable {
    case controlCharacter
    case tooLong

    var description: String {
        switch self {
        case .controlCharacter: "its authenticator returned a value with a character that it must not have, such as a line break"
        case .tooLong: "its authenticator returned a value of more than \(ProxyDialog.valueLimitBytes) bytes"
        }
    }
}
#endif
