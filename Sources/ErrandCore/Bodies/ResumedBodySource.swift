internal import Synchronization

/// The bytes that were already read from a source, followed by the rest of the source.
package final class ResumedBodySource: BodySource {
    private let read: Mutex<Data?>
    private let rest: any BodySource

    package init(read: Data, rest: any BodySource) {
        self.read = Mutex(read.isEmpty ? nil : read)
        self.rest = rest
    }

    package var trailers: HTTPFields? { rest.trailers }

    package func next() async throws -> Data? {
        if let first = read.withLock({ $0.take() }) { return first }
        return try await rest.next()
    }

    package func abandon() { rest.abandon() }
    package func fail(with error: any Error) { rest.fail(with: error) }
}
