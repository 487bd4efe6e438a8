/// The checksum CRC-32 ([RFC 1952, section 8](https://www.rfc-editor.org/rfc/rfc1952#section-8)). The checksum detects accidents,
/// not forgeries.
///
/// ```swift
/// var sum = CRC32()
/// sum.update(head)
/// sum.update(body)
/// let checksum = sum.value
/// ```
package struct CRC32: Sendable {
    /// Eight tables, so that a step handles eight octets. The first table has the checksums of single octets.
    private static let tables: [UInt32] = {
        var tables: [UInt32] = []
        for octet in UInt32(0)..<256 {
            tables.append((0..<8).reduce(octet) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 })
        }
        for index in 256..<2048 {
            let previous = tables[index - 256]
            tables.append(previous >> 8 ^ tables[Int(previous & 0xFF)])
        }
        return tables
    }()

    private var register = UInt32.max

    /// Creates the checksum of no octets.
    package init() {}

    /// The checksum of the octets that were added.
    package var value: UInt32 { ~register }

    /// Adds octets.
    package mutating func update(_ octets: some Sequence<UInt8>) {
        if octets.withContiguousStorageIfAvailable({ update(UnsafeRawBufferPointer($0)) }) == nil {
            Array(octets).withUnsafeBytes { update($0) }
        }
    }

    /// Adds octets.
    package mutating func update(_ octets: UnsafeRawBufferPointer) {
        register = Self.tables.withUnsafeBufferPointer { tables in
            var (value, index) = (register, 0)
            while octets.count - index >= 8 {
                let low = octets.loadUnaligned(fromByteOffset: index, as: UInt32.self).littleEndian ^ value
                let high = octets.loadUnaligned(fromByteOffset: index + 4, as: UInt32.self).littleEndian
                let first = tables[1792 + Int(low & 0xFF)] ^ tables[1536 + Int(low >> 8 & 0xFF)]
                let second = tables[1280 + Int(low >> 16 & 0xFF)] ^ tables[1024 + Int(low >> 24)]
                let third = tables[768 + Int(high & 0xFF)] ^ tables[512 + Int(high >> 8 & 0xFF)]
                let fourth = tables[256 + Int(high >> 16 & 0xFF)] ^ tables[Int(high >> 24)]
                value = first ^ second ^ third ^ fourth
                index += 8
            }
            while index < octets.count {
                value = value >> 8 ^ tables[Int(UInt8(truncatingIfNeeded: value) ^ octets[index])]
                index += 1
            }
            return value
        }
    }

    /// Returns the checksum of two pieces, one after the other.
    static func of(_ first: some Sequence<UInt8>, _ second: some Sequence<UInt8> = []) -> UInt32 {
        var sum = CRC32()
        sum.update(first)
        sum.update(second)
        return sum.value
    }
}
