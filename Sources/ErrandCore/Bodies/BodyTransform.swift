/// Transforms a body chunk by chunk as it is read: decompression, a checksum, another encoding.
///
/// A chunk ends anywhere, also within a character. This transform changes single bytes, so it needs no more than it has:
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
/// The head stays as it is. A middleware that transforms the body of a response removes or replaces the fields that describe the old bytes:
/// `Content-Length`, `Content-Encoding`, `ETag` and digests.
///
/// It is a value: each body has a copy of its own, which its only reader changes, without a lock or a task. Copies must not share a reference
/// that they change: bytes in memory are tried with one copy first, and a request's body has a copy for each time that it is sent. What a
/// transform returns goes to the reader before more is read.
public protocol BodyTransform: Sendable {
    /// The next bytes of the new body, made of bytes that it takes from the front of `input`.
    ///
    /// What it leaves in `input` is there at the next call, with what has come since, and takes memory. Indices begin at `input.startIndex`. It is
    /// called until it returns nil, also with an empty `input`, and then again when there is more. No bytes count as nil, unless it has taken
    /// some.
    ///
    /// - Returns: bytes, 64 KiB at most; nil where it needs more. More than 64 KiB reach the reader in pieces, but take memory as a whole.
    /// - Throws: what ends the body as failed: the reader gets the error. An exchange that is not over on the wire fails with it.
    mutating func next(_ input: inout Data) throws -> Data?

    /// The last bytes of the new body, when the old one has come to its end. Nil by default.
    ///
    /// It is called until it returns nil; no bytes count as nil, unless it has taken some of `input`. A transform that needs more than there was
    /// throws here.
    ///
    /// - Parameter input: what ``next(_:)`` has left. A transform takes all of it: what is still there at the end fails the body with
    ///   ``UnconsumedInputError``. To drop it, set `input` to empty data.
    mutating func finish(_ input: inout Data) throws -> Data?
}

extension BodyTransform {
    /// Returns nil, and takes nothing: a body whose last bytes ``next(_:)`` has left fails with ``UnconsumedInputError``.
    public mutating func finish(_ input: inout Data) throws -> Data? { nil }
}

/// A body ended, and its ``BodyTransform`` left some of its bytes.
public struct UnconsumedInputError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    /// How many bytes the transform left; at least 1.
    public let byteCount: Int

    package init(byteCount: Int) { self.byteCount = byteCount }

    public var description: String {
        "the body ended, and its transform left \(byteCount) \(byteCount == 1 ? "byte" : "bytes"); take them in finish(_:), or set input to empty data there"
    }
    public var errorDescription: String? { description }
}
