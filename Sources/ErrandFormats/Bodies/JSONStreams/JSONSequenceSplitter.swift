/// Splits a JSON text sequence (`application/json-seq`, [RFC 7464](https://www.rfc-editor.org/rfc/rfc7464)) into its texts. Chunks
/// can end anywhere.
///
/// Each text follows a record separator (0x1E) and ends with LF. A text is delivered as soon as its LF arrives. An incomplete text
/// is a separate item, because another text may follow ([section 2.3](https://www.rfc-editor.org/rfc/rfc7464#section-2.3)). The
/// texts are not parsed, and may be invalid.
public struct JSONSequenceSplitter: Sendable {
    /// The default limit of a text: 1 MiB.
    public static let defaultTextLimitBytes = 1024 * 1024

    /// A part of the sequence.
    public struct Item: Sendable, Hashable {
        /// The number of the text in the sequence, from 1.
        public let number: Int
        /// The bytes of the text, with its white space.
        public let bytes: [UInt8]
        /// Whether the text ends before its outermost value is complete. A number, `true`, `false` or `null` also counts as incomplete if
        /// no white space follows ([section 2.4](https://www.rfc-editor.org/rfc/rfc7464#section-2.4)).
        public let isCutOff: Bool
    }

    private let textLimitBytes: Int
    private var input: [UInt8] = []
    private var start = 0  // the start of the bytes that were not examined
    private var text: [UInt8] = []
    private var number = 0
    private var failure: JSONTextTooLargeError?

    // The following properties describe the value in the bytes that were read so far.
    private var depth = 0
    private var string = JSONStringState()
    private var hasValue = false
    /// Whether the text can end after the last byte, without white space after that byte.
    private var isClosed = false

    /// Creates a splitter at the beginning of a sequence.
    ///
    /// - Parameter textLimitBytes: the largest size of a text with its white space, in bytes, at least 1. Default: 1 MiB.
    public init(textLimitBytes: Int = defaultTextLimitBytes) {
        precondition(textLimitBytes > 0, "textLimitBytes must be at least 1 (is \(textLimitBytes))")
        self.textLimitBytes = textLimitBytes
    }

    /// Adds the next bytes of the sequence. Before you add more bytes, call ``next()`` until the method returns `nil`, because
    /// unsplit bytes take memory.
    public mutating func append(_ chunk: some Sequence<UInt8>) {
        if start > 0, start * 2 >= input.count {
            input.removeSubrange(..<start)
            start = 0
        }
        chunk.withContiguousBytes { input.append(contentsOf: $0) }
    }

    /// Returns the next text; `nil` if more bytes are needed.
    ///
    /// - Throws: ``JSONTextTooLargeError`` for a text that exceeds the limit. Each later call throws the same error.
    public mutating func next() throws(JSONTextTooLargeError) -> Item? {
        if let failure { throw failure }
        while start < input.count {
            let byte = input[start]
            start += 1
            if byte == 0x1E {
                if let item = take(isWhole: hasValue && depth == 0 && !string.isInString && isClosed) { return item }
                continue
            }
            guard hasValue || !byte.isSpace else { continue }  // skips white space before and after a text
            guard text.count < textLimitBytes else {
                let error = JSONTextTooLargeError(limitBytes: textLimitBytes)
                failure = error
                (input, text, start) = ([], [], 0)
                throw error
            }
            text.append(byte)
            examine(byte)
            if byte == 0x0A, depth == 0, !string.isInString, let item = take(isWhole: true) { return item }
        }
        return nil
    }

    /// Returns the last text, if the sequence ends without an LF after this text. Call this method after ``next()`` returned
    /// `nil`.
    ///
    /// - Throws: ``JSONTextTooLargeError`` if ``next()`` has thrown this error.
    public mutating func finish() throws(JSONTextTooLargeError) -> Item? {
        if let failure { throw failure }
        return take(isWhole: hasValue && depth == 0 && !string.isInString && isClosed)
    }

    private mutating func examine(_ byte: UInt8) {
        hasValue = true
        switch string.read(byte) {
        case .start: isClosed = false
        case .text: break
        case .end: isClosed = true
        case .outside: examineOutsideStrings(byte)
        }
    }

    private mutating func examineOutsideStrings(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["): (depth, isClosed) = (depth + 1, false)
        case UInt8(ascii: "}"), UInt8(ascii: "]"): (depth, isClosed) = (max(0, depth - 1), true)
        default: isClosed = byte.isSpace
        }
    }

    private mutating func take(isWhole: Bool) -> Item? {
        guard hasValue else { return nil }
        number += 1
        let item = Item(number: number, bytes: text, isCutOff: !isWhole)
        text = []
        depth = 0
        string = JSONStringState()
        hasValue = false
        isClosed = false
        return item
    }
}

extension JSONSequenceSplitter: CustomReflectable {
    /// The mirror shows the limit, and shows no bytes of the sequence.
    public var customMirror: Mirror { Mirror(self, children: ["textLimitBytes": textLimitBytes]) }
}

extension JSONSequenceSplitter.Item: CustomStringConvertible, CustomReflectable {
    /// The number and the length of the text: `text 3 (20 bytes, cut off)`.
    public var description: String {
        "text \(number) (\(bytes.count.counted("byte"))\(isCutOff ? ", cut off" : ""))"
    }
    /// The description.
    public var customMirror: Mirror { Mirror(self, children: ["text": description]) }
}
