#if SWIFT_NIO
/// Finds fields that `NIOHTTP2Handler` would compare in quadratic time. The value has no channels.
///
/// `NIOHTTP2Handler` compares names with `:status` as texts, and the first `Character` of the value of `:status` with `1`. Swift compares
/// texts in a normal form, which takes quadratic time for a run of combining marks: 20 s for 250 KB. Therefore, a field that is slow to
/// compare ends the connection before `NIOHTTP2Handler` gets the field. The scan reads lengths ([RFC 7541, section
/// 6](https://www.rfc-editor.org/rfc/rfc7541#section-6)) and decodes nothing. The scan remembers which entries of the dynamic table are
/// named `:status`. Therefore, the limits on values apply only to `:status`.
struct SlowFieldScan: Sendable {
    /// The longest name, in encoded bytes: 1 KiB.
    static let nameBytes = 1024
    /// The maximum number of non-ASCII bytes in the value of `:status`: 1 KiB.
    static let statusBytes = 1024
    /// The longest Huffman-coded value of `:status`, in encoded bytes: 16 KiB. A byte outside ASCII takes 20 bits or more in the Huffman
    /// code.
    static let codedStatusBytes = 16 * 1024
    /// The maximum number of entries in the dynamic table. Each entry takes 32 or more of the table's 4,096 bytes ([RFC 7541, section
    /// 4.1](https://www.rfc-editor.org/rfc/rfc7541#section-4.1)).
    private static let tableEntries = 128
    /// The name `:status` as plain text. `codedStatusName` is the Huffman code of this name.
    private static let statusName = Array(":status".utf8)
    private static let codedStatusName: [UInt8] = [0xB8, 0x84, 0x8D, 0x36, 0xA3]

    /// The verdict about a part of a section of fields.
    enum Verdict: Sendable, Hashable {
        case quick
        /// The comparison of a field would take a long time.
        case slow
        /// A number has more than 32 bits. The section is unreadable.
        case invalid
    }

    private enum State: Sendable {
        case start
        /// The rest of an index, or of the size of the table.
        case integer(Field, index: Int, shift: Int)
        case length(isName: Bool)
        case longLength(isName: Bool, isCoded: Bool, count: Int, shift: Int)
        case text(isName: Bool, isCoded: Bool, rest: Int)
    }

    /// The kind of a field that begins with an index.
    private enum Field: Sendable {
        /// A field of the table, or a change of the table's size.
        case indexed
        case literal
        /// A literal that enters the table.
        case entering
    }

    private var state = State.start
    private var field = Field.indexed
    private var isStatus = false
    /// The number of bytes of the name that match `:status`; `nil` after a byte that does not match.
    private var nameMatch: Int? = 0
    private var foreignBytes = 0
    /// For each entry of the dynamic table, from the oldest to the newest: whether the entry is named `:status`. The real table may no
    /// longer contain the oldest entries.
    private var table: [Bool] = []

    /// Reads a part of a section of fields. After a verdict other than ``Verdict/quick``, the scan must not be used again.
    ///
    /// - Parameter isLast: whether the section ends here.
    mutating func read(_ bytes: some Collection<UInt8>, isLast: Bool) -> Verdict {
        var rest = bytes[...]
        while let byte = rest.first {
            if case .text(let isName, let isCoded, let count) = state {
                let part = rest.prefix(count)
                if isName {
                    matchName(part, isCoded)
                } else if isStatus, !isCoded {
                    foreignBytes += part.count { $0 >= 0x80 }
                }
                guard foreignBytes <= Self.statusBytes else { return .slow }
                rest = rest.dropFirst(part.count)
                if count > part.count {
                    state = .text(isName: isName, isCoded: isCoded, rest: count - part.count)
                } else {
                    endText(isName, isCoded)
                }
                continue
            }
            rest = rest.dropFirst()
            let verdict = step(byte)
            guard verdict == .quick else { return verdict }
        }
        if isLast { state = .start }
        return .quick
    }

    private mutating func endText(_ isName: Bool, _ isCoded: Bool) {
        guard isName else {
            state = .start
            return
        }
        beginValue(ofStatus: nameMatch == (isCoded ? Self.codedStatusName : Self.statusName).count)
    }

