/// An event of an event stream, or one of its comments, is beyond a limit.
public struct EventTooLargeError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The limits of an event.
    public enum Limit: Sendable, Hashable {
        /// The size of an event, in bytes.
        case bytes(Int)
        /// The number of combining marks in a row: 128. Swift takes quadratic time to compare a text with more of them.
        case combiningMarks(Int)
    }

    /// The limit that is exceeded.
    public let limit: Limit

    init(_ limit: Limit) { self.limit = limit }

    /// What the event has: `more than 1024 bytes`.
    package var excess: String {
        switch limit {
        case .bytes(let count): "more than \(count) bytes"
        case .combiningMarks: MarkRun.excess
        }
    }

    public var description: String {
        switch limit {
        case .bytes(let count): "an event of the stream is larger than the limit of \(count) bytes; maxEventBytes sets another one"
        case .combiningMarks: "an event of the stream has \(excess)"
        }
    }
}
