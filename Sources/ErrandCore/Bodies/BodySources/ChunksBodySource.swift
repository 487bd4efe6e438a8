internal import Synchronization

/// A source of chunks in memory, without delays. After the chunks, the body ends, fails, or continues with another source.
package final class ChunksBodySource: BodySource {
    /// The event after the last chunk.
    package enum End: Sendable {
        /// The body is complete.
        case complete
        case failure(any Error)
        /// Another source has the rest of the body.
        case source(any BodySource)
    }

    private let rest: Mutex<ArraySlice<Data>>
    private let end: End

    /// - Parameter chunks: the chunks. Empty chunks are dropped.
    package init(_ chunks: [Data], then end: End = .complete) {
        rest = Mutex(chunks.filter { !$0.isEmpty }[...])
        self.end = end
    }

    private var source: (any BodySource)? { if case .source(let source) = end { source } else { nil } }

    package var trailers: HTTPFields? { source?.trailers }

    package func next() async throws -> Data? {
        if let chunk = rest.withLock({ $0.popFirst() }) { return chunk }
        return switch end {
        case .complete: nil
        case .failure(let error): throw error
        case .source(let source): try await source.next()
        }
    }

    package func abandon() {
        rest.withLock { $0 = [] }
        source?.abandon()
    }

    package func fail(with error: any Error) {
        rest.withLock { $0 = [] }
        source?.fail(with: error)
    }
}
