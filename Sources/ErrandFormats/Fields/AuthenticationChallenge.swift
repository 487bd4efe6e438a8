/// A challenge of a server or a proxy: one authentication scheme in `WWW-Authenticate` or `Proxy-Authenticate`, with its parameters
/// ([RFC 9110, section 11.3](https://www.rfc-editor.org/rfc/rfc9110#section-11.3)).
///
/// ```swift
/// let challenges = AuthenticationChallenge.parse([#"Digest realm="office", nonce="a1b2", Basic realm="office""#])
/// challenges.map(\.scheme)    // ["Digest", "Basic"]
/// challenges[0]["nonce"]      // a1b2
/// ```
///
/// The description has the scheme and the names of the parameters: `Digest realm, nonce`.
public struct AuthenticationChallenge: Sendable, Hashable, CustomStringConvertible {
    /// A parameter of a challenge.
    public struct Parameter: Sendable, Hashable {
        /// The name in lower case.
        public let name: String
        /// The value, without quotation marks.
        public let value: String
    }

    /// The largest number of challenges that are read from one value. The parameters of one challenge have the same limit.
    static let countLimit = 32

    /// The name of the scheme, as written. Case does not matter: see ``isScheme(_:)``.
    public let scheme: String
    /// The text after the scheme. Some schemes, such as `Negotiate`, have this text instead of parameters. `nil` if the challenge
    /// has parameters, or only a scheme.
    public let token68: String?
    /// The parameters in their order, each name once.
    public let parameters: [Parameter]

    /// The value of the parameter with this name, which must be in lower case; `nil` if there is no such parameter.
    public subscript(name: String) -> String? { parameters.first { $0.name.isExactly(name) }?.value }

    /// The part of the server or proxy for which the credentials are valid; `nil` if the challenge names no part.
    public var realm: String? { self["realm"] }

    /// Returns whether `name` is the name of the scheme. Case does not matter.
    public func isScheme(_ name: String) -> Bool { scheme.isExactlyIgnoringCase(name) }

    /// The scheme, and the names of the parameters.
    public var description: String {
        ([scheme] + [parameters.map(\.name).joined(separator: ", ")].filter { !$0.isEmpty }).joined(separator: " ")
    }

    /// Reads the values of all `WWW-Authenticate` or all `Proxy-Authenticate` fields of a response.
    ///
    /// A parameter may occur twice if both values are equal. If a challenge is not valid, that challenge and the rest of the value
    /// are left out. A value of more than 8 KiB is left out. At most 32 challenges of a value are read.
    ///
    /// If a parameter has two different values, the challenge is left out, unless its scheme is Digest.
    ///
    /// A Digest challenge is never left out. Without the challenge, the client could use Basic, and would send the password to a server
    /// that offers Digest in an unusual form. In Digest challenges, this library accepts the following forms, as browsers and curl do:
    /// - values in single quotes or without quotation marks
    /// - semicolons or spaces in place of commas
    /// - a list of qualities without quotation marks
    ///
    /// An unreadable Digest challenge is returned without parameters. A Digest parameter with two different values is left out,
    /// unless the parameter is a list.
    ///
    /// - Returns: the challenges in their order.
    public static func parse(_ values: some Sequence<String>) -> [AuthenticationChallenge] {
        values.flatMap { value -> [AuthenticationChallenge] in
            var reader = ChallengeReader(value)
            return value.utf8.count > FieldLimits.valueBytes ? reader.unread() : reader.challenges()
        }
    }
}
