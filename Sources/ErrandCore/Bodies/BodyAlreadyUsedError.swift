/// The error for the second reader of a body that can be read only once.
///
/// The body was already read, abandoned, or moved into another body. Keep the bytes that you read, or use
/// ``ResponseBody/bufferedData``.
public struct BodyAlreadyUsedError: NumberedFailure, Sendable, Hashable, CustomStringConvertible {
    /// Creates the error, which a body source of your own can throw.
    public init() {}
    public var description: String { "the body can be read only once, and was read or abandoned before; keep the first reader's bytes" }
    public var failureNumber: FailureNumber { .bodyAlreadyUsed }
    public var failureReason: String? { "The content can be read only once, and was read or abandoned before." }
}

extension BodyAlreadyUsedError: SafelyDescribedError {}
