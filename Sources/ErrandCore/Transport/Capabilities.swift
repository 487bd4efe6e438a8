/// What a transport can do. What is not in the set, the stack does in its place where it can, or refuses with a clear error.
public struct Capabilities: OptionSet, Sendable, CustomStringConvertible {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// It obeys ``Request/deadline`` (on the continuous clock) by itself, to the end of the body.
    public static let deadlines = Capabilities(rawValue: 1 << 0)
    /// Request bodies are sent while they are produced.
    public static let streamingUpload = Capabilities(rawValue: 1 << 1)
    /// Response bodies are read as fast as they are wanted, not faster.
    public static let streamingDownload = Capabilities(rawValue: 1 << 2)
    public static let http2 = Capabilities(rawValue: 1 << 3)
    public static let responseTrailers = Capabilities(rawValue: 1 << 4)
    public static let requestTrailers = Capabilities(rawValue: 1 << 5)
    /// Informational responses (103, 104) are reported as events.
    public static let informationalResponses = Capabilities(rawValue: 1 << 6)
    /// It can change the protocol of a connection (``UpgradeRequest``).
    public static let upgrades = Capabilities(rawValue: 1 << 7)
    /// It tells the event sink when the head of the request was sent, and when all of it was: what limits per phase stand on.
    public static let phaseEvents = Capabilities(rawValue: 1 << 8)
    /// It tells the event sink which connection an exchange goes over, and whether that is a new one.
    public static let connectionEvents = Capabilities(rawValue: 1 << 9)
    /// It obeys ``RequestOptions/phaseTimeouts`` (on the continuous clock) by itself, with timers of its own.
    public static let phaseTimeouts = Capabilities(rawValue: 1 << 10)

    private static let names: [(Capabilities, String)] = [
        (.deadlines, "deadlines"), (.streamingUpload, "streamingUpload"), (.streamingDownload, "streamingDownload"),
        (.http2, "http2"), (.responseTrailers, "responseTrailers"), (.requestTrailers, "requestTrailers"),
        (.informationalResponses, "informationalResponses"), (.upgrades, "upgrades"),
        (.phaseEvents, "phaseEvents"), (.connectionEvents, "connectionEvents"), (.phaseTimeouts, "phaseTimeouts"),
    ]

    public var description: String { Self.names.filter { contains($0.0) }.map(\.1).joined(separator: ", ") }
}
