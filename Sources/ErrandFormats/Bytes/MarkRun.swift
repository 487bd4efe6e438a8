/// Runs of combining marks, which make a text slow to compare, to hash and to sort.
///
/// Swift compares texts in a normal form ([UAX 15](https://www.unicode.org/reports/tr15/)), and sorts each run of marks by insertion.
/// For a run of n marks, the sorting takes n² steps. In every language, a run has only a few marks. Decorative texts have runs of
/// about twenty marks.
package enum MarkRun {
    /// The longest accepted run: 128 marks.
    package static let limit = 128
    /// The message for a text with a longer run.
    package static let problem = "a text has \(excessDescription)"
    /// The part of the message that describes the longer run.
    package static let excessDescription = "more than \(limit) combining marks in a row"

    /// The escapes that a text may contain.
    package enum Syntax: Sendable {
        /// No escapes.
        case plain
        /// Escapes such as `\u0301`, as in JSON. An escaped line ending, as in JSON5, does not end a run.
        case json
        /// References such as `&#x301;`, as in XML. CDATA delimiters do not end a run.
        case xml
    }

    /// Returns whether `text` has a run of more than ``limit`` marks, in linear time. Octets that are not UTF-8 end a run.
    package static func isTooLong(in text: UnsafeRawBufferPointer, _ syntax: Syntax = .plain) -> Bool {
        // This check is separate, because most texts are short.
        text.count >= MarkRunScanner.windowBytes && MarkRunScanner(text: text, syntax: syntax).findsLongRun()
    }

    /// Returns whether a text in UTF-16, with the high octet first, has a run of more than ``limit`` marks.
    package static func isTooLong(inUTF16 text: UnsafeRawBufferPointer) -> Bool {
        var (run, lead) = (0, UInt32(0))
        for place in stride(from: 0, to: text.count - 1, by: 2) {
            var value = UInt32(text[place]) << 8 | UInt32(text[place + 1])
            if value & 0xFC00 == 0xD800 {
                lead = value
                continue
            }
            if value & 0xFC00 == 0xDC00, lead != 0 { value = combined(lead, value) }
            lead = 0
            run = isMark(value) ? run + 1 : 0
            if run > limit { return true }
        }
        return false
    }

    /// Returns whether normalization may move a scalar: its combining class is not 0, or it decomposes only into scalars whose combining
    /// classes are not 0.
    static func isMark(_ value: UInt32) -> Bool {
        // Most scalars of texts are in these ranges, which have no marks.
        if value < 0x300 || (0x370...0x482).contains(value) || (0x3100...0xA66E).contains(value) || (0xAC00...0xD7FF).contains(value) {
            return false
        }
        // These three Tibetan vowels have the combining class 0, but each decomposes into two scalars whose combining classes are not 0.
        if value == 0x0F73 || value == 0x0F75 || value == 0x0F81 { return true }
        return Unicode.Scalar(value).map { $0.properties.canonicalCombiningClass.rawValue != 0 } ?? false
    }

    fileprivate static func combined(_ lead: UInt32, _ trail: UInt32) -> UInt32 { 0x10000 + (lead - 0xD800) << 10 + trail - 0xDC00 }
}

/// Finds a long run in windows. A window has as many octets as the shortest long run.
///
/// The scanner examines the octets of a window backwards, from the last octet. If an octet belongs to no run, the next long run begins
/// after that octet, and so does the next window. Therefore the scanner usually examines only a few octets of each window.
struct MarkRunScanner {
    let text: UnsafeRawBufferPointer
    let syntax: MarkRun.Syntax

    /// The size of the shortest long run. A mark has at least two octets.
    static let windowBytes = 2 * (MarkRun.limit + 1)
    /// Text with many escapes is read in order, in parts of at least this size.
    private static let partBytes = 16 * windowBytes

    /// The kind of text at a position where the scanner stops.
    private enum Found {
        case scalar(UInt32)
        /// A reader of the text removes these octets.
        case nothing
    }

    /// Returns whether the text has a long run.
    @inline(never) func findsLongRun() -> Bool {
        // No run contains the octet before `start`.
        var start = 0
        while text.count - start >= Self.windowBytes {
            if let end = lastBreak(in: start..<(start + Self.windowBytes)) {
                start = end
            } else if let end = readInOrder(from: start, to: start + Self.partBytes) {
                start = end
            } else {
                return true
            }
        }
        return false
    }

    /// Returns the end of a scalar in `window` that ends each run in every context; `nil` if the window has no such scalar. The end may be
    /// after the end of the window.
    private func lastBreak(in window: Range<Int>) -> Int? {
        var place = window.upperBound
        while place > window.lowerBound {
            place &-= 1
            let octet = text[place]
            if octet < 0x80 {
                if !mayBelongToRun(octet) { return place + 1 }
            } else if octet >= 0xC0, case (.scalar(let value), let length) = scalar(at: place), !MarkRun.isMark(value) {
                // In JSON5, these two line endings do not end a run after a backslash.
                if syntax != .json || value != 0x2028 && value != 0x2029 { return place + length }
            }
        }
        return nil
    }

