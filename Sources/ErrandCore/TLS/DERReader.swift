/// A reader of values in DER, one after the other ([X.690](https://www.itu.int/rec/T-REC-X.690)).
///
/// If the length of a value takes more than three octets, the value is not read.
package struct DERReader {
    package struct Tag: Hashable {
        let byte: UInt8
        package init(_ byte: UInt8) { self.byte = byte }

        package static let (boolean, octets, identifier, sequence) = (Tag(0x01), Tag(0x04), Tag(0x06), Tag(0x30))
        package static let (version, extensions) = (Tag(0xA0), Tag(0xA3))
        package static let (permitted, excluded) = (Tag(0xA0), Tag(0xA1))
        package static let (hostName, address) = (Tag(0x82), Tag(0x87))
    }

    /// The bytes that were not read yet.
    package private(set) var rest: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// Returns the next value; `nil` at the end, and if the value is incomplete, or the form of its length is not supported.
    package mutating func read() -> (tag: Tag, content: DERReader)? {
        var bytes = rest
        guard let tag = bytes.popFirst(), let first = bytes.popFirst() else { return nil }
        var count = Int(first)
        if first >= 0x80 {
            guard (0x81...0x83).contains(first) else { return nil }
            count = 0
            for _ in 0x80..<first {
                guard let byte = bytes.popFirst() else { return nil }
                count = count << 8 | Int(byte)
            }
        }
        guard count <= bytes.count else { return nil }
        rest = bytes.dropFirst(count)
        return (Tag(tag), DERReader(bytes.prefix(count)))
    }

    /// Returns the content of the next value if the value has the tag `tag`. If the value has another tag, reads nothing and returns `nil`.
    package mutating func read(_ tag: Tag) -> DERReader? {
        guard rest.first == tag.byte else { return nil }
        return read()?.content
    }
}
