/// The connection that an exchange uses.
public struct ConnectionInfo: Sendable, Hashable {
    /// The number of the connection, from 1. No other connection of the transport has this number.
    public let number: Int
    /// Whether another exchange has used the connection before, or uses the connection at the same time.
    public let isReused: Bool
    /// The IP address of the server or proxy; `nil` if it is not known.
    public let peerAddress: String?
    /// The port of the server or proxy; `nil` if it is not known.
    public let peerPort: Int?
    /// The origin for which the connection was opened, if this origin differs from the origin of the exchange
    /// ([RFC 9113, section 9.1.1](https://www.rfc-editor.org/rfc/rfc9113#section-9.1.1)); otherwise `nil`.
    public let openedFor: Origin?

    /// Creates a value.
    public init(number: Int, isReused: Bool, peerAddress: String? = nil, peerPort: Int? = nil, openedFor: Origin? = nil) {
        self.number = number
        self.isReused = isReused
        self.peerAddress = peerAddress
        self.peerPort = peerPort
        self.openedFor = openedFor
    }

    /// The number of the connection, and the value of ``openedFor`` if there is one: `connection 1 of https://a.example`.
    var name: String { "connection \(number)" + (openedFor.map { " of \($0)" } ?? "") }
}
