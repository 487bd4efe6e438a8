extension TransportError {
    /// The failure, its phase and its reason: `Cannot connect: connection refused.`
    public var failureReason: String? { happened.asSentence }

    /// The advice for a person; `nil` if only a developer can help.
    ///
    /// After a lost connection or a timeout, the suggestion warns if the server may have processed a request that is not
    /// idempotent.
    public var recoverySuggestion: String? {
        switch code {
        case .cannotFindHost where proxy != nil: return "Check the network connection and the settings of the proxy, then try again."
        case .cannotConnect where proxy != nil: return "Check the network connection and the settings of the proxy, or try again later."
        case .cannotFindHost: return "Check the network connection, then try again."
        case .cannotConnect: return "Check the network connection, or try again later."
        case .notConnected: return "Connect this device to a network, then try again."
        case .blockedByPolicy: return "Check the network settings of this device."
        case .timedOut where phase == .connectivity: return "Connect this device to a network, then try again."
        case .connectionLost: return "Check the network connection, then try again.\(caution)"
        case .timedOut: return "Try again later.\(caution)"
        // If a certificate is not valid now, the clock of the device may be wrong. Only a developer can help with any other failure of TLS.
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
        case (.cannotFindHost, .connect), (.cannotConnect, .connect), (.notConnected, .connect), (.blockedByPolicy, .connect),
            (.tls, .connect), (.proxy, .connect), (.invalidResponse, .response), (.bodyTooLarge, .body), (.requestBody, .send),
            (.invalidRequest, .request),
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
