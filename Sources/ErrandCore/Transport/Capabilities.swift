/// The abilities of a transport. The stack does whatever is missing from the set.
public struct Capabilities: OptionSet, Sendable, CustomStringConvertible {
    /// The flags as bits.
    public let rawValue: UInt32
    /// Creates a set from bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The transport itself obeys ``Request/deadline``, to the end of the body, for deadlines on the continuous clock. Without this flag,
    /// the stack races each step against the deadline.
    public static let deadlines = Capabilities(rawValue: 1 << 0)
    /// The transport itself obeys ``RequestOptions/phaseTimeouts``, with timers of its own on the continuous clock. Without this flag, the
    /// stack watches the phases.
    public static let phaseTimeouts = Capabilities(rawValue: 1 << 1)
    /// The transport reads a response body no faster than its reader does. The conformance suite tests back-pressure if this flag is set.
    public static let streamingDownload = Capabilities(rawValue: 1 << 2)
    /// The transport reports ``ExchangeEvent/Kind/requestHeadSent`` and ``ExchangeEvent/Kind/requestSent`` to the event sink. Without this
    /// flag, the stack can't distinguish connecting from waiting for the response, and limits both by ``PhaseTimeouts/firstByte``.
    public static let phaseEvents = Capabilities(rawValue: 1 << 3)

    private static let names: [(Capabilities, String)] = [
        (.deadlines, "deadlines"), (.phaseTimeouts, "phaseTimeouts"), (.streamingDownload, "streamingDownload"),
        (.phaseEvents, "phaseEvents"),
    ]

    /// The names of the flags, in a fixed order.
    public var description: String { Self.names.filter { contains($0.0) }.map(\.1).joined(separator: ", ") }
}
