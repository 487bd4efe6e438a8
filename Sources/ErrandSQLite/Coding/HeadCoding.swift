#if SQLite
internal import ErrandCache
internal import ErrandCore

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

    /// The time by the wall clock in microseconds, by which entries are ordered.
    var microseconds: Int64 {
        let (seconds, attoseconds) = sinceEpoch.components
        let (product, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let (sum, sumOverflows) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000)
        return overflows || sumOverflows ? (seconds < 0 ? .min : .max) : sum
    }
}

extension CacheEntry.Head {
    /// The octets of all parts of the head, in format 1.
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
