#if SQLite
internal import ErrandCache
internal import ErrandCore

/// Writes numbers and octets one after the other.
struct OctetWriter {
    private(set) var data = Data()

    mutating func number(_ number: Int64) { withUnsafeBytes(of: number.littleEndian) { data.append(contentsOf: $0) } }
    mutating func small(_ number: UInt8) { data.append(number) }
    mutating func flag(_ flag: Bool) { small(flag ? 1 : 0) }

    mutating func octets(_ octets: UnsafeRawBufferPointer) {
        withUnsafeBytes(of: UInt32(octets.count).littleEndian) { data.append(contentsOf: $0) }
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

/// Reads what ``OctetWriter`` has written. All functions throw ``StoredPiece/Damaged`` if the octets are not valid.
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

    mutating func number() throws -> Int64 {
        Int64(bitPattern: try take(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
    /// Reads the number of elements of a list, each of which has at least one octet.
    mutating func count() throws -> Int {
        let count = try number()
        guard count >= 0, count <= Int64(data.count - index) else { throw StoredPiece.Damaged() }
        return Int(count)
    }
    mutating func small() throws -> UInt8 { try take(1).first ?? 0 }
    mutating func flag() throws -> Bool { try small() != 0 }

    mutating func octets() throws -> ArraySlice<UInt8> {
        let count = try take(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return try take(Int(count))
    }
    mutating func text() throws -> String { String(decoding: try octets(), as: UTF8.self) }

    mutating func optional<Value>(_ read: (inout OctetReader) throws -> Value) throws -> Value? { try flag() ? try read(&self) : nil }

    mutating func duration() throws -> Duration {
        let seconds = try number()
        return Duration(secondsComponent: seconds, attosecondsComponent: try number())
    }
}

/// The parts of a key that a list of entries shows.
struct StoredName {
    let url: String
    let belongsToAccount: Bool
    let hasContent: Bool

    init(_ key: CacheKey) { (url, belongsToAccount, hasContent) = (key.url, key.partition != .none, key.content != nil) }

    var encoded: Data {
        var writer = OctetWriter()
        writer.text(url)
        writer.flag(belongsToAccount)
        writer.flag(hasContent)
        return writer.data
    }

    init(_ data: Data) throws {
        var reader = OctetReader(data)
        (url, belongsToAccount, hasContent) = (try reader.text(), try reader.flag(), try reader.flag())
    }
}

extension CacheSelection {
    func encode(to writer: inout OctetWriter) {
        writer.flag(isUnmatchable)
        writer.number(Int64(fields.count))
        for field in fields {
            writer.text(field.name.canonicalName)
            switch field.value {
            case .absent: writer.small(0)
            case .account: writer.small(1)
            case .text(let text):
                writer.small(2)
                writer.text(text)
            case .digest(let digest):
                writer.small(3)
                writer.octets(digest)
            }
        }
    }

    static func decoded(from reader: inout OctetReader) throws -> CacheSelection {
        let isUnmatchable = try reader.flag()
        var fields: [Field] = []
        for _ in 0..<(try reader.count()) {
            guard let name = HTTPField.Name(try reader.text()) else { throw StoredPiece.Damaged() }
            let value: Value =
                switch try reader.small() {
                case 0: .absent
                case 1: .account
                case 2: .text(try reader.text())
                case 3: .digest(Array(try reader.octets()))
                default: throw StoredPiece.Damaged()
                }
            fields.append(Field(name: name, value: value))
        }
        return CacheSelection(fields: fields, isUnmatchable: isUnmatchable)
    }
}

extension CacheInstant {
    fileprivate func encode(to writer: inout OctetWriter) {
        writer.duration(sinceEpoch)
        writer.duration(uptime)
        writer.number(Int64(bitPattern: run))
    }

    fileprivate init(from reader: inout OctetReader) throws {
        let sinceEpoch = try reader.duration()
        let uptime = try reader.duration()
        self.init(sinceEpoch: sinceEpoch, uptime: uptime, run: UInt64(bitPattern: try reader.number()))
    }

    /// The microseconds by the wall clock, for the order of entries.
    var microseconds: Int64 {
        let (seconds, attoseconds) = sinceEpoch.components
        let (product, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let (sum, sumOverflows) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000)
        return overflows || sumOverflows ? (seconds < 0 ? .min : .max) : sum
    }
}

extension CacheEntry.Head {
    /// The octets of all parts, in format 1.
    var encoded: Data {
        var writer = OctetWriter()
        writer.number(Int64(response.status.code))
        writer.text(response.status.reasonPhrase)
        writer.number(Int64(response.headerFields.count))
        for field in response.headerFields {
            writer.text(field.name.rawName)
            field.withUnsafeBytesOfValue { writer.octets(UnsafeRawBufferPointer($0)) }
        }
        requestTime.encode(to: &writer)
        responseTime.encode(to: &writer)
        selection.encode(to: &writer)
        switch extent {
        case .whole(let length):
            writer.small(0)
            writer.number(length)
        case .part(let range, let completeLength):
            writer.small(1)
            writer.number(range.lowerBound)
            writer.number(range.upperBound)
            writer.optional(completeLength) { $0.number($1) }
        }
        writer.optional(lifetimes) { writer, lifetimes in
            writer.duration(lifetimes.fresh)
            writer.optional(lifetimes.staleWhileRevalidate) { $0.duration($1) }
            writer.optional(lifetimes.staleIfError) { $0.duration($1) }
        }
        writer.flag(isDecoded)
        return writer.data
    }

    /// - Throws: ``StoredPiece/Damaged``.
    init(encoded data: Data) throws {
        var reader = OctetReader(data)
        let code = try reader.number()
        guard (0...999).contains(code) else { throw StoredPiece.Damaged() }
        let status = HTTPResponse.Status(code: Int(code), reasonPhrase: try reader.text())
        var fields = HTTPFields()
        for _ in 0..<(try reader.count()) {
            guard let name = HTTPField.Name(try reader.text()) else { throw StoredPiece.Damaged() }
            fields.append(HTTPField(name: name, value: try reader.octets()))
        }
        let requestTime = try CacheInstant(from: &reader)
        let responseTime = try CacheInstant(from: &reader)
        let selection = try CacheSelection.decoded(from: &reader)
        let extent: CacheExtent
        if try reader.small() == 0 {
            extent = .whole(length: try reader.number())
        } else {
            let (lower, upper) = (try reader.number(), try reader.number())
            guard lower <= upper else { throw StoredPiece.Damaged() }
            extent = .part(lower..<upper, completeLength: try reader.optional { try $0.number() })
        }
        let lifetimes = try reader.optional { reader in
            CacheLifetimes(
                fresh: try reader.duration(), staleWhileRevalidate: try reader.optional { try $0.duration() },
                staleIfError: try reader.optional { try $0.duration() })
        }
        let isDecoded = try reader.flag()
        guard reader.isAtEnd else { throw StoredPiece.Damaged() }
        self.init(
            response: HTTPResponse(status: status, headerFields: fields), requestTime: requestTime, responseTime: responseTime,
            selection: selection, extent: extent, lifetimes: lifetimes, isDecoded: isDecoded)
    }
}
#endif
