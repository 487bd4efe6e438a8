/// A part of a multipart body ([RFC 2046, section 5.1](https://www.rfc-editor.org/rfc/rfc2046#section-5.1)): its position, name and type.
///
/// To read external data, use ``MultipartReader``, which is strict. `MultipartSection` finds all bytes that any reader could read
/// as a part.
///
/// Delimiters are found only at the beginning of lines, and a boundary has at most 70 bytes, so reading takes linear time.
package struct MultipartSection: Sendable {
    /// The deepest nesting of multipart bodies that is examined.
    package static let maxDepth = 8

    /// The name in the part's `Content-Disposition` ([RFC 7578, section 4.2](https://www.rfc-editor.org/rfc/rfc7578#section-4.2));
    /// `nil` if the part has no name.
    package let name: String?
    /// All names in the part's `Content-Disposition` that any reader could find, in any notation.
    package let names: [String]
    /// The part's `Content-Type`; `nil` if it is missing.
    package let type: String?
    /// The position of the part's fields in the body.
    package let head: Range<Int>
    /// The position of the part's content in the body.
    package let content: Range<Int>
    /// Whether there is no empty line after the part's fields. If the empty line is missing, the fields extend to the end of
    /// the part, and the content is empty.
    package let isFragment: Bool

    /// Returns the parts whose fields are in `bytes`. The bytes may be truncated. Returns no parts if `boundary` does not have 1
    /// to 70 octets.
    ///
    /// - Parameter includingFragments: whether to include parts whose fields do not end, and the text after the closing delimiter.
    package static func parts(of bytes: [UInt8], boundary: String?, includingFragments: Bool = false) -> [MultipartSection] {
        let (starts, boundary) = (delimiters(of: boundary, in: bytes), boundary ?? "")
        return starts.indices.compactMap { section(of: bytes, from: starts, at: $0, boundary: boundary) }
            .filter { includingFragments || !$0.isFragment }
    }

    /// Returns the boundary in the first line, if a field of a part follows that line; otherwise `nil`.
    package static func boundary(atFrontOf bytes: [UInt8]) -> String? {
        let first = bytes.firstIndex { !$0.isSpace } ?? bytes.count
        guard bytes[first...].starts(with: "--".utf8),
            let lineEnd = bytes[first...].prefix(MultipartBoundary.limitBytes + 4).firstIndex(of: 0x0A),
            bytes[(lineEnd + 1)...].prefix(8).lazy.map(\.asciiLowercased).elementsEqual("content-".utf8)
        else { return nil }
        var line = bytes[(first + 2)..<lineEnd]
        while line.last?.isSpace == true { line.removeLast() }
        return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }

    private static func section(of bytes: [UInt8], from starts: [Int], at index: Int, boundary: String) -> MultipartSection? {
        let isLast = index + 1 == starts.count
        // If the body is truncated, its last part ends at the end of the body.
        let part = (starts[index] + boundary.utf8.count + 2)..<(isLast ? bytes.count : starts[index + 1])
        var end = part.upperBound
        let blank = blankLine(in: bytes, part)
        if !isLast {
            let least = blank?.upperBound ?? part.lowerBound
            for lineEnd in [0x0A, 0x0D] as [UInt8] where end > least && bytes[end - 1] == lineEnd { end -= 1 }
        }
        let content = (blank?.upperBound ?? end)..<end
        // The rest of the delimiter's line is padding.
        let firstLine = part.lowerBound..<(blank.map { $0.lowerBound + 1 } ?? end)
        let lineEnd = bytes[firstLine].firstIndex(of: 0x0A) ?? bytes[firstLine].firstIndex(of: 0x0D)
        let first = lineEnd.map { $0 + 1 } ?? part.lowerBound
        let head = first..<max(first, blank?.lowerBound ?? end)
        let lines = unfoldedLines(bytes[head])
        let dispositions = values(of: "content-disposition", in: lines)
        return MultipartSection(
            // The field is read as leniently as a media type, because redaction must find names that `ContentDisposition` refuses.
            name: dispositions.first.flatMap { MediaType("part/" + $0) }?[parameter: "name"], names: dispositions.flatMap(names),
            type: values(of: "content-type", in: lines).first, head: head, content: content, isFragment: blank == nil)
    }

    /// Returns the positions of lines that begin with the delimiter. Returns no positions if `boundary` does not have 1 to 70 octets.
    package static func delimiters(of boundary: String?, in bytes: [UInt8]) -> [Int] {
        guard let boundary, !boundary.isEmpty, !MultipartBoundary.isTooLong(boundary) else { return [] }
        var steps = 0
        return delimiters(of: boundary, in: bytes, steps: &steps)
    }

    /// Returns the positions of lines that begin with the delimiter. A line is skipped if the next octets belong to a longer
    /// boundary.
    ///
    /// - Parameter steps: a counter that grows by one for each examined byte.
    package static func delimiters(of boundary: String, in bytes: [UInt8], steps: inout Int) -> [Int] {
        let range = 0..<bytes.count
        let delimiter = Array("--\(boundary)".utf8)
        var found: [Int] = []
        // The search uses pointers, because tests run without optimization, and bodies may be long.
        bytes.withUnsafeBufferPointer { bytes in
            var line = range.lowerBound
            while line < range.upperBound {
                var index = line
                while index < range.upperBound, index - line < delimiter.count, bytes[index] == delimiter[index - line] { index += 1 }
                steps += 1 + index - line
                if index - line == delimiter.count {
                    let follows = index < range.upperBound ? bytes[index] : 0x0A
                    // After a single hyphen, the line continues a longer boundary, for example the boundary of a nested body.
                    let isClosing =
                        follows == UInt8(ascii: "-") && (index + 1 == range.upperBound || bytes[index + 1] == UInt8(ascii: "-"))
                    if isClosing || [0x20, 0x09, 0x0A, 0x0D].contains(follows) { found.append(line) }
                }
                while index < range.upperBound, bytes[index] != 0x0A {
                    index += 1
                    steps += 1
                }
                line = index + 1
            }
        }
        return found
    }

    /// Returns the range of the first empty line, together with the line ending before it.
    private static func blankLine(in bytes: [UInt8], _ range: Range<Int>) -> Range<Int>? {
        bytes.withUnsafeBufferPointer { bytes in
            var index = range.lowerBound
            while index < range.upperBound {
                if bytes[index] == 0x0A {
                    var next = index + 1
                    if next < range.upperBound, bytes[next] == 0x0D { next += 1 }
                    if next < range.upperBound, bytes[next] == 0x0A { return index..<(next + 1) }
                }
                index += 1
            }
            return nil
        }
    }

    /// Returns the field lines of a part's head. A line that begins with a space continues the line before it ([RFC 5322, section
    /// 2.2.3](https://www.rfc-editor.org/rfc/rfc5322#section-2.2.3)).
    private static func unfoldedLines(_ head: ArraySlice<UInt8>) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        for line in head.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            if line.first?.isOptionalSpace == true, !lines.isEmpty {
                lines[lines.count - 1] += line
            } else {
                lines.append(Array(line))
            }
        }
        return lines
    }

    private static func values(of name: String, in lines: [[UInt8]]) -> [String] {
        lines.compactMap { line in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            var before = line[..<colon]
            while before.last?.isOptionalSpace == true { before.removeLast() }
            guard before.lazy.map(\.asciiLowercased).elementsEqual(name.utf8) else { return nil }
            return String(decoding: line[(colon + 1)...].drop(while: \.isOptionalSpace), as: UTF8.self)
        }
    }

    /// Returns the value after each `name` and its equals sign in a disposition. The value may be extended ([RFC
    /// 8187](https://www.rfc-editor.org/rfc/rfc8187)), repeated or badly quoted.
    private static func names(in disposition: String) -> [String] {
        let bytes = Array(disposition.utf8)
        var names: [String] = []
        var index = 0
        while let range = nextName(in: bytes, from: index) {
            index = range.upperBound
            var sign = index
            while sign < bytes.count, bytes[sign].isASCIIDigit || " \t*".utf8.contains(bytes[sign]) { sign += 1 }
            guard sign < bytes.count, bytes[sign] == UInt8(ascii: "=") else { continue }
            var start = sign + 1
            while start < bytes.count, bytes[start].isOptionalSpace { start += 1 }
            let isQuoted = start < bytes.count && bytes[start] == UInt8(ascii: "\"")
            if isQuoted { start += 1 }
            let end = bytes[start...].firstIndex(of: isQuoted ? UInt8(ascii: "\"") : UInt8(ascii: ";")) ?? bytes.count
            names.append(PercentEncoding.decodedLeniently(String(decoding: bytes[start..<end], as: UTF8.self)))
            index = end
        }
        return names
    }

    private static func nextName(in bytes: [UInt8], from start: Int) -> Range<Int>? {
        var index = start
        while index + 4 <= bytes.count {
            let isFresh = index == 0 || !bytes[index - 1].isASCIILetter
            if isFresh, bytes[index..<(index + 4)].lazy.map(\.asciiLowercased).elementsEqual("name".utf8) { return index..<(index + 4) }
            index += 1
        }
        return nil
    }
}
