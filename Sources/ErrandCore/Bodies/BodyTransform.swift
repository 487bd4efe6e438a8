/// Transforms a body chunk by chunk as it is read: decompression, a digest, another case.
///
/// ```swift
/// struct Capitals: BodyTransform {
///     mutating func next(_ input: inout Data) -> Data? {
///         defer { input = Data() }
///         return input.isEmpty ? nil : Data(String(decoding: input, as: UTF8.self).uppercased().utf8)
///     }
/// }
///
/// let loud = response.body.transformed(by: Capitals())
/// ```
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
    /// - Parameter input: what ``next(_:)`` has left. What is left of it in the end is dropped.
    mutating func finish(_ input: inout Data) throws -> Data?
}

extension BodyTransform {
    public mutating func finish(_ input: inout Data) throws -> Data? { nil }
}
