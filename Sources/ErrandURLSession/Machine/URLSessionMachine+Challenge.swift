extension URLSessionMachine {
    /// The kind of a challenge of a server or of a proxy.
    enum ChallengeKind: Sendable, Equatable {
        case serverTrust
        case clientCertificate
        /// A challenge of HTTP.
        case credentials

        /// - Parameter method: the authentication method of the protection space. On Linux, Foundation has no constants for the first two
        ///   methods.
        init(method: String) {
            self =
                switch method {  // octets: constants of Foundation
                case "NSURLAuthenticationMethodServerTrust": .serverTrust
                case "NSURLAuthenticationMethodClientCertificate": .clientCertificate
                default: .credentials
                }
        }
    }

    /// The reply to a challenge.
    enum ChallengeReply: Sendable, Equatable {
        case performDefaultHandling
        case cancel
        /// Check the server's certificates by the settings of the transport, and call ``URLSessionMachine/assess(_:for:)``.
        case checkServerTrust
        /// Present the client certificate of the transport.
        case presentClientCertificate
    }

    /// The reply to a challenge with a server's certificates.
    enum TrustReply: Sendable, Equatable {
        case performDefaultHandling
        case accept
        case cancel

        init(_ decision: ServerTrustPolicy.Decision) {
            self =
                switch decision {
                case .useSession: .performDefaultHandling
                case .accept: .accept
                case .refuse: .cancel
                }
        }
    }
}
