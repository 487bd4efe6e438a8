internal import ErrandCore
internal import ErrandFormats

/// A part of a multipart body (RFC 2046, 5.1), as far as a log needs it.
struct BodyPart {
    /// What its `Content-Disposition` calls it (RFC 7578, 4.2); nil where that has no name.
    let name: String?
    /// Its `Content-Type`; nil where it has none.
    let type: String?
    /// Where its content stands in the body.
    let content: Range<Int>

    /// The parts whose fields are in `bytes`, which may break off; none without a boundary.
    static func parts(of bytes: [UInt8], boundary: String?) -> [BodyPart] {
        guard let boundary else { return [] }
        let delimiter = Array("--\(boundary)".utf8)
        var parts: [BodyPart] = []
        var next = firstLine(beginning: delimiter, in: bytes, from: 0)
        while let start = next {
            next = firstLine(beginning: delimiter, in: bytes, from: start + delimiter.count)
            let part = bytes[(start + delimiter.count)..<(next ?? bytes.count)]
            guard let blank = part.firstRange(of: Array("\r\n\r\n".utf8)) ?? part.firstRange(of: Array("\n\n".utf8)) else { continue }
            var end = part.endIndex
            if next != nil {
                for lineEnd in [0x0A, 0x0D] as [UInt8] where end > blank.upperBound && bytes[end - 1] == lineEnd { end -= 1 }
            }
            let head = part[..<blank.lowerBound]
            let disposition = value(of: "content-disposition", in: head).flatMap { MediaType("part/" + $0) }
            parts.append(
                BodyPart(name: disposition?[parameter: "name"], type: value(of: "content-type", in: head), content: blank.upperBound..<end))
        }
        return parts
    }

    /// Where a line begins with `delimiter` and goes on with nothing that would make it another boundary.
    private static func firstLine(beginning delimiter: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        var rest = bytes[min(start, bytes.count)...]
        while let found = rest.firstRange(of: delimiter) {
            let isAtFront = found.lowerBound == 0 || bytes[found.lowerBound - 1] == 0x0A
            let follows = bytes[found.upperBound...].first
            if isAtFront, follows.map({ $0.isSpace || $0 == UInt8(ascii: "-") }) ?? true { return found.lowerBound }
            rest = bytes[(found.lowerBound + 1)...]
        }
        return nil
    }

    private static func value(of name: String, in head: ArraySlice<UInt8>) -> String? {
        for line in head.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                String(decoding: line[..<colon], as: UTF8.self).lowercased() == name
            else { continue }
            return String(decoding: line[(colon + 1)...].drop(while: \.isSpace), as: UTF8.self)
        }
        return nil
    }
}
