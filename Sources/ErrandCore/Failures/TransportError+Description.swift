extension TransportError {
    /// A sentence for people, without details: `Could not connect to the server a.example.` If the proxy failed, the sentence names
    /// the proxy.
    public var errorDescription: String? {
        let server = origin.map { "the server \($0.host.shownSafely(limit: 80))" } ?? shownServer
        let peer = proxy == nil ? server : shownProxy
        let text =
            switch code {
            case .cannotFindHost: "\(peer) could not be found"
            case .cannotConnect: "could not connect to \(peer)"
            case .notConnected: "this device is offline"
            case .blockedByPolicy: "the settings of this device do not allow the connection"
            case .connectionLost: "the connection to \(peer) was lost"
            case .timedOut where phase == .connect: "connecting to \(peer) took too long"
            case .timedOut where phase == .queue || phase == .backoff: "the request to \(server) waited for too long"
            case .timedOut: "\(server) did not respond in time"
            case .tls: "a secure connection to \(peer) could not be established"
            case .invalidResponse: "the response of \(server) is not valid"
            case .bodyTooLarge: "the response of \(server) is too large"
            case .requestBody: "the content of the request could not be read"
            case .invalidRequest: "the request cannot be sent"
            case .proxy where proxyCredentials == .missing: "\(shownProxy) requires a user name and a password"
            case .proxy where proxyCredentials == .refused: "\(shownProxy) did not accept the user name and the password"
            case .proxy where underlying is ProxySettingsError: "the settings of the proxy are not valid"
            case .proxy: "\(shownProxy) did not forward the request to \(server)"
            case .unsupported: "the request needs something that is not supported"
            case .shutDown: "the client was shut down"
            default: "the request to \(server) failed"
            }
        return text.asSentence
    }

    private var shownProxy: String { "the proxy" + (proxy.map { " \($0.host.shownSafely(limit: 80))" } ?? "") }

    /// The failure, its phase and its reason: `Cannot connect: connection refused.`
    public var failureReason: String? { happened.asSentence }

    /// The advice for a person; `nil` if only a developer can help.
    ///
    /// If the server may have processed a request that is not idempotent, the suggestion after a lost connection or a timeout says
    /// so.
    public var recoverySuggestion: String? {
        switch code {
        case .cannotFindHost where proxy != nil: return "Check the network connection and the settings of the proxy, then try again."
        case .cannotConnect where proxy != nil: return "Check the network connection and the settings of the proxy, or try again later."
        case .cannotFindHost: return "Check the network connection, then try again."
        case .cannotConnect: return "Check the network connection, or try again later."
        case .notConnected: return "Connect this device to a network, then try again."
        case .blockedByPolicy: return "Check the network settings of this device."
        case .connectionLost: return "Check the network connection, then try again.\(caution)"
        case .timedOut: return "Try again later.\(caution)"
        // The clock of the device may be the cause. Only a developer can help with any other failure of TLS.
        case .tls: return isOfCertificateDates(message) ? "Check the date and time of this device." : nil
        case .invalidResponse: return "Try again later."
        case .requestBody: return (underlying as? FileReadError)?.recoverySuggestion
        case .proxy where proxyCredentials == .missing: return "Add the user name and the password to the settings of the proxy."
        case .proxy where proxyCredentials == .refused: return "Check the user name and the password for the proxy."
        case .proxy where underlying is ProxySettingsError: return "Check the settings of the proxy."
        case .proxy: return "Check the settings of the proxy, or try again later."
        default: return nil
        }
    }

    private var caution: String {
        guard delivery != .notSent, let method = request?.method, !method.isIdempotent else { return "" }
        return " The server may have processed the request already."
    }

    /// Whether the code already implies the phase: a failure to connect happens while connecting.
    private var phaseIsKnown: Bool {
        switch (code, phase) {
        case (.cannotFindHost, .connect), (.cannotConnect, .connect), (.notConnected, .connect), (.blockedByPolicy, .connect), (.tls, .connect),
            (.proxy, .connect), (.invalidResponse, .response), (.bodyTooLarge, .body), (.requestBody, .send), (.invalidRequest, .request),
            (.unsupported, .request):
            true
        default: false
        }
    }

    /// The code, the phase, the elapsed time and the message, as text.
    var happened: String {
        var text = code.description
        if !phaseIsKnown {
            text += " \(phase.activity)"
            if let elapsed { text += " after \(elapsed.inWords)" }
        }
        return message.isEmpty ? text : text + ": \(message)"
    }
}
