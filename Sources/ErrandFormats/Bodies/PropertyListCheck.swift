/// Checks a property list from the network, before Foundation reads the list. The check uses no recursion.
///
/// The check protects against these problems:
/// - Foundation reads nested containers by recursion, without a limit for the stack.
/// - In a binary list, Foundation reads an object again for each reference to the object. A few hundred bytes may represent any
///   number of objects, or an object that contains itself.
/// - Foundation crashes on some bytes that are not UTF-8.
/// - Some texts are slow to compare: a long name that is not ASCII, and a value with a long run of combining marks (see `JSONDepth`).
package enum PropertyListCheck {
    /// The deepest nesting that is read: 128 levels.
    package static let depthLimit = 128

    /// Returns the problem of a list; `nil` if Foundation may read the list. Only XML in UTF-8 and the binary format are accepted
    /// as property lists.
    package static func problem(in bytes: UnsafeRawBufferPointer) -> String? {
        if bytes.starts(with: "bplist00".utf8) {
            guard var list = BinaryList(bytes) else { return "it is damaged" }
            return list.problem()
        }
        var list = XMLList(bytes: bytes)
        return list.problem()
    }

    static let tooDeep = "it nests deeper than \(depthLimit) levels"
    static let longName = "a name that is not ASCII is longer than \(FieldLimits.nameBytes) bytes"
}

/// A property list in XML. Refuses a text in which Foundation could find a tag that this check does not find.
private struct XMLList {
    let bytes: UnsafeRawBufferPointer
    private var offset = 0

    init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    private static let malformed = "its XML is malformed"

