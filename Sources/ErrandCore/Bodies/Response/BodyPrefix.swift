/// The first bytes of a body, up to a limit, and the number of all bytes.
package struct BodyPrefix: Sendable {
    /// The largest number of kept bytes.
    private let limitBytes: Int
    /// The kept bytes.
    package private(set) var bytes: Data
    /// The number of all bytes.
    package private(set) var totalBytes: Int

    /// Creates a prefix without bytes.
    package init(limitBytes: Int) { (self.limitBytes, bytes, totalBytes) = (limitBytes, Data(), 0) }

    /// Creates the prefix of a whole body.
    package init(of data: Data, limitBytes: Int = .max) {
        (self.limitBytes, bytes, totalBytes) = (limitBytes, data.prefix(limitBytes), data.count)
    }

    /// Whether some bytes were not kept.
    package var isTruncated: Bool { totalBytes > bytes.count }

    /// Adds a chunk, and returns the number of its bytes that are kept.
    @discardableResult
    package mutating func append(_ chunk: Data) -> Int {
        totalBytes += chunk.count
        let kept = chunk.prefix(max(0, limitBytes - bytes.count))
        bytes.append(kept)
        return kept.count
    }

    /// Continues the body at `offset`, and drops the kept bytes at and after `offset`. If `offset` is greater than the number of kept
    /// bytes, the prefix is truncated.
    package mutating func restart(at offset: Int) {
        bytes = bytes.prefix(offset)
        totalBytes = offset
    }
}
