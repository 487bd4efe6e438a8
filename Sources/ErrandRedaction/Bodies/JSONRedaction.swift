package import ErrandFormats

/// Finds the bytes of a JSON text ([RFC 8259](https://www.rfc-editor.org/rfc/rfc8259)) that are the values of members with secret names.
/// All other bytes stay unchanged.
///
/// The replacement is the placeholder for a string, `0` for a number, `[]` for an array, and `{}` for an object. Therefore the text can
/// still be decoded. `null`, `true`, `false` and the empty string stay unchanged. Names are compared after their escapes are resolved.
///
/// Text that is truncated or malformed is redacted up to the problem. One placeholder replaces the text from the problem to the
/// end. After a secret value, a comma, a bracket or the end must follow. If anything else follows, one placeholder replaces the text from
/// this value to the end.
///
/// Redaction takes linear time and constant stack. `rewrite` is called on the same stack. Therefore a `rewrite` that reads JSON
/// within a string must limit the nesting by ``nestedTextLimit``.
package struct JSONRedaction: Sendable {
    /// The deepest nesting of JSON texts in strings of other JSON texts. A text beyond this depth is replaced completely.
    /// Without this limit, the nesting could grow with the number of bytes.
    package static let nestedTextLimit = 8

    /// The replacements.
    package private(set) var edits: [ByteEdit] = []
    /// The strings and numbers that were replaced, unescaped.
    package private(set) var values: [String] = []
    /// False if the text is not JSON, or has more than 256 levels of nesting.
    package private(set) var isValid = true

    /// Examines a text.
    ///
    /// - Parameters:
    ///   - bytes: UTF-8.
    ///   - placeholder: the replacement of a secret string: ASCII without quotation marks and backslashes.
    ///   - isSensitive: the closure that is called with each member's unescaped name, and returns whether the name is
    ///     sensitive.
    ///   - rewrite: the closure that is called with each name, and with each other string, such as a URL. The closure returns
    ///     the replacement; `nil` leaves the text unchanged.
    package init(
        _ bytes: [UInt8], placeholder: String, isSensitive: (String) -> Bool, rewrite: (String) -> String? = { _ in nil }
    ) {
        withoutActuallyEscaping(isSensitive) { isSensitive in
            withoutActuallyEscaping(rewrite) { rewrite in
                bytes.withUnsafeBufferPointer { bytes in
                    var scanner = JSONScanner(
                        cursor: JSONCursor(bytes), placeholder: Array(placeholder.utf8), isSensitive: isSensitive, rewrite: rewrite)
                    isValid = scanner.scan()
                    (edits, values) = (scanner.edits, scanner.values)
                }
            }
        }
    }
}

private struct Malformed: Error {}

private struct JSONScanner {
    static let deepest = 256

    var cursor: JSONCursor
    let placeholder: [UInt8]
    let isSensitive: (String) -> Bool
    let rewrite: (String) -> String?
    var edits: [ByteEdit] = []
    var values: [String] = []
    /// The start of the secret value that is being read; `nil` outside secret values.
    var secretStart: Int?
    /// The start of the last secret value, until the next token confirms the end of the value. An unescaped quotation mark in a
    /// password ends a string too early.
    var unconfirmedStart: Int?

    init(cursor: JSONCursor, placeholder: [UInt8], isSensitive: @escaping (String) -> Bool, rewrite: @escaping (String) -> String?) {
        self.cursor = cursor
        self.placeholder = placeholder
        self.isSensitive = isSensitive
        self.rewrite = rewrite
    }

    private var bytes: UnsafeBufferPointer<UInt8> { cursor.bytes }

    /// Examines all bytes. Returns whether the bytes are one complete JSON text.
    mutating func scan() -> Bool {
        cursor.skipByteOrderMark()
        var safe = cursor.position
        var isOne = true
        do throws(Malformed) {
            while true {
                cursor.skipSpace()
                let start = cursor.position
                try value(safe: &safe)
                cursor.skipSpace()
                if cursor.position == bytes.count { return isOne }
                isOne = false
                // If more text follows an array or an object, this text is also examined. If more text follows a string or a number,
                // everything from this value is hidden, because the value may be the name of a member.
                guard "{[".utf8.contains(bytes[start]) else {
                    safe = start
                    throw Malformed()
                }
            }
        } catch {
            // Up to `safe`, the text was read correctly. The code below hides the rest.
        }
        safe = min(safe, unconfirmedStart ?? safe)
        edits.removeAll { $0.range.lowerBound >= safe }
        let hidden = (unconfirmedStart ?? secretStart ?? safe)..<bytes.count
        if bytes[hidden].contains(where: { !$0.isSpace }) { edits.append(ByteEdit(hidden, quoted(placeholder))) }
        return false
    }

    private func quoted(_ text: [UInt8]) -> [UInt8] { [UInt8(ascii: "\"")] + text + [UInt8(ascii: "\"")] }

    private func peek() throws(Malformed) -> UInt8 {
        guard let next = cursor.next else { throw Malformed() }
        return next
    }

    private mutating func expect(_ character: Unicode.Scalar) throws(Malformed) {
        guard cursor.take(character) else { throw Malformed() }
    }

    /// An array or an object that is being read.
    private struct Level {
        let isObject: Bool
        /// Whether the array or object is the value of a sensitive name, and not within another such value.
        let beginsSecret: Bool
        let start: Int
    }

