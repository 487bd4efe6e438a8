public import ErrandCore

/// Gives the same chunk again and again, as fast as it is read, and counts the bytes.
public final class CountingBodySource: BodySource {
    public struct Progress: Sendable {
        public var produced = 0
        public var isAbandoned = false
    }

    public let progress = Watched(Progress())
    private let totalBytes: Int?
    private let chunk: Data

    /// - Parameters:
    ///   - totalBytes: the length of the body; `nil` (the default): endless, until the task that reads is cancelled.
    ///   - chunk: 64 KiB by default.
    public init(totalBytes: Int? = nil, chunk: Data = Data(repeating: 0x61, count: 64 * 1024)) {
        (self.totalBytes, self.chunk) = (totalBytes, chunk)
    }

    public convenience init(totalBytes: Int, chunkBytes: Int) {
        self.init(totalBytes: totalBytes, chunk: Data(repeating: 0x61, count: chunkBytes))
    }

    public func next() async throws -> Data? {
        var next = chunk
        if let totalBytes {
            let produced = progress.value.produced
            guard produced < totalBytes else { return nil }
            next = chunk.prefix(totalBytes - produced)
        } else {
            try Task.checkCancellation()
        }
        let count = next.count
        progress.change { $0.produced += count }
        return next
    }

    public func abandon() { progress.change { $0.isAbandoned = true } }

    /// Waits until something was produced and nothing more is (``atRest(_:value:)``), and returns the number of bytes.
    public func producedAtRest() async throws -> Int {
        try await progress.wait("the first bytes") { $0.produced > 0 }
        return try await atRest("a producer") { progress.value.produced }
    }
}
