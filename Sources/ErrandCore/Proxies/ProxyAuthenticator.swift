/// A closure that responds to the challenges of an HTTP proxy, for authentication schemes that the transport does not support
/// ([RFC 9110, section 11.7](https://www.rfc-editor.org/rfc/rfc9110#section-11.7)).
///
/// ```swift
/// let proxy = ProxySettings.http(host: "proxy.example", port: 3128).authenticated(
///     by: ProxyAuthenticator { challenge in
///         guard let digest = challenge.challenges.first(where: { $0.isScheme("Digest") }) else { return nil }
///         return digestField(for: digest, challenge.method, challenge.target)
///     })
/// ```
///
/// The closure is called when the proxy responds with 407. After a response with 407, the closure is called before each request and each
/// tunnel, with the latest challenges of the proxy. Therefore a challenge that is valid for many requests costs only one round trip. The
/// closure is called on the event loop of the connection: it must be quick, and must not wait. Fetch slow data in advance.
///
/// Two authenticators are equal if one is a copy of the other.
public struct ProxyAuthenticator: Sendable, Hashable {
    private final class Closure: Sendable {
        let call: @Sendable (ProxyChallenge) -> String?

        init(_ call: @escaping @Sendable (ProxyChallenge) -> String?) { self.call = call }
    }

    private let closure: Closure

    /// Creates an authenticator from a closure.
    ///
    /// - Parameter respond: returns the value of `Proxy-Authorization`. `nil` and an empty text mean no value. Without a value, a request
    ///   that the proxy has not challenged is sent with ``ProxySettings/credentials``, and a challenged request fails. If the value has a
    ///   control character, such as a line break, or more than 64 KiB, the request fails with ``TransportError/Code/proxy``.
    public init(_ respond: @escaping @Sendable (ProxyChallenge) -> String?) { closure = Closure(respond) }

    /// Returns the value of `Proxy-Authorization`.
    public func respond(to challenge: ProxyChallenge) -> String? { closure.call(challenge) }

    /// Returns whether one authenticator is a copy of the other.
    public static func == (first: ProxyAuthenticator, second: ProxyAuthenticator) -> Bool { first.closure === second.closure }
    /// Hashes the identity of the closure.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(closure)) }
}

/// The challenges of a proxy, and the request for which credentials are needed.
public struct ProxyChallenge: Sendable, Hashable {
    /// The proxy, with its credentials.
    public let proxy: ProxySettings
    /// The challenges of the proxy (`Proxy-Authenticate`), in the order of the proxy; at least one.
    public let challenges: [AuthenticationChallenge]
    /// The method of the request; `CONNECT` for a tunnel.
    public let method: HTTPRequest.Method
    /// The target of the request as it is sent, which Digest calls `uri`: a whole URL, or host and port for a tunnel.
    public let target: String
    /// The number of times that the proxy has refused credentials for this request or this tunnel. If the number is not 0, the
    /// credentials are probably wrong. There is one exception: with `stale=true` in the challenge, only the nonce was too old.
    public let refusals: Int

    /// Creates a challenge, for tests of an authenticator.
    public init(
        from proxy: ProxySettings, challenges: [AuthenticationChallenge], method: HTTPRequest.Method, target: String,
        refusals: Int = 0
    ) {
        self.proxy = proxy
        self.challenges = challenges
        self.method = method
        self.target = target
        self.refusals = refusals
    }
}

extension ProxyChallenge: CustomStringConvertible, HidesStorage {
    /// The method, the target without secrets, and the schemes: `GET http://a.example/?token=REDACTED: Digest, Basic`.
    public var description: String {
        "\(method) \(Sensitivity.standard.redactedURL(target)): \(challenges.map(\.scheme).joined(separator: ", "))"
    }
}
