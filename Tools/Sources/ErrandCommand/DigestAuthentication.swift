import Crypto
import Errand
import Foundation
import Synchronization

/// The response to a challenge of the scheme Digest ([RFC 7616](https://www.rfc-editor.org/rfc/rfc7616)): a value without a clock and
/// without chance. It is here until the library has a module for authentication, and moves there then.
///
/// It knows MD5, SHA-256 and their `-sess` variants, with `qop=auth` or, as in
/// [RFC 2069](https://www.rfc-editor.org/rfc/rfc2069), without.
struct DigestAnswer {
    let challenge: AuthenticationChallenge
    let user: String
    let password: String

    private var algorithm: String { challenge["algorithm"] ?? "MD5" }
    private var isSession: Bool { algorithm.lowercased().hasSuffix("-sess") }

    /// How strong the algorithm is; `nil` for a challenge that can't be answered.
    var strength: Int? {
        guard challenge.isScheme("Digest"), challenge.realm != nil, challenge["nonce"] != nil else { return nil }
        if let offered = challenge["qop"], !Self.isAuthOffered(by: offered) { return nil }
        return switch algorithm.lowercased() {
        case "md5", "md5-sess": 1
        case "sha-256", "sha-256-sess": 2
        default: nil
        }
    }

    /// Whether only the nonce was too old, and the credentials may be right.
    var isStale: Bool { challenge["stale"]?.lowercased() == "true" }

    private static func isAuthOffered(by list: String) -> Bool {
        list.split(separator: ",").contains { $0.trimmingCharacters(in: .whitespaces).lowercased() == "auth" }
    }

    private func hash(_ text: String) -> String {
        func hex(_ bytes: some Sequence<UInt8>) -> String {
            bytes.map { String($0, radix: 16) }.map { $0.count == 1 ? "0" + $0 : $0 }.joined()
        }
        let data = Data(text.utf8)
        return strength == 2 ? hex(SHA256.hash(data: data)) : hex(Insecure.MD5.hash(data: data))
    }

    /// The value of `Authorization` or `Proxy-Authorization`; `nil` for a challenge that can't be answered.
    ///
    /// - Parameters:
    ///   - count: how many requests were sent with this nonce, this one included.
    ///   - clientNonce: fresh for each request.
    func field(method: String, target: String, count: Int, clientNonce: String) -> String? {
        guard strength != nil, let realm = challenge.realm, let nonce = challenge["nonce"] else { return nil }
        var secret = hash("\(user):\(realm):\(password)")
        if isSession { secret = hash("\(secret):\(nonce):\(clientNonce)") }
        let request = hash("\(method):\(target)")
        let digits = String(count, radix: 16)
        let padded = String(repeating: "0", count: max(0, 8 - digits.count)) + digits
        let hasQuality = challenge["qop"] != nil
        let response = hash(hasQuality ? "\(secret):\(nonce):\(padded):\(clientNonce):auth:\(request)" : "\(secret):\(nonce):\(request)")
        let hashesUser = hasQuality && challenge["userhash"]?.lowercased() == "true"
        var parts = [
            "username=" + Self.quoted(hashesUser ? hash("\(user):\(realm)") : user), "realm=" + Self.quoted(realm),
            "nonce=" + Self.quoted(nonce), "uri=" + Self.quoted(target), "response=" + Self.quoted(response),
        ]
        if challenge["algorithm"] != nil { parts.append("algorithm=\(algorithm)") }
        if let opaque = challenge["opaque"] { parts.append("opaque=" + Self.quoted(opaque)) }
        if hasQuality { parts += ["qop=auth", "nc=\(padded)"] }
        if hasQuality || isSession { parts.append("cnonce=" + Self.quoted(clientNonce)) }
        if hashesUser { parts.append("userhash=true") }
        return "Digest " + parts.joined(separator: ", ")
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}

/// Counts the requests of each nonce.
final class DigestSession: Sendable {
    private let user: String
    private let password: String
    /// Whether Basic is used where the proxy offers no Digest.
    private let allowsBasic: Bool
    private let nonce = Mutex((text: "", count: 0))

    init(user: String, password: String, allowsBasic: Bool) { (self.user, self.password, self.allowsBasic) = (user, password, allowsBasic) }

    /// The value of `Proxy-Authorization`; `nil` if no challenge can be answered, and if the credentials were refused.
    func respond(to proxy: ProxyChallenge, clientNonce: String = UUID().uuidString) -> String? {
        let answers = proxy.challenges.map { DigestAnswer(challenge: $0, user: user, password: password) }
        // Of two that are equally strong, the first.
        let best = answers.filter { $0.strength != nil }.reduce(nil as DigestAnswer?) { best, answer in
            (answer.strength ?? 0) > (best?.strength ?? 0) ? answer : best
        }
        if let best {
            if proxy.refusals > 0, !best.isStale { return nil }
            let text = best.challenge["nonce"] ?? ""
            let count = nonce.withLock { nonce in
                nonce = nonce.text == text ? (text, nonce.count + 1) : (text, 1)
                return nonce.count
            }
            return best.field(method: proxy.method.rawValue, target: proxy.target, count: count, clientNonce: clientNonce)
        }
        guard allowsBasic, proxy.refusals == 0, proxy.challenges.contains(where: { $0.isScheme("Basic") }) else { return nil }
        return "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    }
}

extension ProxyAuthenticator {
    /// Responds to challenges of the scheme Digest. It responds to Basic only if the proxy offers no Digest and `orBasic` is true.
    static func digest(user: String, password: String, orBasic: Bool = false) -> ProxyAuthenticator {
        let session = DigestSession(user: user, password: password, allowsBasic: orBasic)
        return ProxyAuthenticator { session.respond(to: $0) }
    }
}

/// The settings that were made from others, each once.
final class SharedSettings: Sendable {
    private let known = Mutex<[ProxySettings: ProxySettings]>([:])

    func value(for settings: ProxySettings, make: () -> ProxySettings) -> ProxySettings {
        known.withLock { known in
            if let made = known[settings] { return made }
            let made = make()
            known[settings] = made
            return made
        }
    }
}
