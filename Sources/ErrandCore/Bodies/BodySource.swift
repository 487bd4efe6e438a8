/// Where the bytes of a body come from: pulled one chunk at a time, so that nobody produces more than is wanted.
///
/// The same protocol serves both ways: a transport reads a request's body through it, and gives a response's body by it.
/// Whoever owns a source lets go of it after ``abandon()`` or the end.
public protocol BodySource: Sendable {
    /// The next bytes, never empty; nil at the end, and from then on. Not called again before it returned.
    ///
    /// - Throws: what broke the body off; `CancellationError` when the calling task is cancelled.
    func next() async throws -> Data?

    /// Says that nobody will read on. Releases everything, at once and without waiting; safe to call at any time, also twice.
    func abandon()

    /// Says that nobody will read on, because what the bytes go through has failed. Releases everything as ``abandon()`` does; an exchange that
    /// hangs on the source ends as failed. By default it abandons; a source over another one hands it on.
    func fail(with error: any Error)

    /// The trailer fields (RFC 9110, 6.5), once ``next()`` has returned nil; nil where there were none.
    var trailers: HTTPFields? { get }
}

extension BodySource {
    public var trailers: HTTPFields? { nil }
    public func fail(with error: any Error) { abandon() }
}

/// A source that may have a chunk at hand. A reader that races each read against a timer asks first, as a race costs more.
package protocol ReadyBodySource: BodySource {
    /// The next chunk, if it is there; nil where ``BodySource/next()`` is to be asked.
    func takeReadyChunk() -> Data?
}

/// A source over an asynchronous sequence; the sequence's iterator goes when the source goes.
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
