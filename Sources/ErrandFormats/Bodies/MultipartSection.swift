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
    /// Its `Content-Type`; nil where it has none.
    package let type: String?
    /// Where the lines of its fields stand in the body.
    package let head: Range<Int>
    /// Where its content stands in the body.
    package let content: Range<Int>

    /// Whether a body's boundary is too long to look for.
    package static func isTooLong(boundary: String?) -> Bool { (boundary?.utf8.count ?? 0) > longestBoundary }

    /// The parts whose fields are in `bytes`, which may break off; none without a boundary of 1 to 70 octets.
    package static func parts(of bytes: [UInt8], boundary: String?) -> [MultipartSection] {
        let (starts, boundary) = (delimiters(of: boundary, in: bytes), boundary ?? "")
        return starts.indices.compactMap { section(of: bytes, from: starts, at: $0, boundary: boundary) }
    }

    /// The parts of a whole body; nil where it does not end with the closing delimiter, or where a part's fields do not end.
    package static func wholeParts(of bytes: [UInt8], boundary: String?) -> [MultipartSection]? {
        let (starts, boundary) = (delimiters(of: boundary, in: bytes), boundary ?? "")
        guard let last = starts.firstIndex(where: { bytes[($0 + 2 + boundary.utf8.count)...].starts(with: "--".utf8) }) else { return nil }
        let sections = (0..<last).compactMap { section(of: bytes, from: starts, at: $0, boundary: boundary) }
        return sections.count == last ? sections : nil
    }

    private static func section(of bytes: [UInt8], from starts: [Int], at index: Int, boundary: String) -> MultipartSection? {
        let isLast = index + 1 == starts.count
        // The last part of a body that broke off ends with it.
        let part = (starts[index] + boundary.utf8.count + 2)..<(isLast ? bytes.count : starts[index + 1])
        guard let blank = blankLine(in: bytes, part) else { return nil }
        var end = part.upperBound
        if !isLast {
            for lineEnd in [0x0A, 0x0D] as [UInt8] where end > blank.upperBound && bytes[end - 1] == lineEnd { end -= 1 }
        }
        // What follows the delimiter on its line is padding.
        let first = bytes[part.lowerBound...blank.lowerBound].firstIndex(of: 0x0A).map { $0 + 1 } ?? part.lowerBound
        let head = first..<max(first, blank.lowerBound)
        let disposition = value(of: "content-disposition", in: bytes[head]).flatMap { MediaType("part/" + $0) }
        return MultipartSection(
            name: disposition?[parameter: "name"], type: value(of: "content-type", in: bytes[head]), head: head,
            content: blank.upperBound..<end)
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

    private static func value(of name: String, in head: ArraySlice<UInt8>) -> String? {
        for line in head.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                String(decoding: line[..<colon], as: UTF8.self).lowercased() == name
            else { continue }
            return String(decoding: line[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }, as: UTF8.self)
        }
        return nil
    }
}
