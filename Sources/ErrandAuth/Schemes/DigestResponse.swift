#if Auth
internal import Crypto
internal import ErrandCore
internal import ErrandFormats
internal import ErrandHashing

/// The response to a challenge of the scheme Digest ([RFC 7616](https://www.rfc-editor.org/rfc/rfc7616)): a pure value that uses
/// neither a clock nor random numbers.
struct DigestResponse: Sendable {
    /// A hash function, with or without a session key.
    struct Algorithm: Sendable, Hashable {
        enum Function: Int, Sendable {
            case md5 = 1
            case sha256
            case sha512256
            /// SHA-512, which several servers and clients use. RFC 7616 does not define SHA-512 for Digest.
            case sha512
        }

        let function: Function
        let isSession: Bool

        /// The algorithm of a challenge that names no algorithm
        /// ([RFC 7616, section 3.3](https://www.rfc-editor.org/rfc/rfc7616#section-3.3)).
        static let standard = Algorithm(function: .md5, isSession: false)

        private init(function: Function, isSession: Bool) { (self.function, self.isSession) = (function, isSession) }

        /// - Parameter name: the name in a challenge. Case, hyphens and underscores are ignored.
        init?(_ name: String) {
            guard name.utf8.count <= Self.nameBytes else { return nil }
            var plain = name.utf8.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") }.map(\.asciiLowercased)
            isSession = plain.suffix(4).elementsEqual("sess".utf8)
            if isSession { plain.removeLast(4) }
            guard let known = Self.functions.first(where: { plain.elementsEqual($0.name.utf8) }) else { return nil }
            function = known.function
        }

        private static let nameBytes = 32
        private static let functions: [(name: String, function: Function)] = [
            ("md5", .md5), ("sha256", .sha256), ("sha512256", .sha512256), ("sha512", .sha512),
        ]

        /// Returns the strongest algorithm in a challenge's list, with its name in the list. If two algorithms are equally strong,
        /// returns the first of the two.
        static func strongest(in list: String) -> (algorithm: Algorithm, name: String)? {
            DigestResponse.words(of: list).reduce(nil) { best, word in
                guard let algorithm = Algorithm(word) else { return best }
                return best.map { $0.algorithm.function.rawValue >= algorithm.function.rawValue } == true ? best : (algorithm, word)
            }
        }

        var hash: DigestHash {
            switch function {
            case .md5: .md5(Insecure.MD5())
            case .sha256: .other(OctetHash(.sha256))
            case .sha512256: .sha512256(SHA512T256())
            case .sha512: .other(OctetHash(.sha512))
            }
        }

        func digits(of text: String) -> String {
            var hash = hash
            hash.update(Data(text.utf8))
            return hash.digits
        }
    }

    /// The protected part of a request: nothing (as in [RFC 2069](https://www.rfc-editor.org/rfc/rfc2069)), the request line, or
    /// the request line and the body.
    enum Quality: String, Sendable {
        case none
        case auth
        case authInt = "auth-int"
    }

    let challenge: AuthenticationChallenge
    let algorithm: Algorithm
    /// The name of the algorithm as the server writes it; `nil` if the challenge names no algorithm.
    private let algorithmName: String?
    let realm: String
    var nonce: String
    /// Whether `qop` lists `auth`.
    let offersAuth: Bool
    /// Whether `qop` lists `auth-int`.
    let offersAuthInt: Bool

    /// Creates a response. `nil` if the challenge is of another scheme, or if no response to the challenge is possible.
    init?(_ challenge: AuthenticationChallenge) {
        guard challenge.isScheme("Digest"), let realm = challenge.realm, let nonce = challenge["nonce"], !nonce.isEmpty else { return nil }
        (self.challenge, self.realm, self.nonce) = (challenge, realm, nonce)
        if let list = challenge["algorithm"], !list.isEmpty {
            guard let known = Algorithm.strongest(in: list) else { return nil }
            (algorithm, algorithmName) = (known.algorithm, known.name)
        } else {
            (algorithm, algorithmName) = (.standard, nil)
        }
        // An empty list is treated as a missing list: RFC 2069.
        let offered = Self.words(of: challenge["qop"] ?? "")
        offersAuth = offered.contains { $0.isExactlyIgnoringCase("auth") }
        offersAuthInt = offered.contains { $0.isExactlyIgnoringCase("auth-int") }
        guard offered.isEmpty || offersAuth || offersAuthInt else { return nil }
    }

