import Errand

/// The ends of the steps of one exchange. A step that was not needed has no end.
struct ExchangeSteps: Sendable {
    /// The start of the call.
    var start: ContinuousClock.Instant?
    /// The start of the exchange.
    private(set) var exchange: ContinuousClock.Instant?
    private(set) var nameLookup: ContinuousClock.Instant?
    private(set) var connect: ContinuousClock.Instant?
    private(set) var tlsStart: ContinuousClock.Instant?
    private(set) var tls: ContinuousClock.Instant?
    private(set) var connection: ContinuousClock.Instant?
    private(set) var sent: ContinuousClock.Instant?
    private(set) var firstByte: ContinuousClock.Instant?
    private(set) var sentBytes: Int64 = 0
    private(set) var peerAddress: String?
    private(set) var peerPort: Int?

    /// The seconds from the start of the call to an instant; 0 for `nil`.
    func seconds(until instant: ContinuousClock.Instant?) -> Double {
        guard let start, let instant else { return 0 }
        return max(0, start.duration(to: instant) / .seconds(1))
    }

    /// Records an event. The start of another exchange forgets the steps of the exchange before.
    mutating func record(_ event: ExchangeEvent) {
        switch event.kind {
        case .start:
            self = ExchangeSteps()
            exchange = event.instant
        case .dnsEnd: nameLookup = event.instant
        case .connectEnd: connect = event.instant
        case .tlsStart: tlsStart = event.instant
        case .tlsEnd: tls = event.instant
        case .connectionAcquired:
            connection = event.instant
            (peerAddress, peerPort) = (event.connection?.peerAddress, event.connection?.peerPort)
        case .requestSent: sent = event.instant
        case .requestBytesSent: sentBytes = event.bytes ?? sentBytes
        case .responseHead: firstByte = event.instant
        default: break
        }
    }
}

extension ExchangeSteps {
    /// The line of `-v` about the TLS handshake; `nil` if there was none. The events of an exchange do not name the version of TLS, the
    /// cipher and the certificate.
    func tlsText(for version: HTTPVersion) -> String? {
        guard let tlsStart, let tls else { return nil }
        return Self.tlsText(tlsStart.duration(to: tls), version)
    }

    static func tlsText(_ handshake: Duration, _ version: HTTPVersion) -> String {
        let milliseconds = Int((handshake / .milliseconds(1)).rounded())
        let choice = version == .http2 ? "the server chose h2 (ALPN)" : "the connection uses \(version)"
        return "TLS handshake done in \(milliseconds) ms; \(choice)"
    }
}