    /// Reads one value. The open arrays and objects are in a list, because the stack may be small.
    ///
    /// - Parameter safe: the start of the unexamined bytes.
    private mutating func value(safe: inout Int) throws(Malformed) {
        var levels: [Level] = []
        var isSecret = false
        while true {
            cursor.skipSpace()
            guard levels.count <= Self.deepest else { throw Malformed() }
            let start = cursor.position
            let beginsSecret = isSecret && secretStart == nil
            if beginsSecret { secretStart = start }
            if secretStart == nil { safe = start }
            let first = try peek()
            if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
                cursor.position += 1
                cursor.skipSpace()
                let isObject = first == UInt8(ascii: "{")
                if try peek() == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                    cursor.position += 1
                    end(start, beginsSecret: beginsSecret, replacement: Array(isObject ? "{}".utf8 : "[]".utf8), safe: &safe)
                } else {
                    levels.append(Level(isObject: isObject, beginsSecret: beginsSecret, start: start))
                    isSecret = isObject ? try name(safe: &safe) : secretStart != nil
                    continue
                }
            } else {
                end(start, beginsSecret: beginsSecret, replacement: try scalar(first, from: start), safe: &safe)
            }
            // The value has ended. If the value was the last value of its level, the level also ends.
            while true {
                guard let level = levels.last else { return }
                cursor.skipSpace()
                if try peek() == (level.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                    unconfirmedStart = nil
                    cursor.position += 1
                    levels.removeLast()
                    end(
                        level.start, beginsSecret: level.beginsSecret, replacement: Array(level.isObject ? "{}".utf8 : "[]".utf8),
                        safe: &safe)
                    continue
                }
                try expect(",")
                isSecret = level.isObject ? try name(safe: &safe) : secretStart != nil
                break
            }
        }
    }

    /// Ends a value that began at `start`.
    private mutating func end(_ start: Int, beginsSecret: Bool, replacement: [UInt8]?, safe: inout Int) {
        if beginsSecret {
            (secretStart, unconfirmedStart) = (nil, start)
            if let replacement { edits.append(ByteEdit(start..<cursor.position, replacement)) }
        }
        if secretStart == nil { safe = cursor.position }
    }

    /// Reads a string, a number or a word. Returns the replacement of a secret; `nil` if the text stays unchanged.
    private mutating func scalar(_ first: UInt8, from start: Int) throws(Malformed) -> [UInt8]? {
        switch first {
        case UInt8(ascii: "\""):
            let text = try string()
            if secretStart != nil {
                if !text.isEmpty { values.append(text) }
                return text.isEmpty ? nil : quoted(placeholder)
            }
            replaceRewritten(text, from: start)
            return nil
        case UInt8(ascii: "t"): try literal("true")
        case UInt8(ascii: "f"): try literal("false")
        case UInt8(ascii: "n"): try literal("null")
        default:
            let number = try number()
            if secretStart != nil { values.append(number) }
            return [UInt8(ascii: "0")]
        }
        return nil
    }

    /// Replaces the string that began at `start` and ended here, if `rewrite` returns a replacement.
    private mutating func replaceRewritten(_ text: String, from start: Int) {
        guard let other = rewrite(text), !other.isExactly(text) else { return }
        var replacement: [UInt8] = []
        replacement.appendJSONString(other)
        edits.append(ByteEdit(start..<cursor.position, replacement))
    }

    /// Reads a member's name and its colon. Returns whether the value of the member is secret.
    private mutating func name(safe: inout Int) throws(Malformed) -> Bool {
        cursor.skipSpace()
        if secretStart == nil { safe = cursor.position }
        let start = cursor.position
        let name = try string()
        if secretStart == nil { replaceRewritten(name, from: start) }
        cursor.skipSpace()
        try expect(":")
        unconfirmedStart = nil
        return secretStart != nil || isSensitive(name)
    }

    private mutating func literal(_ word: String) throws(Malformed) {
        guard bytes[cursor.position...].starts(with: word.utf8) else { throw Malformed() }
        cursor.position += word.utf8.count
    }

    private mutating func number() throws(Malformed) -> String {
        let start = cursor.position
        while let next = cursor.next, "+-0123456789.eE".utf8.contains(next) { cursor.position += 1 }
        guard cursor.position > start else { throw Malformed() }
        return String(decoding: bytes[start..<cursor.position], as: UTF8.self)
    }

    /// Reads a string. Returns its text, unescaped.
    private mutating func string() throws(Malformed) -> String {
        guard let range = cursor.string() else { throw Malformed() }
        return String(decoding: Self.resolvingEscapes(bytes[range]), as: UTF8.self)
    }

    /// Returns UTF-8 text with the escapes of JSON ([RFC 8259, section 7](https://www.rfc-editor.org/rfc/rfc8259#section-7)) resolved.
    /// If an escape is invalid, only its backslash is removed, as in readers that accept such text.
    static func resolvingEscapes(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        let bytes = Array(bytes)
        guard bytes.contains(UInt8(ascii: "\\")) else { return bytes }
        var text: [UInt8] = []
        bytes.withUnsafeBufferPointer { bytes in
            var index = 0
            while index < bytes.count {
                if let escape = JSONEscape(in: bytes, at: index) {
                    text += escape.octets
                    index = escape.end
                } else if bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count {
                    text.append(bytes[index + 1])
                    index += 2
                } else {
                    text.append(bytes[index])
                    index += 1
                }
            }
        }
        return text
    }
}
