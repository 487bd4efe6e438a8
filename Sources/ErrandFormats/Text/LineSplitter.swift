/// Splits bytes into lines at LF, CR LF and CR, however the chunks divide them.
package struct LineSplitter: Sendable {
    private var buffer: [UInt8] = []
    private var start = 0  // of the current line
    private var scanned = 0  // the end of the bytes without a line ending
    private var skipsLineFeed = false  // the last byte so far was a CR

    /// The length of the last line in bytes on the wire. The text may be longer: invalid UTF-8 grows when it is repaired.
    package private(set) var lineBytes = 0

    package init() {}

    /// The number of bytes of the incomplete line.
    package var pendingBytes: Int { buffer.count - start }

    package mutating func append(_ chunk: some Sequence<UInt8>) {
        if start > 0 {
            buffer.removeSubrange(..<start)
            scanned -= start
            start = 0
        }
        buffer.append(contentsOf: chunk)
    }

    /// Returns the next complete line; `nil` if more bytes are needed.
    package mutating func next() -> String? {
        if skipsLineFeed, scanned < buffer.count {
            if buffer[scanned] == 0x0A {
                scanned += 1
                start = scanned
            }
            skipsLineFeed = false
        }
        guard let end = lineEnd() else {
            scanned = buffer.count
            return nil
        }
        let line = String(decoding: buffer[start..<end], as: UTF8.self)
        lineBytes = end - start
        if buffer[end] == 0x0D {
            if end + 1 < buffer.count {
                start = buffer[end + 1] == 0x0A ? end + 2 : end + 1
            } else {
                skipsLineFeed = true
                start = end + 1
            }
        } else {
            start = end + 1
        }
        scanned = start
        return line
    }

    private func lineEnd() -> Int? {
        buffer.withUnsafeBufferPointer { bytes in
            var index = scanned
            while index < bytes.count {
                if bytes[index] == 0x0A || bytes[index] == 0x0D { return index }
                index += 1
            }
            return nil
        }
    }

    /// Returns the last line, if it has no line ending.
    package mutating func finish() -> String? {
        defer {
            buffer = []
            start = 0
            scanned = 0
        }
        return start < buffer.count ? String(decoding: buffer[start...], as: UTF8.self) : nil
    }
}
