/// The error for the second reader of a body that can be read only once.
///
/// The body was already read, abandoned, or moved into another body. If a middleware reads a body and passes the response on, it must first
/// put the bytes back:
///
/// ```swift
/// let data = try await response.data()
/// response.body = .data(data)
/// ```
///
/// If the body is already in memory, ``ResponseBody/bufferedData`` has the bytes without reading the body.
public struct BodyAlreadyUsedError: NumberedFailure, Sendable, Hashable, CustomStringConvertible {
    /// Creates the error, which a body source of your own can throw.
    public init() {}
    public var description: String {
        "the body can be read only once, and was read or abandoned before; "
            + "to read a response and pass it on, write: let data = try await response.data(); response.body = .data(data)"
    }
    public var failureNumber: FailureNumber { .bodyAlreadyUsed }
    public var failureReason: String? { "The content can be read only once, and was read or abandoned before." }
}

extension BodyAlreadyUsedError: SafelyDescribedError {}