    mutating func problem() -> String? {
        if bytes.prefix(4).contains(0) || bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE]) {
            return "it is not UTF-8"
        }
        offset = bytes.withoutByteOrderMark.startIndex
        while offset < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[offset]) { offset += 1 }
        // Foundation reads any other text as a list of an older format.
        guard offset < bytes.count, bytes[offset] == UInt8(ascii: "<") else { return "it is neither XML nor binary" }
        guard hasKnownEncoding() else { return "it is not UTF-8" }
        guard String(validating: bytes, as: UTF8.self) != nil else { return "it is not UTF-8" }
        /// The names of the open elements, as written.
        var open: [Slice<UnsafeRawBufferPointer>] = []
        /// The number of tags in comments and similar text. Another reader may find the end of a comment at a different place.
        var hidden = 0
        /// The offset at which the text of a name starts.
        var nameStart = 0
        while let start = bytes[offset...].firstIndex(of: UInt8(ascii: "<")) {
            offset = start
            if let (opening, closing) = Self.hiding.first(where: { bytes[start...].starts(with: $0.opening.utf8) }) {
                offset += opening.utf8.count
                // Some readers treat `<?>` and `<!-->` as complete tags, and others treat them as the beginning of a comment or
                // similar text.
                let text = bytes[offset...]
                guard !text.starts(with: ">".utf8), !text.starts(with: "->".utf8), let end = endOf(closing) else { return Self.malformed }
                hidden += tags(in: text[..<end])
                offset = end
            } else {
                guard let end = endOfTag() else { return Self.malformed }
                switch bytes[start + 1] {
                case UInt8(ascii: "!"):
                    // A document type that has declarations is refused.
                    guard !bytes[start..<end].contains(UInt8(ascii: "[")) else { return Self.malformed }
                case UInt8(ascii: "/"):
                    let name = name(in: (start + 2)..<end)
                    guard let opened = open.popLast(), opened.elementsEqual(name) else { return Self.malformed }
                    let text = bytes[nameStart..<start]
                    if name.elementsEqual("key".utf8), isLongName(text) { return PropertyListCheck.longName }
                    if name.elementsEqual("date".utf8), !isDate(text) { return "a date is malformed" }
                default:
                    nameStart = end + 1
                    if bytes[end - 1] != UInt8(ascii: "/") { open.append(name(in: (start + 1)..<end)) }
                }
                offset = end + 1
            }
            if open.count + hidden > PropertyListCheck.depthLimit { return PropertyListCheck.tooDeep }
        }
        return MarkRun.isTooLong(in: bytes, .xml) ? MarkRun.problem : nil
    }

    /// The beginnings and ends of comments and similar text, in which tags have no meaning.
    private static let hiding: [(opening: String, closing: String)] = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")]

    /// The name at the beginning of a tag.
    private func name(in tag: Range<Int>) -> Slice<UnsafeRawBufferPointer> {
        bytes[tag].prefix { ![0x20, 0x09, 0x0A, 0x0D, UInt8(ascii: "/")].contains($0) }
    }

    /// Returns the number of tags that begin in a comment or similar text.
    private func tags(in text: Slice<UnsafeRawBufferPointer>) -> Int {
        var (count, previous) = (0, UInt8(0))
        for byte in text {
            if previous == UInt8(ascii: "<"), (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) { count += 1 }
            previous = byte
        }
        return count
    }

    /// Whether a text is a date in the usual form. Foundation crashes on some years of more than four digits.
    private func isDate(_ text: Slice<UnsafeRawBufferPointer>) -> Bool {
        let pattern = "0000-00-00T00:00:00Z".utf8
        return text.count == pattern.count
            && zip(text, pattern).allSatisfy { byte, wanted in
                wanted == UInt8(ascii: "0") ? byte.isASCIIDigit : byte == wanted
            }
    }

    /// Whether a name may be slow to compare. A reference such as `&#x301;` may represent any character.
    private func isLongName(_ text: Slice<UnsafeRawBufferPointer>) -> Bool {
        text.isSlowName || (text.count > FieldLimits.nameBytes && text.contains(UInt8(ascii: "&")))
    }

    /// Whether the declaration at the beginning names no encoding, or exactly one encoding in which tags are ASCII.
    private func hasKnownEncoding() -> Bool {
        guard bytes[offset...].starts(with: "<?xml".utf8) else { return true }
        let declaration = bytes[offset...].prefix(1024).prefix { $0 != UInt8(ascii: ">") }
        guard declaration.count < 1024 else { return false }
        let text = declaration.map(\.asciiLowercased)
        let places = text.ranges(of: "encoding".utf8)
        guard let mark = places.first else { return true }
        let name = text[mark.upperBound...].drop { " \t\r\n=\"'".utf8.contains($0) }.prefix { !"\"'? ".utf8.contains($0) }
        return places.count == 1 && ["utf-8", "utf8", "us-ascii"].contains { name.elementsEqual($0.utf8) }
    }

    /// Returns the offset after the next occurrence of `text`; `nil` if `text` does not occur.
    private func endOf(_ text: String) -> Int? {
        var rest = bytes[offset...]
        while let index = rest.firstIndex(where: { $0 == text.utf8.first }) {
            rest = bytes[index...]
            if rest.starts(with: text.utf8) { return index + text.utf8.count }
            rest = rest.dropFirst()
        }
        return nil
    }

    /// Returns the offset of the `>` that ends the tag at the current offset. `nil` if the tag has no end, if another tag begins
    /// before its end, or if a quotation in the tag has a `>`.
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

    /// Returns `nil` if the values in the trailer are impossible for a list of this size.
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

    /// The highest limit for the total size of the objects of a list: 64 MiB. The limit is 100 times the size of the list, from 1 MiB to 64
    /// MiB. A list of more than 64 MiB may have objects of its own size. Each reference to an object adds the object's size.
    private static let sizeLimitBytes = 64 * 1024 * 1024

    /// Returns the problem of the list; `nil` if Foundation may read the list. Each reference is followed once. Programs write only one
    /// reference to each array or dictionary, so a second reference is refused. Texts and numbers may have any number of references.
    mutating func problem() -> String? {
        var containers: Set<Int> = []
        // The size of the objects in bytes. Each reference to an object adds the object's size.
        let (hundredfold, isTooLarge) = bytes.count.multipliedReportingOverflow(by: 100)
        let sizeLimit = max(min(isTooLarge ? .max : max(hundredfold, 1 << 20), Self.sizeLimitBytes), bytes.count)
        var size = 0
        /// The open containers, each with the number of its next reference.
        var open: [(container: Content, next: Int)] = []
        var object = top
        while true {
            guard let found = content(of: object) else { return "it is damaged" }
            size += found.length
            guard size <= sizeLimit else { return "it refers to the same objects too often" }
            if let (container, next) = open.last, next <= container.names, found.isUnicode, found.length > FieldLimits.nameBytes {
                return PropertyListCheck.longName
            }
            if found.isUnicode, isSlow(found) { return MarkRun.problem }
            if found.isContainer, found.references > 0 {
                guard open.count < PropertyListCheck.depthLimit else { return PropertyListCheck.tooDeep }
                guard containers.insert(object).inserted else { return "it refers to an array or a dictionary more than once" }
                open.append((found, 0))
            }
            while let last = open.last, last.next == last.container.references { open.removeLast() }
            guard let (container, next) = open.last else { return nil }
            object = number(at: container.start + next * referenceSize, size: referenceSize)
            open[open.count - 1].next = next + 1
        }
    }

    private struct Content {
        var isContainer = false
        /// Whether the object is a text that is not ASCII.
        var isUnicode = false
        /// Whether the text is in UTF-16. If false, the text is in UTF-8.
        var isUTF16 = false
        /// `start`: the start of the text, or of a container's references. `references`: the number of these references. `names`:
        /// the number of references that are names.
        var start = 0
        var references = 0
        var names = 0
        /// The number of bytes of the object.
        var length: Int
    }

    /// Whether a text has a long run of marks. The size limit also limits the number of scanned bytes, even if a list refers to the
    /// same text many times.
    private func isSlow(_ text: Content) -> Bool {
        guard text.length > 2 * MarkRun.limit else { return false }
        let octets = UnsafeRawBufferPointer(rebasing: bytes[text.start..<(text.start + text.length - 1)])
        return text.isUTF16 ? MarkRun.isTooLong(inUTF16: octets) : MarkRun.isTooLong(in: octets)
    }

    /// Returns an object; `nil` if the object is missing or has an unknown type or an infinite date, or if a part of the object is outside
    /// the list.
    private func content(of object: Int) -> Content? {
        guard object >= 0, object < count else { return nil }
        var place = number(at: table + object * offsetSize, size: offsetSize)
        guard place >= 8, place < table else { return nil }
        let marker = bytes[place]
        place += 1
        var length = Int(marker & 0x0F)
        // If an object has more than 14 elements, a separate integer contains the length.
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
        case 0x1, 0x2: (each, length) = (1, 1 << min(length, 8))
        case 0x3:
            guard length == 3, place + 8 <= table, isFinite(at: place) else { return nil }
            (each, length) = (1, 8)
        case 0x4, 0x5, 0x7: each = 1
        case 0x6: each = 2
        case 0x8: (each, length) = (1, length + 1)
        case 0xA, 0xB, 0xC: each = referenceSize
        case 0xD: each = 2 * referenceSize
        default: return nil
        }
        let (size, isTooLong) = length.multipliedReportingOverflow(by: each)
        guard !isTooLong, size <= table - place || marker >> 4 == 0 else { return nil }
        guard marker >> 4 >= 0xA else {
            return Content(isUnicode: [0x6, 0x7].contains(marker >> 4), isUTF16: marker >> 4 == 0x6, start: place, length: size + 1)
        }
        return Content(
            isContainer: true, start: place, references: size / referenceSize, names: marker >> 4 == 0xD ? length : 0, length: size + 1)
    }

    /// Whether 8 bytes are a finite floating-point number. When Foundation prints a date whose seconds are not a number, Foundation
    /// crashes.
    private func isFinite(at place: Int) -> Bool {
        Double(bitPattern: (0..<8).reduce(UInt64(0)) { $0 << 8 | UInt64(bytes[place + $1]) }).isFinite
    }

    /// Returns a number of up to 8 bytes; -1 if the number is out of the range of `Int`.
    private func number(at place: Int, size: Int) -> Int {
        Int(exactly: (0..<size).reduce(UInt64(0)) { $0 << 8 | UInt64(bytes[place + $1]) }) ?? -1
    }
}
