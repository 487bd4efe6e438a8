/// A way to authenticate that a server or a proxy accepts: a part of `WWW-Authenticate` or `Proxy-Authenticate`
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

    /// The most challenges of one value, and the most parameters of one challenge.
    static let countLimit = 32

    /// The name of the scheme, as written. Case does not matter: see ``isScheme(_:)``.
    public let scheme: String
    /// The text after the scheme, in place of parameters, such as that of `Negotiate`; `nil` if there is none.
    public let token68: String?
    /// The parameters in their order, each name once.
    public let parameters: [Parameter]

    /// The value of a parameter, whose name is in lower case; `nil` if there is none.
    public subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// The part of the server or of the proxy that the credentials are for; `nil` if the challenge does not name one.
    public var realm: String? { self["realm"] }

    /// Whether this is the name of the scheme, in any case.
    public func isScheme(_ name: String) -> Bool { scheme.lowercased() == name.lowercased() }

    /// The scheme, and the names of the parameters.
    public var description: String {
        ([scheme] + [parameters.map(\.name).joined(separator: ", ")].filter { !$0.isEmpty }).joined(separator: " ")
    }

    /// Reads the values of all fields `WWW-Authenticate` or `Proxy-Authenticate` of a response.
    ///
    /// - Returns: the challenges in their order. A challenge that has a parameter twice is left out. Where a value is not valid, what comes
    ///   after that point is left out, and so is a value of more than 8 KiB. At most 32 challenges of a value are read.
    public static func parse(_ values: some Sequence<String>) -> [AuthenticationChallenge] {
        values.flatMap { value -> [AuthenticationChallenge] in
            guard value.utf8.count <= FieldLimits.valueBytes else { return [] }
            var reader = FieldReader(value)
            return reader.challenges()
        }
    }
}

/// It examines every byte at most three times.
extension FieldReader {
    fileprivate mutating func challenges() -> [AuthenticationChallenge] {
        var challenges: [AuthenticationChallenge] = []
        while challenges.count < AuthenticationChallenge.countLimit {
            skip { $0.isOptionalSpace || $0 == UInt8(ascii: ",") }
            guard let scheme = token() else { break }
            let start = position
            skip(\.isOptionalSpace)
            guard let first = next, first != UInt8(ascii: ",") else {
                challenges.append(AuthenticationChallenge(scheme: scheme, token68: nil, parameters: []))
                continue
            }
            guard position > start else { break }
            if let text = token68() {
                challenges.append(AuthenticationChallenge(scheme: scheme, token68: text, parameters: []))
                continue
            }
            guard let parameters = parameters() else { break }
            guard Set(parameters.map(\.name)).count == parameters.count else { continue }
            challenges.append(AuthenticationChallenge(scheme: scheme, token68: nil, parameters: parameters))
        }
        return challenges
    }

    /// `nil`, and reads nothing, if parameters follow.
    private mutating func token68() -> String? {
        let start = position
        skip { $0.isASCIILetter || $0.isASCIIDigit || "-._~+/".utf8.contains($0) }
        guard position > start else { return nil }
        skip { $0 == UInt8(ascii: "=") }
        let end = position
        skip(\.isOptionalSpace)
        guard next == nil || next == UInt8(ascii: ",") else {
            position = start
            return nil
        }
        return text(start..<end)
    }

    /// `nil` if they are not valid.
    private mutating func parameters() -> [AuthenticationChallenge.Parameter]? {
        var parameters: [AuthenticationChallenge.Parameter] = []
        while let name = parameterName() {
            guard parameters.count < AuthenticationChallenge.countLimit, let value = next == UInt8(ascii: "\"") ? quoted() : token() else {
                return nil
            }
            parameters.append(AuthenticationChallenge.Parameter(name: name.lowercased(), value: value))
            skip(\.isOptionalSpace)
            guard let comma = next else { return parameters }
            guard comma == UInt8(ascii: ",") else { return nil }
            skip { $0.isOptionalSpace || $0 == UInt8(ascii: ",") }
        }
        return parameters.isEmpty ? nil : parameters
    }

    /// A name up to the value after it; `nil`, and reads nothing, if the next challenge follows.
    private mutating func parameterName() -> String? {
        let start = position
        if let name = token() {
            skip(\.isOptionalSpace)
            if next == UInt8(ascii: "=") {
                position += 1
                skip(\.isOptionalSpace)
                return name
            }
        }
        position = start
        return nil
    }
}
