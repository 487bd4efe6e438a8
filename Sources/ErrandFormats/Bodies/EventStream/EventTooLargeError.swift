/// An event of an event stream, or one of its comments, is larger than the limit.
public struct EventTooLargeError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The limit in bytes.
    public let limitBytes: Int

    init(limitBytes: Int) { self.limitBytes = limitBytes }

    public var description: String {
        "an event of the stream is larger than the limit of \(limitBytes) bytes; maxEventBytes sets another one"
    }
}
