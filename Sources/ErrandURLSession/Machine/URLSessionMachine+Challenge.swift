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
                switch method {
                case "NSURLAuthenticationMethodServerTrust": .serverTrust
                case "NSURLAuthenticationMethodClientCertificate": .clientCertificate
                default: .credentials
                }
        }
    }
}
