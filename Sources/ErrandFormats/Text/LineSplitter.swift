/// Splits bytes into lines at LF, CR LF and CR, however the chunks fall.
package struct LineSplitter: Sendable {
    private var buffer: [UInt8] = []
    private var start = 0  // of the line that is being read
    private var scanned = 0  // up to where there is no line end
    private var skipsLineFeed = false  // the last line ended in a CR that was the last byte seen

    /// How many bytes the last line had on the wire: what is no UTF-8 grows when it is repaired.
    package private(set) var lineBytes = 0

    package init() {}

    /// Bytes of a line whose end has not come.
    package var pendingBytes: Int { buffer.count - start }

    package mutating func append(_ chunk: some Sequence<UInt8>) {
        if start > 0 {
            buffer.removeSubrange(..<start)
            scanned -= start
            start = 0
        }
        buffer.append(contentsOf: chunk)
    }

    /// The next whole line; nil if more bytes are needed.
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

    /// The last line, if it had no end.
    package mutating func finish() -> String? {
        defer {
            buffer = []
            start = 0
            scanned = 0
        }
        return start < buffer.count ? String(decoding: buffer[start...], as: UTF8.self) : nil
    }
}
