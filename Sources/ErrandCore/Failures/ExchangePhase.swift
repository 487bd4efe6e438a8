/// A phase of an exchange, such as connecting or reading the body. Your own transports and middleware may add phases.
public struct ExchangePhase: Sendable, Hashable, CustomStringConvertible {
    /// The name, such as `connect`.
    public let description: String

    /// Creates a phase.
    ///
    /// - Parameter description: the name.
    public init(_ description: String) { self.description = description }

    /// Checking the request, before anything is sent.
    public static let request = ExchangePhase("request")
    /// Waiting for a slot or for a connection.
    public static let queue = ExchangePhase("queue")
    /// Waiting until the device has a network, before anything is sent.
    public static let connectivity = ExchangePhase("connectivity")
    /// Looking up the host, connecting, and performing the TLS handshake.
    public static let connect = ExchangePhase("connect")
    /// Sending the request.
    public static let send = ExchangePhase("send")
    /// Waiting for the head of the response.
    public static let response = ExchangePhase("response")
    /// Reading the body of the response.
    public static let body = ExchangePhase("body")
    /// Decoding the body into a value.
    public static let decode = ExchangePhase("decode")
    /// Waiting before the next attempt.
    public static let backoff = ExchangePhase("backoff")

    /// The phase in words, as text that follows a failure in a message: `while connecting` after `timed out`.
    var activity: String {
        switch self {
        case .request: "before it was sent"
        case .queue: "in the queue"
        case .connectivity: "while waiting for a network"
        case .connect: "while connecting"
        case .send: "while sending the request"
        case .response: "while waiting for the response"
        case .body: "while reading the body"
        case .decode: "while decoding the body"
        case .backoff: "while waiting for the next attempt"
        default: "in \(description)"
        }
    }
}
