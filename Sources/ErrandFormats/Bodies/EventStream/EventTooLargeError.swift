/// The error for an event or a comment of an event stream that exceeds a limit.
public struct EventTooLargeError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The limits of an event.
    public enum Limit: Sendable, Hashable {
        /// The size of an event, in bytes.
        case bytes(Int)
        /// The number of combining marks in a row: 128. Swift takes quadratic time to compare a text with more marks.
        case combiningMarks(Int)
    }

    /// The limit that is exceeded.
    public let limit: Limit

    init(_ limit: Limit) { self.limit = limit }

    /// The excess in words: `more than 1024 bytes`.
    package var excessDescription: String {
        switch limit {
        case .bytes(let count): "more than \(count.counted("byte"))"
        case .combiningMarks: MarkRun.excessDescription
        }
    }

    public var description: String {
        switch limit {
        case .bytes(let count):
            "an event of the stream is larger than the limit of \(count.counted("byte")); eventLimitBytes sets the limit"
        case .combiningMarks: "an event of the stream has \(excessDescription)"
        }
    }
}
