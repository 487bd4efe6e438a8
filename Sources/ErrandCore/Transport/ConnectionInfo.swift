/// The connection that an exchange goes over.
public struct ConnectionInfo: Sendable, Hashable {
    /// A number that no other connection of the transport has, from 1.
    public let number: Int
    /// Whether another exchange has used it before, or uses it at the same time.
    public let isReused: Bool
    /// The IP address of the server or proxy; `nil` if it is not known.
    public let peerAddress: String?
    /// The port of the server or proxy; `nil` if it is not known.
    public let peerPort: Int?
    /// The origin that it was opened for, if that is another one than the origin of the exchange, which shares it
    /// ([RFC 9113, section 9.1.1](https://www.rfc-editor.org/rfc/rfc9113#section-9.1.1)); otherwise `nil`.
    public let openedFor: Origin?

    /// Creates a value.
    public init(number: Int, isReused: Bool, peerAddress: String? = nil, peerPort: Int? = nil, openedFor: Origin? = nil) {
        (self.number, self.isReused, self.peerAddress, self.peerPort) = (number, isReused, peerAddress, peerPort)
        self.openedFor = openedFor
    }

    /// The number, and the origin that it was opened for if the exchange shares it: `connection 1 of https://a.example`.
    var name: String { "connection \(number)" + (openedFor.map { " of \($0)" } ?? "") }
}
