/// The error for a line of newline-delimited JSON, or a text of a JSON text sequence, that is larger than the limit.
public struct JSONTextTooLargeError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The limit in bytes.
    public let limitBytes: Int

    init(limitBytes: Int) { self.limitBytes = limitBytes }

    public var description: String { "a JSON text of the stream is larger than the limit of \(limitBytes.counted("byte"))" }
}