    /// Returns the words of a list. Every character that can't be part of a word is a separator.
    private static func words(of list: String) -> [String] {
        list.utf8.split { !$0.isASCIILetter && !$0.isASCIIDigit && $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") }.map {
            String(Substring($0))
        }
    }

    /// Returns whether the server offers Digest, in any form. If the server offers Digest, the password is not sent by Basic.
    static func isOffered(in challenges: [AuthenticationChallenge]) -> Bool { challenges.contains { $0.isScheme("Digest") } }

    private func says(_ value: String, for name: String) -> Bool { challenge[name]?.isExactlyIgnoringCase(value) == true }

    /// Whether the server accepts user names with any character (RFC 7616, section 3.3, `charset`). Servers without `charset`
    /// expect the parameter `username`, and not `username*`.
    private var isUTF8: Bool { says("utf-8", for: "charset") }

    /// Whether the server refused only the nonce, because the nonce was too old. The credentials may be valid.
    var isStale: Bool { says("true", for: "stale") }

    /// Returns the response to the strongest usable challenge. If two challenges are equally strong, returns the response to the
    /// first of the two ([RFC 7616, section 3.7](https://www.rfc-editor.org/rfc/rfc7616#section-3.7)).
    ///
    /// - Parameter hashesBody: whether a response to `auth-int` is possible. Default: `true`.
    static func strongest(of challenges: [AuthenticationChallenge], hashesBody: Bool = true) -> DigestResponse? {
        challenges.compactMap { DigestResponse($0) }.reduce(nil as DigestResponse?) { best, response in
            guard hashesBody || response.quality != .authInt else { return best }
            guard let best else { return response }
            return response.algorithm.function.rawValue > best.algorithm.function.rawValue ? response : best
        }
    }

    /// The quality of protection (`qop`) that the response to the challenge has. If the server offers `auth`, the quality is `auth`,
    /// because few servers support `auth-int` well. If the server offers only `auth-int`, the quality is `auth-int`.
    var quality: Quality { offersAuth ? .auth : offersAuthInt ? .authInt : .none }

    /// Returns the value of `Authorization` or `Proxy-Authorization`.
    ///
    /// - Parameters:
    ///   - user: the name of the user.
    ///   - password: the password.
    ///   - method: the method of the request.
    ///   - target: the target of the request, exactly as it is sent.
    ///   - count: the number of requests with this nonce, including this request; at least 1.
    ///   - clientNonce: a random text, which must be new for each nonce.
    ///   - bodyDigits: the hash of the body as hexadecimal digits, needed only for `auth-int`. `nil` selects the hash of an
    ///     empty body.
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
        let hashesUser = hasQuality && says("true", for: "userhash")
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
        if let algorithmName { parts.append("algorithm=\(algorithmName)") }
        if let opaque = challenge["opaque"] { parts.append("opaque=" + Self.quoted(opaque)) }
        if hasQuality { parts += ["qop=\(quality.rawValue)", "nc=\(padded)"] }
        if hasQuality || algorithm.isSession { parts.append("cnonce=" + Self.quoted(clientNonce)) }
        if hashesUser { parts.append("userhash=true") }
        return "Digest " + parts.joined(separator: ", ")
    }

    /// Escapes octets, not characters. A quotation mark and the combining mark that follows are one `Character`, which differs from the
    /// quotation mark.
    private static func quoted(_ text: String) -> String {
        "\"" + text.escapingOctets(escaped) { $0 == UInt8(ascii: "\\") ? #"\\"# : #"\""# } + "\""
    }

    private static let escaped = ByteSet { $0 == UInt8(ascii: "\\") || $0 == UInt8(ascii: "\"") }
}
#endif
