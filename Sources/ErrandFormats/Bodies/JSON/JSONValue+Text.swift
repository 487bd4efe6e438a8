// The functions of this file write JSON values as text.

extension JSONValue: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The value as compact JSON, with the members sorted by name.
    ///
    /// The description shows everything that the value holds, secrets included.
    public var description: String { String(decoding: bytes(), as: UTF8.self) }

    /// The value as JSON that is indented by two spaces, with the members sorted by name.
    public var debugDescription: String { String(decoding: bytes(isIndented: true), as: UTF8.self) }

    /// The value as JSON.
    public var customMirror: Mirror { Mirror(self, children: ["json": description]) }

    /// The value as JSON text in UTF-8, with the members sorted by name.
    package func bytes(isIndented: Bool = false) -> [UInt8] {
        var writer = JSONWriter(isIndented: isIndented)
        writer.write(self)
        return writer.bytes
    }
}

private struct JSONWriter {
    let isIndented: Bool
    var bytes: [UInt8] = []
    var depth = 0

    init(isIndented: Bool) { self.isIndented = isIndented }

    mutating func write(_ value: JSONValue) {
        switch value {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .number(let number): bytes += number.description.utf8
        case .string(let text): write(text)
        case .array(let elements): write(elements, between: "[", "]") { $0.write($1) }
        case .object(let members):
            write(members.sorted { $0.key < $1.key }, between: "{", "}") { writer, member in
                writer.write(member.key)
                writer.bytes += (writer.isIndented ? ": " : ":").utf8
                writer.write(member.value)
            }
        }
    }

    private mutating func write<Item>(
        _ items: [Item], between start: Unicode.Scalar, _ end: Unicode.Scalar, _ write: (inout JSONWriter, Item) -> Void
    ) {
        bytes.append(UInt8(ascii: start))
        depth += 1
        var isFirst = true
        for item in items {
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            breakLine()
            write(&self, item)
        }
        depth -= 1
        if !items.isEmpty { breakLine() }
        bytes.append(UInt8(ascii: end))
    }

    private mutating func breakLine() {
        guard isIndented else { return }
        bytes.append(0x0A)
        bytes += repeatElement(0x20, count: depth * 2)
    }

    private mutating func write(_ text: String) { bytes.appendJSONString(text) }
}

extension [UInt8] {
    /// Appends `text` as a JSON string, with quotation marks and the escapes that JSON requires
    /// ([RFC 8259, section 7](https://www.rfc-editor.org/rfc/rfc8259#section-7)).
    package mutating func appendJSONString(_ text: String) {
        append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): self += [UInt8(ascii: "\\"), byte]
            case 0x08: self += "\\b".utf8
            case 0x0C: self += "\\f".utf8
            case 0x0A: self += "\\n".utf8
            case 0x0D: self += "\\r".utf8
            case 0x09: self += "\\t".utf8
            case 0..<0x20: self += "\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8
            default: append(byte)
            }
        }
        append(UInt8(ascii: "\""))
    }
}
