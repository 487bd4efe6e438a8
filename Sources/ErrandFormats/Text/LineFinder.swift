/// Finds lines in bytes that arrive in chunks.
///
/// Each byte is examined once, and copied once or twice. A line is a range of ``bytes``. The range is valid until the next chunk is
/// appended.
struct LineFinder: Sendable {
    /// The line endings to find.
    enum Ending: Sendable {
        /// LF, CR LF or CR.
        case any
        /// Only LF. A CR before the LF is part of the line.
        case lineFeed
    }

    private let ending: Ending
    /// The bytes of lines that were not returned yet. Some bytes of returned lines may be before these bytes.
    private(set) var bytes: [UInt8] = []
    private var start = 0  // the start of the current line
    private var scanned = 0  // the end of the bytes without a line ending
    private var skipsLineFeed = false  // the last byte so far was a CR

    init(_ ending: Ending) { self.ending = ending }

    /// The bytes of the incomplete line.
    var pending: Range<Int> { start..<bytes.count }

    mutating func append(_ chunk: UnsafeBufferPointer<UInt8>) {
        // The remaining bytes are moved only if there are fewer remaining bytes than bytes of returned lines. Therefore all
        // moves together take linear time.
        if start > 0, start * 2 >= bytes.count {
            bytes.removeSubrange(..<start)
            scanned -= start
            start = 0
        }
        bytes.append(contentsOf: chunk)
    }

    /// Drops the first `count` bytes of the incomplete line, without a search for line endings.
    mutating func drop(_ count: Int) {
        start += count
        scanned = start
    }

    /// Returns the next complete line without its ending; `nil` if more bytes are needed.
    mutating func next() -> Range<Int>? {
        if skipsLineFeed, start < bytes.count {
            if bytes[start] == 0x0A { drop(1) }
            skipsLineFeed = false
        }
        let found = bytes.withUnsafeBufferPointer { $0.firstOffset(of: 0x0A, or: ending == .any ? 0x0D : 0x0A, from: scanned) }
        guard let end = found else {
            scanned = bytes.count
            return nil
        }
        let line = start..<end
        start = end + 1
        if bytes[end] == 0x0D {
            if start == bytes.count {
                skipsLineFeed = true
            } else if bytes[start] == 0x0A {
                start += 1
            }
        }
        scanned = start
        return line
    }

    /// Removes and returns the last line if this line has no ending and is not empty; otherwise `nil`.
    mutating func finish() -> Range<Int>? {
        let line = pending
        drop(line.count)
        return line.isEmpty ? nil : line
    }
}
