/// Checks a property list from the network before Foundation reads it, without recursion.
///
/// Foundation reads nested containers by recursion, whose stack has no guard of its own. In a binary list, it reads an object again for each reference to it:
/// a few hundred bytes may stand for any number of objects, or contain themselves. It ends the process at some bytes that are not UTF-8. A long name that is
/// not ASCII is slow to compare: see `JSONDepth`.
package enum PropertyListCheck {
    /// The deepest nesting that is read: 128 levels.
    package static let depthLimit = 128

    /// Returns the problem of a list; `nil` if Foundation may read it. Only XML in UTF-8 and the binary format are property lists here.
    package static func problem(in bytes: UnsafeRawBufferPointer) -> String? {
        if bytes.starts(with: "bplist00".utf8) {
            guard var list = BinaryList(bytes) else { return "it is damaged" }
            return list.problem()
        }
        var list = XMLList(bytes: bytes)
        return list.problem()
    }

    static let tooDeep = "it nests deeper than \(depthLimit) levels"
    static let longName = "a name is longer than \(FieldLimits.nameBytes) bytes, and not ASCII"
}

/// A property list in XML. Whatever another reader may understand in another way is a problem: a tag that it sees, and this one does not.
private struct XMLList {
    let bytes: UnsafeRawBufferPointer
    private var offset = 0

    init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    private static let malformed = "its XML is malformed"

    mutating func problem() -> String? {
        if bytes.prefix(4).contains(0) || bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE]) {
            return "it is not UTF-8"
        }
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
        while offset < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[offset]) { offset += 1 }
        // Foundation takes any other text for a list of an older format.
        guard offset < bytes.count, bytes[offset] == UInt8(ascii: "<") else { return "it is neither XML nor binary" }
        guard hasKnownEncoding() else { return "it is not UTF-8" }
        guard String(validating: bytes, as: UTF8.self) != nil else { return "it is not UTF-8" }
        var depth = 0
        /// Where the text of a name begins.
        var nameStart: Int?
        while let start = bytes[offset...].firstIndex(of: UInt8(ascii: "<")) {
            offset = start
            if skip("<!--") {
                guard skipPast("-->") else { return Self.malformed }
            } else if skip("<![CDATA[") {
                guard skipPast("]]>") else { return Self.malformed }
            } else if skip("<?") {
                guard skipPast("?>") else { return Self.malformed }
            } else {
                guard let end = endOfTag() else { return Self.malformed }
                switch bytes[start + 1] {
                case UInt8(ascii: "!"): break
                case UInt8(ascii: "/"):
                    depth -= 1
                    guard depth >= 0 else { return Self.malformed }
                    if let nameStart, isLongName(bytes[nameStart..<start]) { return PropertyListCheck.longName }
                    nameStart = nil
                default:
                    nameStart = bytes[(start + 1)...].starts(with: "key".utf8) ? end + 1 : nil
                    if bytes[end - 1] != UInt8(ascii: "/") { depth += 1 }
                    if depth > PropertyListCheck.depthLimit { return PropertyListCheck.tooDeep }
                }
                offset = end + 1
            }
        }
        return nil
    }

    /// A reference such as `&#x301;` may stand for any character.
    private func isLongName(_ text: Slice<UnsafeRawBufferPointer>) -> Bool {
        text.count > FieldLimits.nameBytes && text.contains { $0 >= 0x80 || $0 == UInt8(ascii: "&") }
    }

    /// Whether the declaration at the beginning names no encoding, or one in which tags are ASCII.
    private func hasKnownEncoding() -> Bool {
        let line = bytes[offset...].prefix(1024).prefix { $0 != UInt8(ascii: ">") }
        let text = String(decoding: line, as: UTF8.self).lowercased()
        guard text.hasPrefix("<?xml"), let mark = text.firstRange(of: "encoding") else { return true }
        let name = text[mark.upperBound...].drop { " \t\r\n=\"'".contains($0) }.prefix { !"\"'? ".contains($0) }
        return ["utf-8", "utf8", "us-ascii"].contains(name)
    }

    private mutating func skip(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { text in
            guard bytes[offset...].starts(with: text) else { return false }
            offset += text.count
            return true
        }
    }

    private mutating func skipPast(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { text in
            var rest = bytes[offset...]
            while let index = rest.firstIndex(of: text[0]) {
                rest = bytes[index...]
                if rest.starts(with: text) {
                    offset = index + text.count
                    return true
                }
                rest = rest.dropFirst()
            }
            return false
        }
    }

    /// The place of the `>` of the tag that begins here; `nil` if there is none, if another tag begins before it, or if it has a quotation with a `>`.
    private func endOfTag() -> Int? {
        var quote: UInt8?
        for index in (offset + 1)..<bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "<"): return nil
            case UInt8(ascii: ">"): return quote == nil && index > offset + 1 ? index : nil
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                if quote == nil { quote = bytes[index] } else if quote == bytes[index] { quote = nil }
            default: break
            }
        }
        return nil
    }
}

