extension TransportError: NumberedFailure {
    /// The number of the code. A failure of a proxy and the same failure of a server have different numbers. The number of a
    /// timeout depends on its phase.
    public var failureNumber: FailureNumber {
        switch code {
        case .cannotFindHost: proxy == nil ? .cannotFindHost : .cannotFindProxy
        case .cannotConnect: proxy == nil ? .cannotConnect : .cannotConnectToProxy
        case .connectionLost: proxy == nil ? .connectionLost : .proxyConnectionLost
        case .timedOut where phase == .connect: proxy == nil ? .connectTimedOut : .proxyConnectTimedOut
        case .timedOut where phase == .connectivity: .networkTimedOut
        case .timedOut where phase == .queue || phase == .backoff: .queueTimedOut
        case .timedOut: .responseTimedOut
        case .tls: proxy == nil ? .tls : .proxyTLS
        case .invalidResponse: .invalidResponse
        case .bodyTooLarge: .bodyTooLarge
        case .requestBody: .requestBody
        case .invalidRequest: .invalidRequest
        case .proxy where proxyCredentials == .missing: .proxyNeedsCredentials
        case .proxy where proxyCredentials == .refused: .proxyRefusedCredentials
        case .proxy where underlying is ProxySettingsError: .proxySettings
        case .proxy: .proxyRefused
        case .unsupported: .unsupported
        case .shutDown: .shutDown
        case .notConnected: .notConnected
        case .blockedByPolicy: .blockedByPolicy
        default: .transport
        }
    }
}
