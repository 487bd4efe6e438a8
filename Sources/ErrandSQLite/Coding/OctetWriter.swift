#if SQLite
internal import ErrandCore

/// Writes numbers and octets one after the other.
struct OctetWriter {
    private(set) var data = Data()

    mutating func number(_ number: Int64) { number.appendLittleEndian(to: &data) }
    mutating func small(_ number: UInt8) { data.append(number) }
    mutating func flag(_ flag: Bool) { small(flag ? 1 : 0) }

    mutating func octets(_ octets: UnsafeRawBufferPointer) {
        UInt32(octets.count).appendLittleEndian(to: &data)
        data.append(contentsOf: octets)
    }
    mutating func octets(_ octets: [UInt8]) { octets.withUnsafeBytes { self.octets($0) } }

    mutating func text(_ text: String) {
        var text = text
        text.withUTF8 { octets(UnsafeRawBufferPointer($0)) }
    }

    mutating func optional<Value>(_ value: Value?, _ write: (inout OctetWriter, Value) -> Void) {
        flag(value != nil)
        if let value { write(&self, value) }
    }

    mutating func duration(_ duration: Duration) {
        number(duration.components.seconds)
        number(duration.components.attoseconds)
    }
}
#endif
