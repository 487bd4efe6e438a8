/// Reads a multipart body ([RFC 2046, section 5.1](https://www.rfc-editor.org/rfc/rfc2046#section-5.1)) piece by piece. Chunks can
/// end anywhere.
///
/// ```swift
/// var reader = MultipartReader(boundary: boundary)
/// for try await chunk in response.body {
///     reader.append(chunk)
///     while let event = try reader.next() {
///         switch event {
///         case .head(let head): print(head.name ?? "")
///         case .content(let bytes): file.write(bytes)
///         case .end: file.close()
///         }
///     }
/// }
/// try reader.finish()
/// ```
///
/// Text before the first delimiter and text after the closing delimiter are ignored. A delimiter is at the beginning of a line, which means
/// directly after CR LF. Spaces and tabs may follow the delimiter on its line.
///
/// The reader keeps at most one chunk, plus fewer bytes than the limit of a head. The size of a part's content is not limited.
/// If your code keeps the content, your code must limit the size.
public struct MultipartReader: Sendable {
    /// The default limit of the head of a part: 16 KiB.
    public static let defaultHeadLimitBytes = 16 * 1024
    /// The default limit of the number of parts: 1000.
    public static let defaultMaxParts = 1000

    /// The next element of the body.
    public enum Event: Sendable, Hashable {
        /// A part begins.
        case head(MultipartHead)
        /// A piece of the part's content, never empty.
        case content([UInt8])
        /// The part has ended.
        case end
    }

    private enum State {
        case preamble
        /// The position is after the delimiter, on the delimiter's line.
        ///
        /// - Parameter isPadded: whether spaces were read after the delimiter. If true, the delimiter is not the closing delimiter.
        case delimiter(isPadded: Bool)
        case head
        /// - Parameter isAtStart: whether the buffer begins with the line ending of the empty line. The next delimiter may begin
        ///   with the same line ending.
        case content(isAtStart: Bool)
        case epilogue
        case failed(MultipartError)
    }

    private enum Delimiter {
        case found(Int)
        /// There is no delimiter up to this position.
        case noneUpTo(Int)
    }

    private static let headEnd = ByteSearch([0x0D, 0x0A, 0x0D, 0x0A])

    private let search: ByteSearch
    private let headLimitBytes: Int
    private let maxParts: Int
    private var state = State.preamble
    // The buffered bytes. The buffer starts with a line ending, so that a delimiter on the first line is also found.
    private var buffer: [UInt8] = [0x0D, 0x0A]
    /// The index of the first unused byte.
    private var start = 0
    /// The index from which the search in the buffer continues.
    private var searched = 0
    private var partCount = 0

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - boundary: the parameter `boundary` of the body's media type.
    ///   - headLimitBytes: the longest head of a part, in bytes, at least 0. Default: 16 KiB. A head has at most 64 fields.
    ///   - maxParts: the largest number of parts, at least 0. Default: 1000.
    public init(boundary: MultipartBoundary, headLimitBytes: Int = defaultHeadLimitBytes, maxParts: Int = defaultMaxParts) {
        precondition(headLimitBytes >= 0, "headLimitBytes must be at least 0 (is \(headLimitBytes))")
        precondition(maxParts >= 0, "maxParts must be at least 0 (is \(maxParts))")
        search = ByteSearch(Array("\r\n--\(boundary.text)".utf8))
        (self.headLimitBytes, self.maxParts) = (headLimitBytes, maxParts)
    }

    /// Whether the closing delimiter was read.
    public var isComplete: Bool { if case .epilogue = state { true } else { false } }

    /// Adds bytes. Before you add more bytes, call ``next()`` until the method returns `nil`, because unparsed bytes take
    /// memory.
    public mutating func append(_ chunk: some Sequence<UInt8>) {
        switch state {
        case .epilogue, .failed: return
        default: break
        }
        if start > 0 {
            buffer.removeSubrange(..<start)
            searched = max(0, searched - start)
            start = 0
        }
        buffer.append(contentsOf: chunk)
    }

    /// Returns the next event; `nil` if more bytes are needed, or if the closing delimiter was read.
    ///
    /// - Throws: ``MultipartError`` if the body is invalid. Each later call throws the same error.
    public mutating func next() throws(MultipartError) -> Event? {
        do {
            return try step()
        } catch {
            state = .failed(error)
            buffer = []
            (start, searched) = (0, 0)
            throw error
        }
    }

    /// Checks that the body is complete. Call this method at the end of the body, after ``next()`` has returned `nil`.
    ///
    /// - Throws: ``MultipartError`` if the closing delimiter is missing, or if the body was invalid.
    public func finish() throws(MultipartError) {
        switch state {
        case .epilogue: return
        case .failed(let error): throw error
        case .preamble: throw MultipartError(.missingEnd, "the multipart body has no delimiter with its boundary")
        default: throw MultipartError(.missingEnd, "the multipart body ended before its closing delimiter")
        }
    }

