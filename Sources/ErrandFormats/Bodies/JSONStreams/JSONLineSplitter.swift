/// Splits newline-delimited JSON (`application/x-ndjson`, JSON Lines) into its lines. Chunks can end anywhere.
///
/// A line ends with LF; a CR before the LF counts as JSON white space. A line that contains only white space is not returned, but is
/// counted in the line numbers. A byte order mark is not removed ([RFC 8259, section
/// 8.1](https://www.rfc-editor.org/rfc/rfc8259#section-8.1)).
public struct JSONLineSplitter: Sendable {
    /// The default limit of a line: 1 MiB.
    public static let defaultLineLimitBytes = 1024 * 1024

    /// A line that is not empty.
    public struct Line: Sendable, Hashable {
        /// The number of the line in the text, from 1.
        public let number: Int
        /// The bytes of the line without its ending. The bytes may end with a CR.
        public let bytes: [UInt8]
    }

    private let lineLimitBytes: Int
    private var lines = LineFinder(.lineFeed)
    private var number = 0
    private var failure: JSONTextTooLargeError?

    /// Creates a splitter at the beginning of a text.
    ///
    /// - Parameter lineLimitBytes: the largest size of a line without its ending, in bytes, at least 1. Default: 1 MiB.
    public init(lineLimitBytes: Int = defaultLineLimitBytes) {
        precondition(lineLimitBytes > 0, "lineLimitBytes must be at least 1 (is \(lineLimitBytes))")
        self.lineLimitBytes = lineLimitBytes
    }

    /// Adds the next bytes of the text. Before you add more bytes, call ``next()`` until the method returns `nil`, because
    /// unsplit bytes take memory.
    public mutating func append(_ chunk: some Sequence<UInt8>) { chunk.withContiguousBytes { lines.append($0) } }

    /// Returns the next complete line; `nil` if more bytes are needed.
    ///
    /// - Throws: ``JSONTextTooLargeError`` for a line that exceeds the limit. Each later call throws the same error.
    public mutating func next() throws(JSONTextTooLargeError) -> Line? {
        if let failure { throw failure }
        while let line = lines.next() {
            if let line = try taken(line) { return line }
        }
        guard lines.pending.count <= lineLimitBytes else { throw tooLarge() }
        return nil
    }

    /// Returns the last line if this line has no line ending and is not empty. Call this method at the end of the text, after
    /// ``next()`` returned `nil`.
    ///
    /// - Throws: ``JSONTextTooLargeError`` if ``next()`` has thrown this error, or if the last line exceeds the limit.
    public mutating func finish() throws(JSONTextTooLargeError) -> Line? {
        if let failure { throw failure }
        guard let line = lines.finish() else { return nil }
        return try taken(line)
    }

    private mutating func taken(_ line: Range<Int>) throws(JSONTextTooLargeError) -> Line? {
        number += 1
        guard line.count <= lineLimitBytes else { throw tooLarge() }
        let bytes = lines.bytes[line]
        return bytes.allSatisfy(\.isSpace) ? nil : Line(number: number, bytes: Array(bytes))
    }

    private mutating func tooLarge() -> JSONTextTooLargeError {
        let error = JSONTextTooLargeError(limitBytes: lineLimitBytes)
        failure = error
        lines = LineFinder(.lineFeed)
        return error
    }
}

extension JSONLineSplitter: CustomReflectable {
    /// The mirror shows the limit, and shows no bytes of the text.
    public var customMirror: Mirror { Mirror(self, children: ["lineLimitBytes": lineLimitBytes]) }
}

extension JSONLineSplitter.Line: CustomStringConvertible, CustomReflectable {
    /// The number and the length of the line: `line 3 (20 bytes)`.
    public var description: String { "line \(number) (\(bytes.count.counted("byte")))" }
    /// The description.
    public var customMirror: Mirror { Mirror(self, children: ["line": description]) }
}