/// A property list in Apple's binary format: objects, the table of their offsets, and a trailer of 32 bytes.
private struct BinaryList {
    private let bytes: UnsafeRawBufferPointer
    private let offsetSize: Int
    private let referenceSize: Int
    private let count: Int
    private let top: Int
    private let table: Int

    /// `nil` for a trailer that does not fit.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 40 else { return nil }
        let trailer = bytes.count - 32
        func number(at place: Int) -> Int? {
            Int(exactly: (0..<8).reduce(UInt64(0)) { $0 << 8 | UInt64(bytes[trailer + place + $1]) })
        }
        guard let count = number(at: 8), let top = number(at: 16), let table = number(at: 24) else { return nil }
        let (offsetSize, referenceSize) = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
        let (length, isTooLong) = count.multipliedReportingOverflow(by: offsetSize)
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize), count > 0, top < count, !isTooLong, table >= 8,
            table <= trailer,
            length <= trailer - table
        else { return nil }
        (self.bytes, self.offsetSize, self.referenceSize) = (bytes, offsetSize, referenceSize)
        (self.count, self.top, self.table) = (count, top, table)
    }

    /// Follows each reference once. A list of a program refers to an array or a dictionary once, and to the same text or number as often as it likes.
    mutating func problem() -> String? {
        var isContainerSeen: Set<Int> = []
        // What the objects stand for in bytes, each as often as it is referred to.
        let (sizeLimit, isUnlimited) = bytes.count.multipliedReportingOverflow(by: 100)
        var size = 0
        var pending = [(object: top, depth: 1)]
        while let (object, depth) = pending.popLast() {
            guard let found = content(of: object) else { return "it is damaged" }
            size += found.length
            guard isUnlimited || size <= max(sizeLimit, 1 << 20) else { return "it refers to the same objects too often" }
            guard found.isContainer, found.references > 0 else { continue }
            guard depth <= PropertyListCheck.depthLimit else { return PropertyListCheck.tooDeep }
            guard isContainerSeen.insert(object).inserted else { return "it refers to an array or a dictionary more than once" }
            for index in 0..<found.references {
                let member = number(at: found.start + index * referenceSize, size: referenceSize)
                if index < found.names, let name = content(of: member), name.isUnicode, name.length > FieldLimits.nameBytes {
                    return PropertyListCheck.longName
                }
                pending.append((member, depth + 1))
            }
        }
        return nil
    }

    private struct Content {
        var isContainer = false
        /// Whether it is a text that is not ASCII.
        var isUnicode = false
        /// Where the references of a container begin, how many there are, and how many of these are names.
        var start = 0
        var references = 0
        var names = 0
        /// The bytes of the object.
        var length: Int
    }

    /// `nil` for an object that is not there, or does not fit.
    private func content(of object: Int) -> Content? {
        guard object >= 0, object < count else { return nil }
        var place = number(at: table + object * offsetSize, size: offsetSize)
        guard place >= 8, place < table else { return nil }
        let marker = bytes[place]
        place += 1
        var length = Int(marker & 0x0F)
        // The length of what has more than 14 elements is an integer of its own.
        if marker >> 4 >= 0x4, marker >> 4 != 0x8, length == 0x0F {
            guard place < table, bytes[place] >> 4 == 0x1 else { return nil }
            let size = 1 << Int(bytes[place] & 0x0F)
            guard size <= 8, place + 1 + size <= table else { return nil }
            length = number(at: place + 1, size: size)
            guard length >= 0 else { return nil }
            place += 1 + size
        }
        let each: Int
        switch marker >> 4 {
        case 0x0: (each, length) = (1, 1)
        case 0x1, 0x2, 0x3: (each, length) = (1, 1 << min(length, 8))
        case 0x4, 0x5, 0x7: each = 1
        case 0x6: each = 2
        case 0x8: (each, length) = (1, length + 1)
        case 0xA, 0xB, 0xC: each = referenceSize
        case 0xD: each = 2 * referenceSize
        default: return nil
        }
        let (size, isTooLong) = length.multipliedReportingOverflow(by: each)
        guard !isTooLong, size <= table - place || marker >> 4 == 0 else { return nil }
        guard marker >> 4 >= 0xA else { return Content(isUnicode: [0x6, 0x7].contains(marker >> 4), length: size + 1) }
        return Content(
            isContainer: true, start: place, references: size / referenceSize, names: marker >> 4 == 0xD ? length : 0, length: size + 1)
    }

    /// A number of up to 8 bytes; negative for one that is larger than any place.
    private func number(at place: Int, size: Int) -> Int {
        Int(exactly: (0..<size).reduce(UInt64(0)) { $0 << 8 | UInt64(bytes[place + $1]) }) ?? -1
    }
}