    private mutating func step() throws(MultipartError) -> Event? {
        while true {
            switch state {
            case .preamble:
                switch delimiter() {
                case .found(let index): enterDelimiter(at: index)
                case .noneUpTo(let end):
                    use(upTo: end)
                    return nil
                }
            case .delimiter(let isPadded):
                guard try delimiterLine(isPadded: isPadded) else { return nil }
            case .head:
                guard let head = try head() else { return nil }
                return .head(head)
            case .content(let isAtStart):
                if let event = content(isAtStart: isAtStart) { return event }
                guard case .delimiter = state else { return nil }
                return .end
            case .epilogue: return nil
            case .failed(let error): throw error
            }
        }
    }

    private mutating func use(upTo end: Int) {
        start = end
        searched = max(searched, end)
    }

    private mutating func enterDelimiter(at index: Int) {
        use(upTo: index + search.pattern.count)
        state = .delimiter(isPadded: false)
    }

    /// Finds the next delimiter, which is the boundary at the beginning of a line. The octets after the boundary must not belong
    /// to a longer boundary.
    private mutating func delimiter() -> Delimiter {
        let from = max(start, searched)
        let found: Delimiter = buffer.withUnsafeBytes { bytes in
            var from = from
            while let index = search.firstIndex(in: bytes, from: from) {
                let end = index + search.pattern.count
                guard end < bytes.count else { return .noneUpTo(index) }
                switch bytes[end] {
                case 0x20, 0x09, 0x0D: return .found(index)
                case UInt8(ascii: "-"):
                    guard end + 1 < bytes.count else { return .noneUpTo(index) }
                    if bytes[end + 1] == UInt8(ascii: "-") { return .found(index) }
                default: break
                }
                from = index + 1
            }
            return .noneUpTo(search.firstPartialIndex(in: bytes, from: from))
        }
        if case .noneUpTo(let end) = found { searched = end }
        return found
    }

    /// Reads the rest of a delimiter's line. Returns false if more bytes are needed.
    private mutating func delimiterLine(isPadded: Bool) throws(MultipartError) -> Bool {
        guard start < buffer.count else { return false }
        if !isPadded, buffer[start] == UInt8(ascii: "-") {
            // The next byte is a hyphen too: `delimiter()` has checked that byte.
            state = .epilogue
            buffer = []
            (start, searched) = (0, 0)
            return true
        }
        while start < buffer.count, buffer[start].isOptionalSpace {
            start += 1
            state = .delimiter(isPadded: true)
        }
        guard start + 1 < buffer.count else {
            guard start == buffer.count || buffer[start] == 0x0D else { throw Self.invalidDelimiter }
            return false
        }
        guard buffer[start] == 0x0D, buffer[start + 1] == 0x0A else { throw Self.invalidDelimiter }
        partCount += 1
        guard partCount <= maxParts else {
            throw MultipartError(.tooManyParts, "the multipart body has more parts than the limit of \(maxParts)")
        }
        // The search for the end of the head includes this line ending, because the head may have no fields.
        searched = start
        state = .head
        return true
    }

    private static let invalidDelimiter = MultipartError(
        .invalidDelimiter, "a line of the multipart body has other bytes than spaces after the boundary")

    private mutating func head() throws(MultipartError) -> MultipartHead? {
        let from = max(start, searched)
        let end = buffer.withUnsafeBytes { Self.headEnd.firstIndex(in: $0, from: from) }
        // If the empty line after the head was not found, the last bytes may be a part of that line.
        guard (end ?? max(start, buffer.count - 3)) - start <= headLimitBytes else {
            throw MultipartError(.headTooLong, "the fields of a part are longer than the limit of \(headLimitBytes.counted("byte"))")
        }
        guard let end else {
            searched = max(start, buffer.count - 3)
            return nil
        }
        let delimiter = search.pattern.dropFirst(2)
        let head = try MultipartHead(buffer[min(start + 2, end)..<end]) { line in
            guard line.starts(with: delimiter) else { return false }
            let rest = line.dropFirst(delimiter.count)
            return rest.first.map(\.isOptionalSpace) ?? true || rest.starts(with: "--".utf8)
        }
        start = end + 2
        searched = start
        state = .content(isAtStart: true)
        return head
    }

    /// Returns a piece of the content; `nil` if more bytes are needed, or if there is a delimiter. At a delimiter, the state
    /// becomes `delimiter`.
    private mutating func content(isAtStart: Bool) -> Event? {
        let found = delimiter()
        let end =
            switch found {
            case .found(let index): index
            case .noneUpTo(let index): index
            }
        // The line ending of the empty line after the head is not content.
        let first = isAtStart ? start + 2 : start
        guard end > first else {
            if case .found(let index) = found {
                enterDelimiter(at: index)
            } else if isAtStart, end == first {
                use(upTo: first)
                state = .content(isAtStart: false)
            }
            return nil
        }
        let piece = Array(buffer[first..<end])
        use(upTo: end)
        state = .content(isAtStart: false)
        return .content(piece)
    }
}
