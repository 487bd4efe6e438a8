/// The octets of netlink messages, as Linux sends them.
enum NetlinkOctets {
    static func number(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number) { Array($0) } }

    static func padded(_ octets: [UInt8]) -> [UInt8] { octets + Array(repeating: 0, count: -octets.count & 3) }

    static func message(_ type: UInt16, flags: UInt16 = 0, sequence: UInt32 = 0, length: UInt32? = nil, _ payload: [UInt8]) -> [UInt8] {
        number(length ?? UInt32(16 + payload.count)) + number(type) + number(flags) + number(sequence) + number(UInt32(0)) + padded(payload)
    }

    static func attribute(_ type: UInt16, length: UInt16? = nil, _ value: [UInt8]) -> [UInt8] {
        number(length ?? UInt16(4 + value.count)) + number(type) + padded(value)
    }

    /// Up, with a carrier.
    static let usable: UInt32 = 0x1 | 0x40

    static func link(
        _ index: Int32, flags: UInt32 = usable, hardware: UInt16 = 1, name: String = "eth0", kind: String? = nil, more: [UInt8] = []
    ) -> [UInt8] {
        var payload: [UInt8] = [0, 0] + number(hardware) + number(index) + number(flags) + number(UInt32(0))
        payload += attribute(3, Array(name.utf8) + [0])
        if let kind { payload += attribute(18 | 0x8000, attribute(1, Array(kind.utf8) + [0])) }
        return message(16, payload + more)
    }

    static func address(_ index: Int32, family: UInt8 = 2, scope: UInt8 = 0, flags: UInt8 = 0, wideFlags: UInt32? = nil) -> [UInt8] {
        message(
            20,
            [family, 24, flags, scope] + number(index) + attribute(1, [10, 0, 0, 1]) + (wideFlags.map { attribute(8, number($0)) } ?? []))
    }

    static func route(
        _ index: Int32? = 1, family: UInt8 = 2, prefix: UInt8 = 0, destination: [UInt8]? = nil, table: UInt8 = 254,
        wideTable: UInt32? = nil,
        scope: UInt8 = 0, type: UInt8 = 1, flags: UInt32 = 0, priority: UInt32? = nil, hops: [UInt8]? = nil
    ) -> [UInt8] {
        var payload: [UInt8] = [family, prefix, 0, 0, table, 3, scope, type] + number(flags)
        if let destination { payload += attribute(1, destination) }
        if let index { payload += attribute(4, number(index)) }
        if let priority { payload += attribute(6, number(priority)) }
        if let wideTable { payload += attribute(15, number(wideTable)) }
        if let hops { payload += attribute(9, hops) }
        return message(24, payload)
    }

    /// A next hop of a route with several next hops, with a gateway.
    static func hop(_ index: Int32, flags: UInt8 = 0, length: UInt16 = 16) -> [UInt8] {
        number(length) + [flags, 0] + number(index) + attribute(5, [10, 0, 0, 2])
    }
}
