#if SQLite
internal import ErrandCore

/// Reads the values that ``OctetWriter`` has written. All functions throw ``StoredPiece/Damaged`` if the octets are not valid.
struct OctetReader {
    private let data: [UInt8]
    private var index = 0

    init(_ data: Data) { self.data = [UInt8](data) }

    var isAtEnd: Bool { index == data.count }

    private mutating func take(_ count: Int) throws -> ArraySlice<UInt8> {
        guard count <= data.count - index else { throw StoredPiece.Damaged() }
        defer { index += count }
        return data[index..<index + count]
    }

    mutating func number() throws -> Int64 { Int64(littleEndianOctets: try take(8)) }
    /// Reads the number of elements of a list. Each element has at least one octet.
    mutating func count() throws -> Int {
        let count = try number()
        guard count >= 0, count <= Int64(data.count - index) else { throw StoredPiece.Damaged() }
        return Int(count)
    }
    mutating func small() throws -> UInt8 { try take(1).first ?? 0 }
    mutating func flag() throws -> Bool { try small() != 0 }

    mutating func octets() throws -> ArraySlice<UInt8> {
        let count = UInt32(littleEndianOctets: try take(4))
        return try take(Int(count))
    }
    mutating func text() throws -> String { String(decoding: try octets(), as: UTF8.self) }

    mutating func optional<Value>(_ read: (inout OctetReader) throws -> Value) throws -> Value? { try flag() ? try read(&self) : nil }

    mutating func duration() throws -> Duration {
        let seconds = try number()
        return Duration(secondsComponent: seconds, attosecondsComponent: try number())
    }
}
#endif
