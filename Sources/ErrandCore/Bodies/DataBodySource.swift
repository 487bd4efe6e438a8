internal import Synchronization

/// Bytes in memory, given in one chunk.
final class DataBodySource: BodySource {
    private let rest: Mutex<Data?>
    let trailers: HTTPFields?

    init(_ data: Data, trailers: HTTPFields? = nil) {
        rest = Mutex(data.isEmpty ? nil : data)
        self.trailers = trailers
    }

    func next() async throws -> Data? {
        rest.withLock { rest in
            defer { rest = nil }
            return rest
        }
    }

    func abandon() { rest.withLock { $0 = nil } }
}
