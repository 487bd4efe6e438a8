extension ResponseBody {
    /// The body as lines of UTF-8 text, each without its end. Empty lines are kept.
    ///
    /// A line ends at LF, CR LF or CR, however the chunks fall; the last one needs no end. Octets that are no UTF-8 become U+FFFD.
    /// A line longer than 1 MiB fails: see ``lines(upTo:)``.
    public var lines: Lines { lines(upTo: 1024 * 1024) }

    /// As ``lines``, with a bound of your own on the length of a line, in bytes.
    public func lines(upTo limitBytes: Int) -> Lines {
        precondition(limitBytes > 0, "a limit of \(limitBytes) bytes")
        return Lines(body: self, limitBytes: limitBytes)
    }

    public struct Lines: AsyncSequence, Sendable {
        public typealias Element = String
        public typealias Failure = any Error

        let body: ResponseBody
        let limitBytes: Int

        public func makeAsyncIterator() -> Iterator {
            Iterator(body: body.makeAsyncIterator(), splitter: LineSplitter(), limitBytes: limitBytes)
        }

        public struct Iterator: AsyncIteratorProtocol {
            private var body: ResponseBody.Iterator
            private var splitter: LineSplitter
            fileprivate let limitBytes: Int
            private var isAtEnd = false

            init(body: ResponseBody.Iterator, splitter: LineSplitter, limitBytes: Int) {
                (self.body, self.splitter, self.limitBytes) = (body, splitter, limitBytes)
            }

            /// - Throws: ``TransportError`` with the code `bodyTooLarge` for a line over the limit, and what the body throws.
            public mutating func next() async throws -> String? {
                while true {
                    if let line = splitter.next() {
                        guard splitter.lineBytes <= limitBytes else { break }
                        return line
                    }
                    guard splitter.pendingBytes <= limitBytes else { break }
                    guard !isAtEnd else { return nil }
                    if let chunk = try await body.next() {
                        splitter.append(chunk)
                    } else {
                        isAtEnd = true
                        return splitter.finish()
                    }
                }
                throw TransportError.bodyTooLarge(limitBytes: limitBytes, request: nil)
            }

            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> String? { try await next() }
        }
    }
}

extension ResponseBody.Lines.Iterator: CustomReflectable {
    /// Nothing of the body.
    public var customMirror: Mirror { Mirror(self, children: ["limitBytes": limitBytes]) }
}

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
