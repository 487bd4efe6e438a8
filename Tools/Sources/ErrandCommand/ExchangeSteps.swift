import Errand

/// The ends of the steps of one exchange. A step that was not needed has no end.
struct ExchangeSteps: Sendable {
    /// The start of the call.
    var start: ContinuousClock.Instant?
    private(set) var nameLookup: ContinuousClock.Instant?
    private(set) var connect: ContinuousClock.Instant?
    private(set) var tls: ContinuousClock.Instant?
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
        case .start: self = ExchangeSteps()
        case .dnsEnd: nameLookup = event.instant
        case .connectEnd: connect = event.instant
        case .tlsEnd: tls = event.instant
        case .connectionAcquired: (peerAddress, peerPort) = (event.connection?.peerAddress, event.connection?.peerPort)
        case .requestBytesSent: sentBytes = event.bytes ?? sentBytes
        case .responseHead: firstByte = event.instant
        default: break
        }
    }
}
