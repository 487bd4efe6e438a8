#if NIO
/// Looks for fields whose names `NIOHTTP2Handler` could only compare in a long time: a value without channels.
///
/// `NIOHTTP2Handler` compares names with `:status` as texts, and the first `Character` of the value of `:status` with `1`. Swift compares texts in a
/// normal form, which takes quadratic time for a run of combining marks: 20 s for 250 KB. So such a field ends the connection before
/// `NIOHTTP2Handler` gets it. The scan reads lengths alone ([RFC 7541, section 6](https://www.rfc-editor.org/rfc/rfc7541#section-6)), and decodes
/// nothing.
struct SlowFieldScan: Sendable {
    /// The longest name, in bytes as they are encoded: 1 KiB.
    static let nameBytes = 1024
    /// How many bytes that are not ASCII the value of a field may have that may be `:status`: 1 KiB.
    static let statusBytes = 1024
    /// How long a value in the code of Huffman may be, as it is encoded, of a field that may be `:status`: 16 KiB. A byte that is not ASCII has 20 bits
    /// or more in that code.
    static let codedStatusBytes = 16 * 1024

    /// What a part of a section of fields is.
    enum Verdict: Sendable, Hashable {
        case quick
        /// A field would take long.
        case slow
        /// A number has more than 32 bits: the section can't be read.
        case invalid
    }

    private enum State: Sendable {
        case start
        /// The rest of an index, or of the size of the table.
        case integer(isLiteral: Bool, index: Int, shift: Int)
        case length(isName: Bool)
        case longLength(isName: Bool, isCoded: Bool, count: Int, shift: Int)
        case text(isName: Bool, isCoded: Bool, rest: Int)
    }

    private var state = State.start
    private var mayBeStatus = false
    private var foreignBytes = 0

    /// Reads a part of a section of fields. After a verdict other than ``Verdict/quick``, the scan must not be used any more.
    ///
    /// - Parameter isLast: whether the section ends here.
    mutating func read(_ bytes: some Collection<UInt8>, isLast: Bool) -> Verdict {
        var rest = bytes[...]
        while let byte = rest.first {
            if case .text(let isName, let isCoded, let count) = state {
                let part = rest.prefix(count)
                if !isName, mayBeStatus, !isCoded { foreignBytes += part.count { $0 >= 0x80 } }
                guard foreignBytes <= Self.statusBytes else { return .slow }
                rest = rest.dropFirst(part.count)
                state = count > part.count ? .text(isName: isName, isCoded: isCoded, rest: count - part.count) : after(isName)
                continue
            }
            rest = rest.dropFirst()
            let verdict = step(byte)
            guard verdict == .quick else { return verdict }
        }
        if isLast { state = .start }
        return .quick
    }

    private func after(_ isName: Bool) -> State { isName ? .length(isName: false) : .start }

    /// Reads a byte outside of texts.
    private mutating func step(_ byte: UInt8) -> Verdict {
        switch state {
        case .start:
            foreignBytes = 0
            switch byte {
            case 0x80...: begin(byte & 0x7F, of: 0x7F, isLiteral: false)
            case 0x40...: begin(byte & 0x3F, of: 0x3F, isLiteral: true)
            case 0x20...: begin(byte & 0x1F, of: 0x1F, isLiteral: false)
            default: begin(byte & 0x0F, of: 0x0F, isLiteral: true)
            }
        case .integer(let isLiteral, let former, let shift):
            guard shift <= 28 else { return .invalid }
            let index = former + Int(byte & 0x7F) << shift
            if byte >= 0x80 {
                state = .integer(isLiteral: isLiteral, index: index, shift: shift + 7)
            } else {
                mayBeStatus = index >= 62
                state = isLiteral ? .length(isName: false) : .start
            }
        case .length(let isName):
            let (isCoded, count) = (byte >= 0x80, Int(byte & 0x7F))
            if count == 0x7F {
                state = .longLength(isName: isName, isCoded: isCoded, count: count, shift: 0)
            } else {
                return beginText(isName, isCoded, count)
            }
        case .longLength(let isName, let isCoded, let former, let shift):
            // `NIOHTTP2Handler` refuses longer numbers.
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

    /// A field begins, or a change of the table.
    private mutating func begin(_ index: UInt8, of prefix: UInt8, isLiteral: Bool) {
        // The table has `:status` from 8 to 14. From 62 on are fields that were sent before.
        mayBeStatus = (8...14).contains(index) || index >= 62
        if index == prefix {
            state = .integer(isLiteral: isLiteral, index: Int(index), shift: 0)
        } else if isLiteral {
            state = .length(isName: index == 0)
        }
    }

    private mutating func beginText(_ isName: Bool, _ isCoded: Bool, _ count: Int) -> Verdict {
        if isName {
            guard count <= Self.nameBytes else { return .slow }
            // `:status` has 7 bytes, and 5 in the code.
            mayBeStatus = count == (isCoded ? 5 : 7)
        } else if mayBeStatus, isCoded, count > Self.codedStatusBytes {
            return .slow
        }
        state = count > 0 ? .text(isName: isName, isCoded: isCoded, rest: count) : after(isName)
        return .quick
    }
}

extension FrameHeader {
    /// Whether the payload has a part of a section of fields.
    var hasFields: Bool { type == 1 || type == 5 || type == 9 }

    /// Returns the part of a section of fields in the payload, without padding and priority; empty if the lengths do not fit.
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