    private mutating func matchName(_ part: some Collection<UInt8>, _ isCoded: Bool) {
        guard let start = nameMatch else { return }
        let rest = (isCoded ? Self.codedStatusName : Self.statusName).dropFirst(start)
        nameMatch = part.count <= rest.count && rest.starts(with: part) ? start + part.count : nil
    }

    /// Begins the value of a field, and records the name of a literal that enters the table.
    private mutating func beginValue(ofStatus isStatus: Bool) {
        self.isStatus = isStatus
        if case .entering = field {
            table.append(isStatus)
            if table.count > Self.tableEntries { table.removeFirst() }
        }
        state = .length(isName: false)
    }

    /// Reads a byte that is not part of a name or a value.
    private mutating func step(_ byte: UInt8) -> Verdict {
        switch state {
        case .start:
            foreignBytes = 0
            switch byte {
            case 0x80...: begin(.indexed, byte & 0x7F, of: 0x7F)
            case 0x40...: begin(.entering, byte & 0x3F, of: 0x3F)
            case 0x20...: begin(.indexed, byte & 0x1F, of: 0x1F)
            default: begin(.literal, byte & 0x0F, of: 0x0F)
            }
        case .integer(let field, let former, let shift):
            guard shift <= 28 else { return .invalid }
            let index = former + Int(byte & 0x7F) << shift
            if byte >= 0x80 {
                state = .integer(field, index: index, shift: shift + 7)
            } else {
                end(field, index)
            }
        case .length(let isName):
            let (isCoded, count) = (byte >= 0x80, Int(byte & 0x7F))
            if count == 0x7F {
                state = .longLength(isName: isName, isCoded: isCoded, count: count, shift: 0)
            } else {
                return beginText(isName, isCoded, count)
            }
        case .longLength(let isName, let isCoded, let former, let shift):
            // `NIOHTTP2Handler` refuses numbers with more than 32 bits.
            guard shift <= 28 else { return .invalid }
            let count = former + Int(byte & 0x7F) << shift
            if byte >= 0x80 {
                state = .longLength(isName: isName, isCoded: isCoded, count: count, shift: shift + 7)
            } else {
                return beginText(isName, isCoded, count)
            }
        case .text: break
        }
        return .quick
    }

    /// Begins a field, or a change of the table's size.
    private mutating func begin(_ field: Field, _ index: UInt8, of prefix: UInt8) {
        if index == prefix {
            state = .integer(field, index: Int(index), shift: 0)
        } else {
            end(field, Int(index))
        }
    }

    /// Ends the index of a field. After the index: nothing (an indexed field), the name (index 0), or the value (any other index).
    private mutating func end(_ field: Field, _ index: Int) {
        self.field = field
        if case .indexed = field {
            state = .start
        } else if index == 0 {
            nameMatch = 0
            state = .length(isName: true)
        } else {
            // In the static table, the entries 8 to 14 are named `:status`, and the last entry is 61. The newest entry of the
            // dynamic table has the index 62.
            let entry = table.count - 1 - (index - 62)
            beginValue(ofStatus: index < 62 ? (8...14).contains(index) : entry < 0 || table[entry])
        }
    }

    private mutating func beginText(_ isName: Bool, _ isCoded: Bool, _ count: Int) -> Verdict {
        if isName {
            guard count <= Self.nameBytes else { return .slow }
        } else if isStatus, isCoded, count > Self.codedStatusBytes {
            return .slow
        }
        if count > 0 {
            state = .text(isName: isName, isCoded: isCoded, rest: count)
        } else {
            endText(isName, isCoded)
        }
        return .quick
    }
}

extension FrameHeader {
    /// Whether the payload contains a part of a section of fields.
    var hasFields: Bool { type == 1 || type == 5 || type == 9 }

    /// Returns the part of a section of fields in the payload, without padding and priority; empty if the lengths contradict each other.
    func fields(in payload: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer> {
        var part = payload[...]
        guard type != 9 else { return part }
        if flags & 0x8 != 0 {
            let padding = Int(part.popFirst() ?? 0)
            part = part.dropLast(padding)
        }
        if type == 5 { return part.dropFirst(4) }
        return flags & 0x20 == 0 ? part : part.dropFirst(5)
    }

    /// Whether a section of fields ends with the frame: the flag END_HEADERS.
    var endsFields: Bool { flags & 0x4 != 0 }
}
#endif
