/// The abilities of a transport. If a transport lacks ``deadlines`` or ``phaseTimeouts``, the stack enforces these limits. If an option
/// requires any other missing ability (``OptionKey/requiredCapabilities``), the request fails with ``UnsupportedOptionError``.
public struct TransportCapabilities: OptionSet, Sendable, CustomStringConvertible {
    /// The flags as bits.
    public let rawValue: UInt32
    /// Creates a set from bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The transport itself enforces a ``Request/deadline`` on the continuous clock, until the end of the body. Without this
    /// flag, the stack stops each step at the deadline.
    public static let deadlines = TransportCapabilities(rawValue: 1 << 0)
    /// The transport itself enforces ``RequestOptions/phaseTimeouts``, with its own timers on the continuous clock. Without this flag, the
    /// stack measures the phases.
    public static let phaseTimeouts = TransportCapabilities(rawValue: 1 << 1)
    /// The transport receives a response body only as fast as the reader reads the body. If this flag is set, the conformance suite tests
    /// back-pressure.
    public static let streamingDownload = TransportCapabilities(rawValue: 1 << 2)
    /// The transport reports ``ExchangeEvent/Kind/requestHeadSent`` and ``ExchangeEvent/Kind/requestSent`` to the event sink. Without this
    /// flag, the stack can't distinguish connecting from waiting for the response, and the limit ``PhaseTimeouts/firstByte`` applies to
    /// both phases together.
    public static let phaseEvents = TransportCapabilities(rawValue: 1 << 3)
    /// The transport reports each informational response (1xx) as ``ExchangeEvent/Kind/informationalResponse``, before the final response
    /// ([RFC 9110, section 15.2](https://www.rfc-editor.org/rfc/rfc9110#section-15.2)).
    public static let informationalResponses = TransportCapabilities(rawValue: 1 << 4)
    /// The transport sends the trailer fields of a request body, and returns the trailer fields of a response body
    /// ([RFC 9110, section 6.5](https://www.rfc-editor.org/rfc/rfc9110#section-6.5)).
    public static let trailers = TransportCapabilities(rawValue: 1 << 5)
    /// The transport can change the protocol of a connection, and returns the connection's stream
    /// ([RFC 9110, section 7.8](https://www.rfc-editor.org/rfc/rfc9110#section-7.8)).
    public static let upgrades = TransportCapabilities(rawValue: 1 << 6)
    /// The transport itself requests and decodes content codings such as `gzip`. The response has the decoded body, without the
    /// field `Content-Encoding`.
    public static let decodesContent = TransportCapabilities(rawValue: 1 << 7)
    /// The transport can wait for a network path instead of failing a request.
    public static let waitsForConnectivity = TransportCapabilities(rawValue: 1 << 8)
    /// The transport can limit a request to networks of some kinds, for example to networks that are not expensive.
    public static let networkAccess = TransportCapabilities(rawValue: 1 << 9)
    /// The transport lets a request decide about the certificates of its server: see ``RequestOptions/onServerTrust``.
    public static let serverTrust = TransportCapabilities(rawValue: 1 << 10)

    private static let names: [(TransportCapabilities, String)] = [
        (.deadlines, "deadlines"), (.phaseTimeouts, "phaseTimeouts"), (.streamingDownload, "streamingDownload"),
        (.phaseEvents, "phaseEvents"), (.informationalResponses, "informationalResponses"), (.trailers, "trailers"),
        (.upgrades, "upgrades"), (.decodesContent, "decodesContent"), (.waitsForConnectivity, "waitsForConnectivity"),
        (.networkAccess, "networkAccess"), (.serverTrust, "serverTrust"),
    ]

    /// The names of the flags, in a fixed order.
    public var description: String { Self.names.filter { contains($0.0) }.map(\.1).joined(separator: ", ") }
}
