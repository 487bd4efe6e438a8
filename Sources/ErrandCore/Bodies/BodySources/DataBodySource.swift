internal import Synchronization

/// A source of bytes in memory, in one chunk or several.
final class DataBodySource: BodySource {
    private let rest: Mutex<Data?>
    private let chunkLimitBytes: Int
    let trailers: HTTPFields?

    /// - Parameter chunkLimitBytes: the maximum length of a chunk. Default: all bytes are one chunk.
    init(_ data: Data, trailers: HTTPFields? = nil, chunkLimitBytes: Int = .max) {
        rest = Mutex(data.isEmpty ? nil : data)
        (self.trailers, self.chunkLimitBytes) = (trailers, chunkLimitBytes)
    }

    func next() async throws -> Data? {
        rest.withLock { rest in
            guard let all = rest, all.count > chunkLimitBytes else { return rest.take() }
            let chunk = Data(all.prefix(chunkLimitBytes))
            rest = all.dropFirst(chunk.count)
            return chunk
        }
    }

    func abandon() { rest.withLock { $0 = nil } }

    /// Returns a source of the remaining bytes, in chunks of at most 64 KiB. After the call, this source is empty.
    func inChunks() -> DataBodySource {
        let left = rest.withLock { $0.take() } ?? Data()
        return DataBodySource(left, trailers: trailers, chunkLimitBytes: BodyPipeline.chunkLimitBytes)
    }
}
