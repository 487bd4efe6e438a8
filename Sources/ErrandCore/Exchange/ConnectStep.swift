/// A step of opening a connection.
public enum ConnectStep: Sendable, Hashable {
    /// Looking up the addresses of the host.
    case dns
    /// Opening the connection.
    case connect
    /// Making the TLS handshake.
    case tls

    var start: ExchangeEvent.Kind {
        switch self {
        case .dns: .dnsStart
        case .connect: .connectStart
        case .tls: .tlsStart
        }
    }

    var end: ExchangeEvent.Kind {
        switch self {
        case .dns: .dnsEnd
        case .connect: .connectEnd
        case .tls: .tlsEnd
        }
    }
}
