internal import ErrandFormats

extension ResponseBody {
    /// The body as lines of UTF-8 text, without line endings. Empty lines are kept.
    ///
    /// ```swift
    /// for try await line in response.body.lines { print(line) }
    /// ```
    ///
    /// A line ends with LF, CR LF or CR. The end of a chunk does not end a line. The last line needs no ending. Octets that are
    /// not valid UTF-8 become U+FFFD.
    ///
    /// A line longer than 1 MiB is an error: see ``lines(upTo:)``. A line with more than 128 combining marks in a row is also an
    /// error, because Swift takes quadratic time to compare such text.
    public var lines: Lines { lines(upTo: LineSplitter.defaultLineLimitBytes) }

    /// Returns the body as lines, with your own limit. See ``lines``.
    ///
    /// - Parameter limitBytes: the largest length of a line, in bytes; at least 1.
    public func lines(upTo limitBytes: Int) -> Lines {
        precondition(limitBytes > 0, "limitBytes must be at least 1 (is \(limitBytes))")
        return Lines(body: self, limitBytes: limitBytes)
    }

    /// The lines of a body. See ``ResponseBody/lines``.
    public struct Lines: AsyncSequence, Sendable {
        public typealias Element = String
        public typealias Failure = any Error

        let body: ResponseBody
        let limitBytes: Int

        public func makeAsyncIterator() -> Iterator {
            Iterator(body: body.makeAsyncIterator(), splitter: LineSplitter(), limitBytes: limitBytes)
        }

        /// An iterator over the lines of a body.
        public struct Iterator: AsyncIteratorProtocol {
            private var body: ResponseBody.Iterator
            private var splitter: LineSplitter
            fileprivate let limitBytes: Int
            private var isAtEnd = false

            init(body: ResponseBody.Iterator, splitter: LineSplitter, limitBytes: Int) {
                (self.body, self.splitter, self.limitBytes) = (body, splitter, limitBytes)
            }

            /// Returns the next line; `nil` at the end.
            ///
            /// - Throws: ``TransportError`` with the code `bodyTooLarge` for a line that exceeds a limit; the errors of the body.
            public mutating func next() async throws -> String? {
                while true {
                    if let line = splitter.next() {
                        guard splitter.lineBytes <= limitBytes else { break }
                        return try checked(line)
                    }
                    guard splitter.pendingBytes <= limitBytes else { break }
                    guard !isAtEnd else { return nil }
                    if let chunk = try await body.next() {
                        splitter.append(chunk)
                    } else {
                        isAtEnd = true
                        return try splitter.finish().map { try checked($0) }
                    }
                }
                throw body.tooLarge(limitBytes)
            }

            private func checked(_ line: String) throws -> String {
                if splitter.hasLongMarkRun { throw body.tooLarge(MarkRun.excessDescription) }
                return line
            }

            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> String? { try await next() }
        }
    }
}

extension ResponseBody.Lines.Iterator: HidesStorage {}
