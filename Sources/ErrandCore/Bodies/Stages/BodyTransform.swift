/// A transform of a body, for decompression, a digest or another encoding. The transform gets the body chunk by chunk while the body is
/// read.
///
/// ```swift
/// struct Capitals: BodyTransform {                        // of ASCII letters; other bytes stay as they are
///     mutating func next(_ input: inout Data) -> Data? {
///         defer { input = Data() }
///         return input.isEmpty ? nil : Data(input.map { (0x61...0x7A).contains($0) ? $0 - 0x20 : $0 })
///     }
/// }
///
/// response.body = response.body.transformed(by: Capitals())
/// ```
///
/// A chunk can end anywhere, also within a character. The head of the message stays as it is. If a middleware transforms the body
/// of a response, it must remove or replace the fields that describe the old bytes: `Content-Length`, `Content-Encoding`, `ETag`
/// and digests.
///
/// A transform is a value, and each body has its own copy. Only the reader of the body changes the copy, without a lock or a task.
/// Copies must not share a mutable reference. If a body is in memory, a first copy of the transform tries to transform all bytes
/// immediately. If this copy fails, or its output has more than 1 MiB, another copy transforms the body chunk by chunk. If a request's body
/// is a stream, each sending of the body uses a new copy. The output of a transform is delivered before more input is read.
public protocol BodyTransform: Sendable {
    /// Removes bytes from the front of `input`, and returns the next bytes of the new body.
    ///
    /// The method is called until it returns `nil`, even with an empty `input`. When there is more input, the method is called again.
    /// If the method returns empty output and has removed nothing from `input`, the output is treated as `nil`. Indices begin at
    /// `input.startIndex`.
    ///
    /// If the method leaves bytes in `input`, these bytes stay in memory, and come before newer bytes in the next call. There is no
    /// limit: if a transform never removes any bytes, the whole body stays in memory.
    ///
    /// - Parameter input: the bytes that are not used yet.
    /// - Returns: at most 64 KiB; `nil` if the transform needs more input. Larger output reaches the reader in pieces, but is in
    ///   memory as a whole.
    /// - Throws: an error, which fails the body and reaches the reader. If the exchange has not ended on the wire, the exchange
    ///   fails with this error.
    mutating func next(_ input: inout Data) throws -> Data?

    /// Returns the last bytes of the new body, after the end of the old body. The default implementation returns `nil`.
    ///
    /// The method is called until it returns `nil`. If the method returns empty output and has removed nothing from `input`, the output
    /// is treated as `nil`. If the input is incomplete, the transform throws an error here.
    ///
    /// - Parameter input: the bytes that ``next(_:)`` left. The transform must remove all these bytes: if bytes remain at the end, the
    ///   body fails with ``UnconsumedInputError``. To drop the bytes, set `input` to empty data.
    mutating func finish(_ input: inout Data) throws -> Data?
}

extension BodyTransform {
    /// Returns `nil` and removes nothing. If ``next(_:)`` left bytes, the body fails with ``UnconsumedInputError``.
    public mutating func finish(_ input: inout Data) throws -> Data? { nil }
}

/// The error for a body whose ``BodyTransform`` left some bytes at the end.
public struct UnconsumedInputError: NumberedFailure, Sendable, Hashable, CustomStringConvertible {
    /// The number of bytes that the transform left; at least 1.
    public let byteCount: Int

    /// Creates the error.
    ///
    /// - Parameter byteCount: the number of bytes that the transform left.
    public init(byteCount: Int) { self.byteCount = byteCount }

    public var description: String {
        "the body ended, and its transform left \(byteCount.counted("byte")); "
            + "in finish(_:), use the rest of input, or set input to empty data"
    }
    public var failureNumber: FailureNumber { .unconsumedInput }
    public var failureReason: String? { description.asSentence }
}

extension UnconsumedInputError: SafelyDescribedError {}
