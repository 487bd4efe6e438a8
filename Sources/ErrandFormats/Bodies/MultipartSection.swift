/// Where a part of a multipart body (RFC 2046, 5.1) stands, and what it says of itself.
///
/// Delimiters are looked for at the beginnings of lines alone, and a boundary has 70 octets at most (5.1.1), so that the work is in
/// proportion to the body.
package struct MultipartSection: Sendable {
    /// The longest boundary (RFC 2046, 5.1.1).
    package static let longestBoundary = 70
    /// How deep one multipart body within another is looked into.
    package static let deepest = 8

    /// What its `Content-Disposition` calls it (RFC 7578, 4.2); nil where that has no name.
    package let name: String?
    /// All names that its `Content-Disposition` may be read to give it, however they are written.
    package let names: [String]
    /// Its `Content-Type`; nil where it has none.
    package let type: String?
    /// Where the lines of its fields stand in the body.
    package let head: Range<Int>
    /// Where its content stands in the body.
    package let content: Range<Int>
    /// Whether no empty line ends its fields. Then they reach to its end, and it has no content.
    package let isFragment: Bool

    /// Whether a body's boundary is too long to look for.
    package static func isTooLong(boundary: String?) -> Bool { (boundary?.utf8.count ?? 0) > longestBoundary }

    /// The parts whose fields are in `bytes`, which may break off; none without a boundary of 1 to 70 octets.
    ///
    /// - Parameter includingFragments: whether parts whose fields do not end are among them, and what is behind the closing delimiter.
    package static func parts(of bytes: [UInt8], boundary: String?, includingFragments: Bool = false) -> [MultipartSection] {
        let (starts, boundary) = (delimiters(of: boundary, in: bytes), boundary ?? "")
        return starts.indices.compactMap { section(of: bytes, from: starts, at: $0, boundary: boundary) }
            .filter { includingFragments || !$0.isFragment }
    }

    /// The boundary that the first line shows, if a field of a part follows it; nil where it does not.
    package static func boundary(atFrontOf bytes: [UInt8]) -> String? {
        let first = bytes.firstIndex { !$0.isSpace } ?? bytes.count
        guard bytes[first...].starts(with: "--".utf8), let lineEnd = bytes[first...].prefix(longestBoundary + 4).firstIndex(of: 0x0A),
            bytes[(lineEnd + 1)...].prefix(8).lowercasedASCII == "content-"
        else { return nil }
        var line = bytes[(first + 2)..<lineEnd]
        while line.last?.isSpace == true { line.removeLast() }
        return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }

    /// The parts of a whole body; nil where it does not end with the closing delimiter, or where a part's fields do not end.
    package static func wholeParts(of bytes: [UInt8], boundary: String?) -> [MultipartSection]? {
        let (starts, boundary) = (delimiters(of: boundary, in: bytes), boundary ?? "")
        guard let last = starts.firstIndex(where: { bytes[($0 + 2 + boundary.utf8.count)...].starts(with: "--".utf8) }) else { return nil }
        let sections = (0..<last).compactMap { section(of: bytes, from: starts, at: $0, boundary: boundary) }.filter { !$0.isFragment }
        return sections.count == last ? sections : nil
    }

    private static func section(of bytes: [UInt8], from starts: [Int], at index: Int, boundary: String) -> MultipartSection? {
        let isLast = index + 1 == starts.count
        // The last part of a body that broke off ends with it.
        let part = (starts[index] + boundary.utf8.count + 2)..<(isLast ? bytes.count : starts[index + 1])
        var end = part.upperBound
        let blank = blankLine(in: bytes, part)
        if !isLast {
            let least = blank?.upperBound ?? part.lowerBound
            for lineEnd in [0x0A, 0x0D] as [UInt8] where end > least && bytes[end - 1] == lineEnd { end -= 1 }
        }
        let content = (blank?.upperBound ?? end)..<end
        // What follows the delimiter on its line is padding.
        let firstLine = part.lowerBound..<(blank.map { $0.lowerBound + 1 } ?? end)
        let lineEnd = bytes[firstLine].firstIndex(of: 0x0A) ?? bytes[firstLine].firstIndex(of: 0x0D)
        let first = lineEnd.map { $0 + 1 } ?? part.lowerBound
        let head = first..<max(first, blank?.lowerBound ?? end)
        let lines = unfoldedLines(bytes[head])
        let dispositions = values(of: "content-disposition", in: lines)
        return MultipartSection(
            name: dispositions.first.flatMap { MediaType("part/" + $0) }?[parameter: "name"], names: dispositions.flatMap(names),
            type: values(of: "content-type", in: lines).first, head: head, content: content, isFragment: blank == nil)
    }

    /// Where lines begin with the delimiter; none without a boundary of 1 to 70 octets.
    package static func delimiters(of boundary: String?, in bytes: [UInt8]) -> [Int] {
        guard let boundary, !boundary.isEmpty, !isTooLong(boundary: boundary) else { return [] }
        var steps = 0
        return delimiters(of: boundary, in: bytes, steps: &steps)
    }

    /// Where lines begin with the delimiter and go on with nothing that would make it another boundary.
    ///
    /// - Parameter steps: grows by one for each byte that is looked at.
    package static func delimiters(of boundary: String, in bytes: [UInt8], steps: inout Int) -> [Int] {
        let range = 0..<bytes.count
        let delimiter = Array("--\(boundary)".utf8)
        var found: [Int] = []
        // By pointers, as tests run without optimization, and bodies may be long.
        bytes.withUnsafeBufferPointer { bytes in
            var line = range.lowerBound
            while line < range.upperBound {
                var index = line
                while index < range.upperBound, index - line < delimiter.count, bytes[index] == delimiter[index - line] { index += 1 }
                steps += 1 + index - line
                if index - line == delimiter.count {
                    let follows = index < range.upperBound ? bytes[index] : 0x0A
                    // One hyphen alone begins the rest of a longer boundary, as that of a body within this one may be.
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

    /// From the end of the line before the first empty one to behind that.
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

    /// The lines of fields; one that begins with a space goes on with the one before (RFC 5322, 2.2.3).
    private static func unfoldedLines(_ head: ArraySlice<UInt8>) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        for line in head.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            if let first = line.first, first == 0x20 || first == 0x09, !lines.isEmpty {
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
            while let last = before.last, last == 0x20 || last == 0x09 { before.removeLast() }
            guard before.lowercasedASCII == name else { return nil }
            return String(decoding: line[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }, as: UTF8.self)
        }
    }

    /// What stands behind each `name` and its sign in a disposition, also where it is extended (RFC 8187), given twice or badly quoted.
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
            while start < bytes.count, bytes[start] == 0x20 || bytes[start] == 0x09 { start += 1 }
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
            if isFresh, bytes[index..<(index + 4)].lowercasedASCII == "name" { return index..<(index + 4) }
            index += 1
        }
        return nil
    }
}

extension ArraySlice<UInt8> {
    fileprivate var lowercasedASCII: String { String(decoding: map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }, as: UTF8.self) }
}
