/// A source of a body's bytes. The reader pulls one chunk at a time, so a source produces only the chunks that are read.
///
/// The same protocol serves both directions: a transport reads a request's body from a source, and provides a response's body as a
/// source. The body that holds a source drops its reference when the source has ended, failed or been abandoned.
public protocol BodySource: Sendable {
    /// Returns the next bytes, never empty; `nil` at the end, and in all later calls. The caller makes the next call only after this call
    /// has returned.
    ///
    /// - Throws: the error that ends the body early; `CancellationError` when the calling task is cancelled.
    func next() async throws -> Data?

    /// Ends the source, because nobody will read the rest. Releases all resources immediately, without waiting. The method can be
    /// called at any time, and more than once.
    func abandon()

    /// Ends the source, because a later stage of the body failed.
    ///
    /// Releases all resources, as ``abandon()`` does. If the source belongs to an exchange, the exchange ends as failed. The
    /// default implementation abandons the source. A source that wraps another source must forward the call.
    func fail(with error: any Error)

    /// The trailer fields ([RFC 9110, section 6.5](https://www.rfc-editor.org/rfc/rfc9110#section-6.5)); `nil` until ``next()`` has reached
    /// the end of the body, and if the body has no trailer fields.
    var trailers: HTTPFields? { get }
}

extension BodySource {
    /// `nil`: no trailer fields.
    public var trailers: HTTPFields? { nil }
    /// Abandons the source.
    public func fail(with error: any Error) { abandon() }
}

/// A source that can return a ready chunk without waiting.
///
/// A reader with a timeout takes a ready chunk first, because running a read and a timer at the same time costs more.
package protocol ReadyBodySource: BodySource {
    /// Returns the next chunk if a chunk is ready. If no chunk is ready, returns `nil`, and the caller must call ``BodySource/next()``.
    func takeReadyChunk() -> Data?
}

/// A source that reads an asynchronous sequence. When the source is released, the sequence's iterator is released.
actor SequenceBodySource<Base: AsyncSequence & Sendable>: BodySource where Base.Element == Data {
    private var iterator: Base.AsyncIterator?

    init(_ base: Base) { iterator = base.makeAsyncIterator() }

    func next() async throws -> Data? {
        guard var current = iterator else { return nil }
        while let chunk = try await current.next(isolation: self) {
            guard chunk.isEmpty else {
                iterator = current
                return chunk
            }
        }
        iterator = nil
        return nil
    }

    nonisolated func abandon() {}
}
