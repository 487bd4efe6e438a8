extension TransportError {
    /// A sentence for people, without details: `Could not connect to the server a.example.`
    public var errorDescription: String? {
        let server = origin.map { "the server \($0.host.shownSafely(limit: 80))" } ?? shownServer
        let text =
            switch code {
            case .cannotFindHost: "\(server) could not be found"
            case .cannotConnect: "could not connect to \(server)"
            case .connectionLost: "the connection to \(server) was lost"
            case .timedOut where phase == .connect: "connecting to \(server) took too long"
            case .timedOut where phase == .queue || phase == .backoff: "the request to \(server) waited for too long"
            case .timedOut: "\(server) did not respond in time"
            case .tls: "a secure connection to \(server) could not be established"
            case .invalidResponse: "the response of \(server) is not valid"
            case .bodyTooLarge: "the response of \(server) is too large"
            case .requestBody: "the content of the request could not be read"
            case .invalidRequest: "the request cannot be sent"
            case .proxy: "the proxy did not forward the request to \(server)"
            case .unsupported: "the request needs something that is not supported"
            case .shutDown: "the client was shut down"
            default: "the request to \(server) failed"
            }
        return text.asSentence
    }

    /// What happened, in which phase and why: `Cannot connect: connection refused.`
    public var failureReason: String? { happened.asSentence }

    /// What a person can do; `nil` where only a developer can help. Where the server may have processed the request, it says so.
    public var recoverySuggestion: String? {
        switch code {
        case .cannotFindHost: return "Check the network connection, then try again."
        case .cannotConnect: return "Check the network connection, or try again later."
        case .connectionLost: return "Check the network connection, then try again.\(caution)"
        case .timedOut: return "Try again later.\(caution)"
        // Only where the time may be the cause: all other refusals are for the developer of the app, or of the server.
        case .tls: return isOfCertificateDates(message) ? "Check the date and time of this device." : nil
        case .invalidResponse: return "Try again later."
        case .requestBody: return (underlying as? FileReadError)?.recoverySuggestion
        case .proxy: return "Check the address and the credentials of the proxy."
        default: return nil
        }
    }

    private var caution: String {
        guard delivery != .notSent, let method = request?.method, !method.isIdempotent else { return "" }
        return " The server may have processed the request already."
    }

    /// The phase is in the code already: a failure to connect happens while connecting.
    private var phaseIsKnown: Bool {
        switch (code, phase) {
        case (.cannotFindHost, .connect), (.cannotConnect, .connect), (.tls, .connect), (.proxy, .connect), (.invalidResponse, .response),
            (.bodyTooLarge, .body), (.requestBody, .send), (.invalidRequest, .request), (.unsupported, .request):
            true
        default: false
        }
    }

    /// Code, phase, time and message.
    var happened: String {
        var text = code.description
        if !phaseIsKnown {
            text += " \(phase.activity)"
            if let elapsed { text += " after \(elapsed.inWords)" }
        }
        return message.isEmpty ? text : text + ": \(message)"
    }
}
