internal import ErrandCore
internal import ErrandFormats

/// Finds a secret in bytes however it is written: as it is, percent-encoded (also twice), as a form has it, with the escapes of JSON,
/// or within base64 (both alphabets) at any alignment.
struct SecretPattern: Sendable {
    /// One character, and the ways to write it raw.
    private typealias Element = [[UInt8]]

    private let plain: [Element]
    private let base64: [[Element]]

    init(_ secret: String) {
        plain = secret.unicodeScalars.map { [Array(String($0).utf8)] }
        base64 = (0..<3).compactMap { Self.core(of: Array(secret.utf8), after: $0) }
    }

    /// The characters of base64 that `secret` alone decides when `offset` bytes stand before it; nil where they are too few to tell.
    private static func core(of secret: [UInt8], after offset: Int) -> [Element]? {
        let whole = Data([UInt8](repeating: 0, count: offset) + secret).base64EncodedString().utf8
        let core = Array(whole).prefix((offset + secret.count) * 8 / 6).dropFirst((offset * 8 + 5) / 6)
        guard core.count >= 6 else { return nil }
        return core.map { character in
            switch character {
            case UInt8(ascii: "+"): [[character], [UInt8(ascii: "-")]]
            case UInt8(ascii: "/"): [[character], [UInt8(ascii: "_")]]
            default: [[character]]
            }
        }
    }

    /// Where it is, in any order. Of base64, the whole run is given: a part of it could not be decoded.
    func ranges(in bytes: [UInt8]) -> [Range<Int>] {
        var found = Self.ranges(of: plain, in: bytes)
        for core in base64 { found += Self.ranges(of: core, in: bytes).map { Self.run(around: $0, in: bytes) } }
        return found
    }

    /// Where it is if one of its spellings begins at `start`; nil if none does.
    func range(in bytes: [UInt8], from start: Int) -> Range<Int>? {
        if let end = Self.end(of: plain, in: bytes, from: start) { return start..<end }
        for core in base64 {
            if let end = Self.end(of: core, in: bytes, from: start) { return Self.run(around: start..<end, in: bytes) }
        }
        return nil
    }

    /// What it begins with in each alphabet, of those spellings that have no escapes.
    var beginnings: [[UInt8]] {
        let raw = plain.flatMap { $0[0] }
        return [raw, raw.map { $0 == 0x20 ? UInt8(ascii: "+") : $0 }]
            + base64.flatMap { core in [core.map { $0[0][0] }, core.map { ($0.last ?? $0[0])[0] }] }
    }

    /// The base64 that `range` is a part of.
    private static func run(around range: Range<Int>, in bytes: [UInt8]) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start > 0, isBase64(bytes[start - 1]) { start -= 1 }
        while end < bytes.count, isBase64(bytes[end]) || bytes[end] == UInt8(ascii: "=") { end += 1 }
        return start..<end
    }

    /// The end of `bytes` if it is the front of the secret, 6 characters or more: `bytes` may have been cut there.
    func cutRange(in bytes: [UInt8]) -> Range<Int>? {
        // A character takes 12 bytes at most: two escapes of JSON.
        let start = (max(0, bytes.count - plain.count * 12)..<bytes.count).first { start in
            var ends = [start]
            for (matched, element) in plain.enumerated() {
                if matched >= 6, ends.contains(bytes.count) { return true }
                ends = Self.ends(of: element, in: bytes, from: ends)
                if ends.isEmpty { return false }
            }
            return false
        }
        return start.map { $0..<bytes.count }
    }

    private static func isBase64(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func ranges(of elements: [Element], in bytes: [UInt8]) -> [Range<Int>] {
        guard let first = elements.first, bytes.count >= elements.count else { return [] }
        var begins = [Bool](repeating: false, count: 256)
        for form in first { begins[Int(form[0])] = true }
        for escape in "%\\".utf8 { begins[Int(escape)] = true }
        if first == [[0x20]] { begins[Int(UInt8(ascii: "+"))] = true }
        var found: [Range<Int>] = []
        var index = 0
        while index < bytes.count {
            if begins[Int(bytes[index])], let end = end(of: elements, in: bytes, from: index) {
                found.append(index..<end)
                index = end
            } else {
                index += 1
            }
        }
        return found
    }

    /// Where `elements` end if they begin at `start`. Some bytes can be read in two ways, so that several ends are followed.
    private static func end(of elements: [Element], in bytes: [UInt8], from start: Int) -> Int? {
        var ends = [start]
        for element in elements {
            ends = Self.ends(of: element, in: bytes, from: ends)
            if ends.isEmpty { return nil }
        }
        return ends.max()
    }

    private static func ends(of element: Element, in bytes: [UInt8], from starts: [Int]) -> [Int] {
        var ends: [Int] = []
        for start in starts {
            for form in element {
                for end in Self.ends(of: form, in: bytes, from: start) where !ends.contains(end) { ends.append(end) }
            }
        }
        return ends
    }

    /// Where one character ends if it begins at `start`, in each way in which it can be read.
    private static func ends(of character: [UInt8], in bytes: [UInt8], from start: Int) -> [Int] {
        guard start < bytes.count else { return [] }
        var ends: [Int] = []
        if bytes[start...].starts(with: character) { ends.append(start + character.count) }
        switch bytes[start] {
        case UInt8(ascii: "+") where character == [0x20]: ends.append(start + 1)
        case UInt8(ascii: "%"):
            var index = start
            for byte in character {
                guard let end = escapeEnd(of: byte, in: bytes, from: index) else { return ends }
                index = end
            }
            ends.append(index)
        case UInt8(ascii: "\\"):
            // JSON within JSON is escaped again: a run of backslashes may be as long as that makes it.
            var behind = start + 1
            while behind <= start + 8, behind < bytes.count {
                for tail in jsonEscapes(of: character) where matches(tail, bytes, at: behind) { ends.append(behind + tail.count) }
                guard bytes[behind] == UInt8(ascii: "\\") else { break }
                behind += 1
            }
        default: break
        }
        return ends
    }

    /// Where `%41` or `%2541` ends.
    private static func escapeEnd(of byte: UInt8, in bytes: [UInt8], from start: Int) -> Int? {
        for skipped in ["%", "%25"] where bytes[start...].starts(with: skipped.utf8) {
            let digits = start + skipped.utf8.count
            if digits + 2 <= bytes.count, let high = PercentEncoding.hexValue(bytes[digits]),
                let low = PercentEncoding.hexValue(bytes[digits + 1]), high << 4 | low == byte
            {
                return digits + 2
            }
        }
        return nil
    }

    /// What may stand behind the backslash, in lower case.
    private static func jsonEscapes(of character: [UInt8]) -> [[UInt8]] {
        let text = String(decoding: character, as: UTF8.self)
        let units = text.utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
        var escapes = [Array(units.joined(separator: "\\").utf8)]
        switch character {
        case [UInt8(ascii: "\"")], [UInt8(ascii: "\\")], [UInt8(ascii: "/")]: escapes.append(character)
        case [0x0A]: escapes.append([UInt8(ascii: "n")])
        case [0x0D]: escapes.append([UInt8(ascii: "r")])
        case [0x09]: escapes.append([UInt8(ascii: "t")])
        default: break
        }
        return escapes
    }

    private static func matches(_ lowercased: [UInt8], _ bytes: [UInt8], at start: Int) -> Bool {
        guard start + lowercased.count <= bytes.count else { return false }
        return lowercased.indices.allSatisfy { offset in
            let byte = bytes[start + offset]
            return byte == lowercased[offset] || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte) && byte | 0x20 == lowercased[offset]
        }
    }
}
