/// Extracts the needed members of a JSON object, even if other members are unreadable.
///
/// A response with a new token must not be lost because another member of the response is unreadable. The other member may nest
/// too deeply, may have a long run of combining marks, or may not be UTF-8.
///
/// The extraction takes linear time, does not use recursion, and stores one bit for each level of nesting.
package enum JSONMembers {
    /// Returns a JSON object with those members of a JSON text whose names are in `names`. The members keep their order. Returns
    /// `nil` if the text has no complete object.
    ///
    /// - A needed member is left out if its value is unreadable, or is an array or an object.
    /// - In the members that are not needed, each quotation mark and bracket must have its counterpart. Nothing else is checked.
    /// - A byte order mark before the object is ignored, and text after the object is ignored. If the text after the object has
    ///   another `{`, the result is `nil`, because the needed members may be in either object.
    package static func needed(_ names: [String], in bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        var scan = JSONScan(bytes)
        guard let members = scan.members(where: { name in names.contains { $0.utf8.elementsEqual(bytes[name]) } }) else { return nil }
        var object = [UInt8(ascii: "{")]
        for member in members {
            let value = UnsafeRawBufferPointer(rebasing: bytes[member.value])
            guard isReadable(value) else { continue }
            if object.count > 1 { object.append(UInt8(ascii: ",")) }
            object.append(UInt8(ascii: "\""))
            object += bytes[member.name]
            object += [UInt8(ascii: "\""), UInt8(ascii: ":")]
            object += value
        }
        object.append(UInt8(ascii: "}"))
        return object
    }

    /// Whether a decoder can read the value. One unreadable value would make the whole object unreadable.
    private static func isReadable(_ value: UnsafeRawBufferPointer) -> Bool {
        guard let first = value.first, first != UInt8(ascii: "["), first != UInt8(ascii: "{") else { return false }
        return (try? JSONValue(parsing: value)) != nil
    }
}

/// Finds the members of the outermost object.
private struct JSONScan {
    struct Member {
        /// The bytes between the quotation marks.
        let name: Range<Int>
        let value: Range<Int>
    }

    private var cursor: JSONCursor

    init(_ bytes: UnsafeRawBufferPointer) {
        cursor = JSONCursor(bytes.assumingMemoryBound(to: UInt8.self))
        cursor.skipByteOrderMark()
    }

    /// Returns the members whose names satisfy `isNeeded`, in their order; `nil` if the text has no complete object.
    mutating func members(where isNeeded: (Range<Int>) -> Bool) -> [Member]? {
        cursor.skipSpace()
        guard cursor.take("{") else { return nil }
        var members: [Member] = []
        cursor.skipSpace()
        if !cursor.take("}") {
            repeat {
                cursor.skipSpace()
                guard let name = cursor.string() else { return nil }
                cursor.skipSpace()
                guard cursor.take(":") else { return nil }
                cursor.skipSpace()
                guard let value = value() else { return nil }
                if isNeeded(name) { members.append(Member(name: name, value: value)) }
                cursor.skipSpace()
            } while cursor.take(",")
            guard cursor.take("}") else { return nil }
        }
        return cursor.bytes[cursor.position...].contains(UInt8(ascii: "{")) ? nil : members
    }

    /// Reads a value, and returns its bytes. A value is a string, an array, an object, or a word such as a number.
    private mutating func value() -> Range<Int>? {
        let start = cursor.position
        switch cursor.next {
        case UInt8(ascii: "\"")?: return cursor.string().map { _ in start..<cursor.position }
        case UInt8(ascii: "["), UInt8(ascii: "{"): return skipBrackets() ? start..<cursor.position : nil
        default:
            while let byte = cursor.next, Self.ofWords.contains(byte) { cursor.position += 1 }
            return cursor.position > start ? start..<cursor.position : nil
        }
    }

    private static let ofWords = ByteSet { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// Skips an array or an object, and checks its brackets. Returns whether each bracket has its counterpart.
    private mutating func skipBrackets() -> Bool {
        var open = BitStack()
        while let byte = cursor.next {
            switch byte {
            case UInt8(ascii: "\""):
                guard cursor.string() != nil else { return false }
                continue
            case UInt8(ascii: "["), UInt8(ascii: "{"): open.push(byte == UInt8(ascii: "{"))
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                guard open.pop() == (byte == UInt8(ascii: "}")) else { return false }
            default: break
            }
            cursor.position += 1
            if open.isEmpty { return true }
        }
        return false
    }
}

/// A stack of bits.
private struct BitStack {
    private var words: [UInt64] = []
    private var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func push(_ bit: Bool) {
        if count % 64 == 0 { words.append(0) }
        if bit { words[count / 64] |= 1 << UInt64(count % 64) }
        count += 1
    }

    /// Removes the last bit and returns it; `nil` if the stack is empty.
    mutating func pop() -> Bool? {
        guard count > 0 else { return nil }
        count -= 1
        defer { if count % 64 == 0 { words.removeLast() } else { words[count / 64] &= ~(1 << UInt64(count % 64)) } }
        return words[count / 64] & 1 << UInt64(count % 64) != 0
    }
}
