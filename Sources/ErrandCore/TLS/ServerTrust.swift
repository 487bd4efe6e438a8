/// The certificates of a server, and the result of their verification by the system. A request can decide about these certificates: see
/// ``RequestOptions/onServerTrust``.
public struct ServerTrust: Sendable, Hashable, CustomStringConvertible {
    /// The result of the system's verification of the certificates.
    public enum Verdict: Sendable, Hashable {
        /// The chain leads to a trusted authority, the dates are valid, and the certificate is for the host.
        case trusted
        /// The certificates are not trusted. The reason is a text of the system, which may be in the language of the device.
        case untrusted(reason: String)
        /// The system has not verified the certificates, because the transport does not check this host: see
        /// ``TLSSettings/uncheckedHostsForTesting``.
        case unchecked
    }

    /// The host of the server, in the form of ``Origin/host``.
    public let host: String
    /// The port of the server.
    public let port: Int
    /// The chain of certificates in DER ([RFC 5280](https://www.rfc-editor.org/rfc/rfc5280)). The server's own certificate is first.
    ///
    /// If the verdict is ``Verdict/trusted``, the signatures of the chain are verified. With any other verdict, only the first certificate
    /// certainly belongs to the server: an attacker may have added the other certificates.
    public let certificates: [Data]
    /// The result of the verification.
    public let verdict: Verdict

    /// Creates a value. This initializer is for transports, and for tests of closures.
    public init(host: String, port: Int, certificates: [Data], verdict: Verdict) {
        (self.host, self.port, self.certificates, self.verdict) = (host, port, certificates, verdict)
    }

    /// The server and the verdict: `a.example:443, 3 certificates, trusted`.
    public var description: String {
        let verdict =
            switch verdict {
            case .trusted: "trusted"
            case .untrusted(let reason): "not trusted: \(reason.shownSafely())"
            case .unchecked: "not checked"
            }
        return "\(host):\(port), \(certificates.count.counted("certificate")), \(verdict)"
    }
}

extension ServerTrust {
    /// The choice of a request about the certificates of its server: see ``RequestOptions/onServerTrust``.
    public enum Choice: Sendable, Hashable {
        /// The system and the settings of the transport decide, as for a request without ``RequestOptions/onServerTrust``.
        case systemVerdict
        /// The server is accepted, even if the system does not trust the certificates. **With this choice, the closure alone is responsible
        /// for the identity of the server.**
        ///
        /// Pins of the transport still apply. If the certificates are not trusted, the pins are compared only with the server's own
        /// certificate, because the signatures of the chain are not verified.
        case acceptWithoutVerification
        /// The server is refused, even if the system trusts the certificates. The reason becomes a part of the error's message.
        case refuse(because: String)
    }
}

/// Decides about the certificates of a server.
public typealias ServerTrustHandler = @Sendable (ServerTrust) async throws -> ServerTrust.Choice

// The option does not cross origins: a decision about one server must not apply to another server.
private enum OnServerTrustKey: OptionKey {
    static var defaultValue: ServerTrustHandler? { nil }
    static var requiredCapabilities: TransportCapabilities { .serverTrust }
}

extension RequestOptions {
    /// Decides whether this request accepts the certificates of its server; `nil`, the default: the system and the settings of the
    /// transport decide.
    ///
    /// ```swift
    /// request.options.onServerTrust = { server in
    ///     server.certificates.first == knownCertificate ? .acceptWithoutVerification : .systemVerdict
    /// }
    /// ```
    ///
    /// The closure is called after the system has verified the certificates, and before the request is sent on the connection. The request
    /// has connections of its own, which no other request uses. The closure is called for each of these connections: more than once if the
    /// call has several attempts. For a URL of the scheme `http`, there are no certificates, and the closure is not called. The closure
    /// does not decide about the certificates of proxies.
    ///
    /// If the closure refuses the server or throws an error, the request fails with the code ``TransportError/Code/tls``, and is not
    /// sent. The thrown error is the underlying error. If the server responds before the closure has accepted a certificate, the request
    /// fails, too. The decision never overrides the pins of the transport. If a pin refuses the server, the closure is not called.
    ///
    /// The time of the closure counts toward the deadline and the phase timeouts of the request. When the deadline or a phase timeout
    /// passes, or when the call is cancelled, the task of the closure is cancelled. The call ends when the closure has returned.
    ///
    /// Any value except `nil` requires a transport with the capability ``TransportCapabilities/serverTrust``. Of the transports of this
    /// library, only ``/ErrandURLSession/URLSessionTransport`` on Apple's platforms has this capability. A redirect to another origin
    /// removes the option. If a request has this option, `coalesce` never shares its exchange.
    public var onServerTrust: ServerTrustHandler? {
        get { self[OnServerTrustKey.self] }
        set { self[OnServerTrustKey.self] = newValue }
    }
}
