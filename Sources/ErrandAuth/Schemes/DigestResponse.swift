#if Auth
internal import Crypto
internal import ErrandCore
internal import ErrandFormats

/// The response to a challenge of the scheme Digest ([RFC 7616](https://www.rfc-editor.org/rfc/rfc7616)): a value without a clock and
/// without chance.
struct DigestResponse: Sendable {
    /// A hash function, with or without a session key.
    struct Algorithm: Sendable, Hashable {
        enum Function: Int, Sendable {
            case md5 = 1
            case sha256
            case sha512256
            /// Not of RFC 7616, but several servers and clients have it.
            case sha512
        }

        let function: Function
        let isSession: Bool

        /// - Parameter name: as in a challenge; `nil` means MD5 ([RFC 7616, section 3.3](https://www.rfc-editor.org/rfc/rfc7616#section-3.3)).
        init?(_ name: String?) {
            let name = (name ?? "MD5").lowercased()
            isSession = name.hasSuffix("-sess")
            switch isSession ? String(name.dropLast(5)) : name {
            case "md5": function = .md5
            case "sha-256": function = .sha256
            case "sha-512-256": function = .sha512256
            case "sha-512": function = .sha512
            default: return nil
            }
        }

        var hash: DigestHash {
            switch function {
            case .md5: .md5(Insecure.MD5())
            case .sha256: .sha256(SHA256())
            case .sha512256: .sha512256(SHA512T256())
            case .sha512: .sha512(SHA512())
            }
        }

        func digits(of text: String) -> String {
            var hash = hash
            hash.update(Data(text.utf8))
            return hash.digits
        }
    }

    /// What is protected: nothing (as in [RFC 2069](https://www.rfc-editor.org/rfc/rfc2069)), the request line, or the body as well.
    enum Quality: String, Sendable {
        case none
        case auth
        case authInt = "auth-int"
    }

    let challenge: AuthenticationChallenge
    let algorithm: Algorithm
    let realm: String
    var nonce: String
    /// Whether `qop` lists `auth`, and `auth-int`.
    let offersAuth: Bool
    let offersAuthInt: Bool

    /// `nil` for a challenge of another scheme, and for one that can't be responded to.
    init?(_ challenge: AuthenticationChallenge) {
        guard challenge.isScheme("Digest"), let realm = challenge.realm, let nonce = challenge["nonce"], !nonce.isEmpty,
            let algorithm = Algorithm(challenge["algorithm"])
        else { return nil }
        (self.challenge, self.realm, self.nonce, self.algorithm) = (challenge, realm, nonce, algorithm)
        let offered = challenge["qop"].map { text in
            Set(text.split(whereSeparator: { ", \t".contains($0) }).map { $0.lowercased() })
        }
        offersAuth = offered?.contains("auth") ?? false
        offersAuthInt = offered?.contains("auth-int") ?? false
        guard offered == nil || offersAuth || offersAuthInt else { return nil }
    }

    /// Whether the server says that names may have any character (RFC 7616, section 3.3, `charset`). Servers that don't know of it expect
    /// names as they are.
    private var isUTF8: Bool { challenge["charset"]?.lowercased() == "utf-8" }

    /// Whether only the nonce was too old, and the credentials may be right.
    var isStale: Bool { challenge["stale"]?.lowercased() == "true" }

    /// The strongest of the challenges that can be responded to; of two that are equally strong, the first
    /// ([RFC 7616, section 3.7](https://www.rfc-editor.org/rfc/rfc7616#section-3.7)).
    ///
    /// - Parameter hashesBody: whether `auth-int` can be responded to; true by default.
    static func strongest(of challenges: [AuthenticationChallenge], hashesBody: Bool = true) -> DigestResponse? {
        challenges.compactMap { DigestResponse($0) }.reduce(nil as DigestResponse?) { best, response in
            guard hashesBody || response.quality != .authInt else { return best }
            guard let best else { return response }
            return response.algorithm.function.rawValue > best.algorithm.function.rawValue ? response : best
        }
    }

    /// What protects a request: `auth` where it is offered, since servers that know `auth-int` are few; `auth-int` if it alone is.
    var quality: Quality { offersAuth ? .auth : offersAuthInt ? .authInt : .none }

    /// The value of `Authorization` or `Proxy-Authorization`.
    ///
    /// - Parameters:
    ///   - user: the name of the user.
    ///   - password: the password.
    ///   - method: the method of the request.
    ///   - target: the target of the request as it is written.
    ///   - count: how many requests were sent with this nonce, this one included; at least 1.
    ///   - clientNonce: fresh for each nonce at least.
    ///   - bodyDigits: the hash of the body as hexadecimal digits; needed for `auth-int` alone.
    func field(
        user: String, password: String, method: String, target: String, count: Int, clientNonce: String, bodyDigits: String? = nil
    ) -> String {
        var secret = algorithm.digits(of: "\(user):\(realm):\(password)")
        if algorithm.isSession { secret = algorithm.digits(of: "\(secret):\(nonce):\(clientNonce)") }
        var request = "\(method):\(target)"
        if quality == .authInt { request += ":" + (bodyDigits ?? algorithm.digits(of: "")) }
        let requestDigits = algorithm.digits(of: request)
        let digits = String(count, radix: 16)
        let padded = String(repeating: "0", count: max(0, 8 - digits.count)) + digits
        let hasQuality = quality != .none
        let response = algorithm.digits(
            of: hasQuality
                ? "\(secret):\(nonce):\(padded):\(clientNonce):\(quality.rawValue):\(requestDigits)" : "\(secret):\(nonce):\(requestDigits)"
        )
        let hashesUser = hasQuality && challenge["userhash"]?.lowercased() == "true"
        var parts: [String] = []
        if hashesUser {
            parts.append("username=" + Self.quoted(algorithm.digits(of: "\(user):\(realm)")))
        } else if isUTF8, !user.utf8.allSatisfy({ $0 < 0x80 }) {
            parts.append("username*=" + ExtendedValue.encode(user))
        } else {
            parts.append("username=" + Self.quoted(user))
        }
        parts += [
            "realm=" + Self.quoted(realm), "nonce=" + Self.quoted(nonce), "uri=" + Self.quoted(target),
            "response=" + Self.quoted(response),
        ]
        if let algorithm = challenge["algorithm"] { parts.append("algorithm=\(algorithm)") }
        if let opaque = challenge["opaque"] { parts.append("opaque=" + Self.quoted(opaque)) }
        if hasQuality { parts += ["qop=\(quality.rawValue)", "nc=\(padded)"] }
        if hasQuality || algorithm.isSession { parts.append("cnonce=" + Self.quoted(clientNonce)) }
        if hashesUser { parts.append("userhash=true") }
        return "Digest " + parts.joined(separator: ", ")
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
#endif
