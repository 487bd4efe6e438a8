/// The connection that an exchange goes over.
public struct ConnectionInfo: Sendable, Hashable {
    /// A number that no other connection of the transport has, from 1.
    public let number: Int
    /// Whether another exchange has used it before, or uses it at the same time.
    public let isReused: Bool
    /// The IP address of the server or proxy; `nil` where it is not known.
    public let peerAddress: String?
    /// The port of the server or proxy; `nil` where it is not known.
    public let peerPort: Int?

    /// Creates a value.
    public init(number: Int, isReused: Bool, peerAddress: String? = nil, peerPort: Int? = nil) {
        (self.number, self.isReused, self.peerAddress, self.peerPort) = (number, isReused, peerAddress, peerPort)
    }
}
