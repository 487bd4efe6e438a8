/// Where an exchange was when something happened. An open set.
public struct ExchangePhase: Sendable, Hashable, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }

    /// Before anything was done: the request itself.
    public static let request = ExchangePhase("request")
    /// Waiting for a turn or for a connection.
    public static let queue = ExchangePhase("queue")
    /// Looking up the host, connecting, TLS.
    public static let connect = ExchangePhase("connect")
    /// Sending the request.
    public static let send = ExchangePhase("send")
    /// Waiting for the head of the response.
    public static let response = ExchangePhase("response")
    /// Reading the body of the response.
    public static let body = ExchangePhase("body")
    /// Making a value of the body.
    public static let decode = ExchangePhase("decode")
    /// Waiting before the next attempt.
    public static let backoff = ExchangePhase("backoff")
}