    /// Returns whether an ASCII octet may be part of an escaped mark, or of text that a reader removes.
    private func mayBelongToRun(_ octet: UInt8) -> Bool {
        switch syntax {
        case .plain: false
        case .json: octet.hexValue != nil || "\\u\r\n".utf8.contains(octet)
        case .xml: octet.hexValue != nil || "&#xX;<![CDATA[]]>".utf8.contains(octet)
        }
    }

    /// Reads all scalars in order. Stops at or after `goal`, at the first scalar that ends a run.
    ///
    /// - Returns: the position after the last octet that was read; `nil` if a run is too long.
    func readInOrder(from start: Int, to goal: Int) -> Int? {
        var (run, end) = (0, start)
        while let stop = nextStop(from: end) {
            if stop > end, !isInvisible(end..<stop) { run = 0 }
            let (found, length) = read(at: stop)
            if case .scalar(let value) = found {
                run = MarkRun.isMark(value) ? run + 1 : 0
                if run > MarkRun.limit { return nil }
            }
            end = stop + length
            if run == 0, end >= goal { return end }
        }
        return text.count
    }

    /// Returns the place of the next octet that is not ASCII, or begins an escape.
    private func nextStop(from start: Int) -> Int? {
        let special: UInt8 =
            switch syntax {
            case .plain: 0xFF
            case .json: UInt8(ascii: "\\")
            case .xml: UInt8(ascii: "&")
            }
        let ones: UInt64 = 0x0101_0101_0101_0101
        let specials = ones &* UInt64(special)
        var index = start
        if index < text.count, text[index] >= 0x80 { return index }
        while index &+ 8 <= text.count {
            let word = UInt64(littleEndian: text.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            // The lowest set bit always belongs to a searched byte, because a borrow affects only higher bytes.
            let other = word ^ specials
            let found = (word | (other &- ones) & ~other) & (ones &* 0x80)
            if found != 0 { return index &+ found.trailingZeroBitCount / 8 }
            index &+= 8
        }
        while index < text.count {
            if text[index] >= 0x80 || text[index] == special { return index }
            index &+= 1
        }
        return nil
    }

    /// Whether a reader removes this ASCII text, so that the texts before and after it are joined.
    private func isInvisible(_ range: Range<Int>) -> Bool {
        guard syntax == .xml else { return false }
        var rest = text[range]
        while !rest.isEmpty {
            if rest.starts(with: "<![CDATA[".utf8) {
                rest = rest.dropFirst(9)
            } else if rest.starts(with: "]]>".utf8) {
                rest = rest.dropFirst(3)
            } else {
                return false
            }
        }
        return true
    }

    private func read(at place: Int) -> (Found, length: Int) {
        switch text[place] {
        case 0x80...: scalar(at: place)
        case UInt8(ascii: "\\"): escape(at: place)
        default: reference(at: place)
        }
    }

    /// Reads a scalar in UTF-8. An octet that belongs to no scalar ends a run.
    private func scalar(at place: Int) -> (Found, length: Int) {
        let first = text[place]
        let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
        guard first >= 0xC2, first < 0xF5, place + length <= text.count else { return (.scalar(0), 1) }
        var value = UInt32(first) & (0x7F >> UInt32(length))
        for index in (place + 1)..<(place + length) {
            guard text[index] & 0xC0 == 0x80 else { return (.scalar(0), 1) }
            value = value << 6 | UInt32(text[index] & 0x3F)
        }
        return (.scalar(value), length)
    }

    private func escape(at place: Int) -> (Found, length: Int) {
        guard place + 1 < text.count else { return (.scalar(0), 1) }
        switch text[place + 1] {
        case UInt8(ascii: "u"):
            guard let first = unit(at: place) else { return (.scalar(0), 2) }
            if first & 0xFC00 == 0xD800, let second = unit(at: place + 6), second & 0xFC00 == 0xDC00 {
                return (.scalar(MarkRun.combined(first, second)), 12)
            }
            return (.scalar(first), 6)
        // In JSON5, an escaped line ending is left out. An escaped character that is not ASCII represents itself.
        case 0x0A, 0x0D: return (.nothing, text[place + 1] == 0x0D && place + 2 < text.count && text[place + 2] == 0x0A ? 3 : 2)
        case 0x80...:
            let isLineEnd = text[(place + 1)...].starts(with: [0xE2, 0x80, 0xA8]) || text[(place + 1)...].starts(with: [0xE2, 0x80, 0xA9])
            return (.nothing, isLineEnd ? 4 : 1)
        default: return (.scalar(0), 2)
        }
    }

    private func unit(at place: Int) -> UInt32? { JSONEscape.unit(in: text, at: place).map { UInt32($0) } }

    /// Reads a reference such as `&#769;` or `&#x301;`, with any number of leading zeros.
    private func reference(at place: Int) -> (Found, length: Int) {
        var index = place + 1
        guard index < text.count, text[index] == UInt8(ascii: "#") else { return (.scalar(0), 1) }
        index += 1
        let isHex = index < text.count && text[index] | 0x20 == UInt8(ascii: "x")
        if isHex { index += 1 }
        var value: UInt32 = 0
        while index < text.count, let digit = text[index].hexValue, isHex || digit < 10 {
            value = min(value, 0x11_0000) * (isHex ? 16 : 10) + UInt32(digit)
            index += 1
        }
        guard index < text.count, text[index] == UInt8(ascii: ";") else { return (.scalar(0), index - place) }
        return (.scalar(value), index + 1 - place)
    }
}
