/// Splits bytes into lines at LF, CR LF and CR. Chunks can end anywhere.
package struct LineSplitter: Sendable {
    /// The default limit that readers set for a line, 1 MiB. The splitter itself does not limit lines.
    package static let defaultLineLimitBytes = 1024 * 1024

    private var lines = LineFinder(.any)

    /// The length of the last line, in the bytes that were received. The text may be longer, because U+FFFD replaces invalid
    /// UTF-8.
    package private(set) var lineBytes = 0

    /// Whether the last line has more combining marks in a row than ``MarkRun/limit``.
    package private(set) var hasLongMarkRun = false

    package init() {}

    /// The number of bytes of the incomplete line.
    package var pendingBytes: Int { lines.pending.count }

    package mutating func append(_ chunk: some Sequence<UInt8>) { chunk.withContiguousBytes { lines.append($0) } }

    /// Returns the next complete line; `nil` if more bytes are needed.
    package mutating func next() -> String? { lines.next().map { text($0) } }

    /// Returns the last line if this line has no ending.
    package mutating func finish() -> String? { lines.finish().map { text($0) } }

    private mutating func text(_ line: Range<Int>) -> String {
        lineBytes = line.count
        let text: String
        (hasLongMarkRun, text) = lines.bytes.withUnsafeBytes { bytes in
            let octets = UnsafeRawBufferPointer(rebasing: bytes[line])
            return (MarkRun.isTooLong(in: octets), String(decoding: octets, as: UTF8.self))
        }
        return text
    }
}
