/// The error for a body that is read a second time although it can be read only once.
///
/// The body was already read, abandoned, or moved into another body. Keep the bytes that you read, or use
/// ``ResponseBody/bufferedData``.
public struct BodyAlreadyUsedError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    /// Creates the error, which a body source of your own can throw.
    public init() {}
    public var description: String { "the body can be read only once, and was read or abandoned before; keep the first reader's bytes" }
    /// A sentence for people.
    public var errorDescription: String? { "The content cannot be read a second time." }
    public var failureReason: String? { "The content can be read only once, and was read or abandoned before." }
}

extension BodyAlreadyUsedError: SafelyDescribedError {}
