internal import ErrandFormats

/// A snapshot of an open connection of a transport.
///
/// ```swift
/// for connection in transport.openConnections where connection.isIdle {
///     print("\(connection.authority ?? "unused") at \(connection.peerAddress ?? "an unknown address")")
/// }
/// ```
public struct OpenConnection: Sendable, Hashable {
    /// The number of the connection, as in ``ConnectionInfo``.
    public let number: Int
    /// The scheme of the requests on the connection, `http` or `https`; `nil` if it is not known.
    public let scheme: String?
    /// The host and the port, as named by the requests on the connection. `nil` before the first request if the transport gets
    /// the host and the port from the first request.
    public let authority: String?
    /// The IP address of the server or proxy; `nil` for a Unix domain socket, and if the address is not known.
    public let peerAddress: String?
    /// The port of the server or proxy; `nil` for a Unix domain socket, and if the port is not known.
    public let peerPort: Int?
    /// The number of exchanges in progress on the connection; 0 if the connection is idle.
    public let exchanges: Int
    /// The number of exchanges that have begun on the connection so far.
    public let exchangesStarted: Int
    /// The time since the connection was opened, or since the end of its TLS handshake; `nil` if the time is not known.
    public let age: Duration?
    /// The HTTP version, as in ``ResponseMetadata/httpVersion``; `nil` if it is not known.
    public let httpVersion: HTTPVersion?
    /// The proxy of the connection; `nil` for a direct connection, and if the proxy is not known.
    public let proxy: ProxyAddress?
    /// The other origins whose requests use the connection too, in alphabetical order
    /// ([RFC 9113, section 9.1.1](https://www.rfc-editor.org/rfc/rfc9113#section-9.1.1)). Empty for most connections.
    public let sharedWith: [Origin]

    /// Whether no exchange uses the connection.
    public var isIdle: Bool { exchanges == 0 }

    /// Creates a value. For transports. For each parameter, see the property of the same name.
    public init(
        number: Int, authority: String?, exchanges: Int, exchangesStarted: Int, scheme: String? = nil, peerAddress: String? = nil,
        peerPort: Int? = nil, age: Duration? = nil, httpVersion: HTTPVersion? = nil, proxy: ProxyAddress? = nil,
        sharedWith: [Origin] = []
    ) {
        (self.number, self.scheme, self.authority) = (number, scheme, authority)
        (self.peerAddress, self.peerPort) = (peerAddress, peerPort)
        (self.exchanges, self.exchangesStarted, self.age) = (exchanges, exchangesStarted, age)
        (self.httpVersion, self.proxy, self.sharedWith) = (httpVersion, proxy, sharedWith)
    }

    /// Returns whether the connection was opened for this origin. If the scheme of the connection is not known, only the
    /// authority is compared.
    public func isOpen(to origin: Origin) -> Bool {
        authority == origin.authority && (scheme == nil || scheme == origin.scheme)
    }
}

extension OpenConnection: CustomStringConvertible, HidesStorage {
    /// The connection in one line, without unknown parts: `#1 http://a.example at 192.0.2.1:80, HTTP/1.1, 1 in progress, 7 so
    /// far, 12 s old`. If the line contains `through the HTTP proxy proxy.example:3128`, the address after this text is the
    /// address of the proxy.
    public var description: String {
        var text = "#\(number)"
        if let authority { text += " " + ((scheme.map { "\($0)://" } ?? "") + authority).shownSafely() }
        if let proxy { text += " through the \(proxy)" }
        if let peerAddress {
            let address = peerAddress.containsOctet(UInt8(ascii: ":")) ? "[\(peerAddress)]" : peerAddress
            text += " at \(address)" + (peerPort.map { ":\($0)" } ?? "")
        }
        if !sharedWith.isEmpty { text += ", shared with " + sharedWith.map(\.description).joined(separator: ", ").shownSafely() }
        if let httpVersion { text += ", \(httpVersion)" }
        text += ", \(exchanges) in progress, \(exchangesStarted) so far"
        return text + (age.map { ", \($0.inWords) old" } ?? "")
    }
}
