/// A message of Linux about its network interfaces, addresses and routes (the netlink family `NETLINK_ROUTE`). The type has only the parts
/// that can change a network path.
///
/// The header files `linux/netlink.h`, `linux/rtnetlink.h`, `linux/if_link.h` and `linux/if_addr.h` define the numbers. Integers have the
/// byte order of the processor.
struct NetlinkMessage: Sendable, Hashable {
    /// An interface.
    struct Link: Sendable, Hashable {
        var index: Int32
        /// The type of the hardware, such as 1 for Ethernet.
        var hardware: UInt16
        var flags: UInt32
        var name = ""
        /// The kind of a virtual interface, such as `veth`; empty for a hardware device.
        var kind = ""
    }

    /// An address of an interface.
    struct Address: Sendable, Hashable {
        var family: UInt8
        var scope: UInt8
        /// The flags of the state of the address. For example, an IPv6 address has a flag while the kernel checks for duplicates.
        var flags: UInt32
        var index: Int32
    }

    /// A route.
    struct Route: Sendable, Hashable {
        var family: UInt8
        /// The length of the prefix of the destinations, in bits: 0 for a default route.
        var prefixLength: UInt8
        /// The first two octets of the prefix of the destinations: 0 for a default route.
        var destination: UInt16 = 0
        var table: UInt32
        var scope: UInt8
        var type: UInt8
        var priority: UInt32 = 0
        /// The usable next hops. Each hop is the number of an interface, or `nil` if the message does not name the interface.
        var hops: [Int32?] = []
    }

    enum Content: Sendable, Hashable {
        case link(Link)
        case address(Address)
        case route(Route)
        /// The end of a dump.
        case done
        /// The kernel's response to a request: an error number (`errno`). The number 0 confirms the request.
        case error(Int32)
        /// The kernel has dropped messages.
        case overrun
        /// A message that does not concern the network path.
        case other
    }

    var content: Content
    /// The number of the request that this message responds to; 0 for a notification.
    var sequence: UInt32
    /// Whether the state has changed during the dump, so that the dump may be inconsistent.
    var isInterrupted = false

    /// Reads all messages of a datagram.
    ///
    /// - Returns: the readable messages, and whether the datagram is damaged. If a message is damaged, no later message is read.
    static func read(_ octets: some Collection<UInt8>) -> (messages: [NetlinkMessage], isDamaged: Bool) {
        var reader = NetlinkReader(octets)
        var messages: [NetlinkMessage] = []
        while !reader.isAtEnd {
            guard let message = NetlinkMessage(&reader) else { return (messages, true) }
            messages.append(message)
        }
        return (messages, false)
    }
}

extension NetlinkMessage {
    private init?(_ reader: inout NetlinkReader) {
        guard let length = reader.uint32(), let type = reader.uint16(), let flags = reader.uint16(), let sequence = reader.uint32(),
            reader.skip(4),  // the port of the sender
            length >= 16, var payload = reader.take(Int(clamping: length) - 16), let content = Content(type, &payload)
        else { return nil }
        (self.content, self.sequence, isInterrupted) = (content, sequence, flags & 0x10 != 0)
    }
}

extension NetlinkMessage.Content {
    /// - Returns: `nil` if the message is damaged.
    fileprivate init?(_ type: UInt16, _ payload: inout NetlinkReader) {
        switch type {
        case 2:
            guard let code = payload.uint32() else { return nil }
            // The kernel sends the negative error number.
            self = .error(0 &- Int32(bitPattern: code))
        case 3: self = .done
        case 4: self = .overrun
        case 16, 17:
            guard let link = NetlinkMessage.Link(&payload) else { return nil }
            self = .link(link)
        case 20, 21:
            guard let address = NetlinkMessage.Address(&payload) else { return nil }
            self = .address(address)
        case 24, 25:
            guard let route = NetlinkMessage.Route(&payload) else { return nil }
            self = .route(route)
        default: self = .other
        }
    }
}

extension NetlinkMessage.Link {
    fileprivate init?(_ payload: inout NetlinkReader) {
        guard payload.skip(2), let hardware = payload.uint16(), let index = payload.uint32(), let flags = payload.uint32(), payload.skip(4)
        else { return nil }
        (self.index, self.hardware, self.flags) = (Int32(bitPattern: index), hardware, flags)
        while !payload.isAtEnd {
            guard var attribute = payload.attribute() else { return nil }
            switch attribute.type {
            case 3: name = attribute.value.text()
            case 18:
                while !attribute.value.isAtEnd {
                    guard var nested = attribute.value.attribute() else { return nil }
                    if nested.type == 1 { kind = nested.value.text() }
                }
            default: break
            }
        }
    }
}

extension NetlinkMessage.Address {
    fileprivate init?(_ payload: inout NetlinkReader) {
        guard let family = payload.uint8(), payload.skip(1), let flags = payload.uint8(), let scope = payload.uint8(),
            let index = payload.uint32()
        else { return nil }
        (self.family, self.scope, self.flags, self.index) = (family, scope, UInt32(flags), Int32(bitPattern: index))
        while !payload.isAtEnd {
            guard var attribute = payload.attribute() else { return nil }
            // The flags of 32 bits replace the flags of 8 bits.
            if attribute.type == 8 {
                guard let flags = attribute.value.uint32() else { return nil }
                self.flags = flags
            }
        }
    }
}

extension NetlinkMessage.Route {
    /// The flags of unusable next hops: the interface is gone, or has no carrier.
    private static let unusable: UInt32 = 0x1 | 0x10

    fileprivate init?(_ payload: inout NetlinkReader) {
        guard let family = payload.uint8(), let prefixLength = payload.uint8(), payload.skip(2), let table = payload.uint8(),
            payload.skip(1), let scope = payload.uint8(), let type = payload.uint8(), let flags = payload.uint32()
        else { return nil }
        (self.family, self.prefixLength, self.table, self.scope, self.type) = (family, prefixLength, UInt32(table), scope, type)
        var index: Int32?
        var several: [Int32?]?
        while !payload.isAtEnd {
            guard var attribute = payload.attribute() else { return nil }
            switch attribute.type {
            case 1:
                guard let octet = attribute.value.uint8() else { return nil }
                destination = UInt16(octet) << 8 | UInt16(attribute.value.uint8() ?? 0)
            case 4:
                guard let number = attribute.value.uint32() else { return nil }
                index = Int32(bitPattern: number)
            case 6:
                guard let number = attribute.value.uint32() else { return nil }
                priority = number
            case 9:
                guard let hops = Self.hops(&attribute.value) else { return nil }
                several = hops
            case 15:
                guard let number = attribute.value.uint32() else { return nil }
                self.table = number
            default: break
            }
        }
        hops = several ?? (flags & Self.unusable == 0 ? [index] : [])
    }

    /// Reads the next hops of a route with several next hops. Only usable next hops are returned.
    private static func hops(_ reader: inout NetlinkReader) -> [Int32?]? {
        var hops: [Int32?] = []
        while !reader.isAtEnd {
            guard let length = reader.uint16(), let flags = reader.uint8(), reader.skip(1), let index = reader.uint32(),
                length >= 8, reader.take(Int(length) - 8) != nil
            else { return nil }
            if UInt32(flags) & unusable == 0 { hops.append(Int32(bitPattern: index)) }
        }
        return hops
    }
}

/// A reader of the values of a netlink message, in order. No read goes beyond the end of the message.
private struct NetlinkReader {
    private var octets: ArraySlice<UInt8>

    init(_ octets: some Collection<UInt8>) { self.octets = Array(octets)[...] }
    private init(slice: ArraySlice<UInt8>) { octets = slice }

    /// Whether all octets were read. Messages and attributes begin at multiples of 4 octets. ``take(_:)`` also drops the padding after a
    /// value.
    var isAtEnd: Bool { octets.isEmpty }

    mutating func uint8() -> UInt8? { octets.popFirst() }

    mutating func uint16() -> UInt16? { integer(of: UInt16.self) }

    mutating func uint32() -> UInt32? { integer(of: UInt32.self) }

    private mutating func integer<Value: FixedWidthInteger>(of type: Value.Type) -> Value? {
        let size = MemoryLayout<Value>.size
        guard octets.count >= size else { return nil }
        defer { octets = octets.dropFirst(size) }
        return octets.withUnsafeBytes { $0.loadUnaligned(as: Value.self) }
    }

    mutating func skip(_ count: Int) -> Bool {
        guard octets.count >= count else { return false }
        octets = octets.dropFirst(count)
        return true
    }

    /// Removes and returns the next `count` octets, and drops the padding up to the next multiple of 4. `nil` if there are fewer octets.
    mutating func take(_ count: Int) -> NetlinkReader? {
        guard count >= 0, octets.count >= count else { return nil }
        defer { octets = octets.dropFirst((count + 3) & ~3) }
        return NetlinkReader(slice: octets.prefix(count))
    }

    mutating func attribute() -> (type: UInt16, value: NetlinkReader)? {
        guard let length = uint16(), let type = uint16(), length >= 4, let value = take(Int(length) - 4) else { return nil }
        // The two upper bits are flags: the value has nested attributes, and the value is in network byte order.
        return (type & 0x3FFF, value)
    }

    /// Returns the text up to the first NUL.
    mutating func text() -> String {
        defer { octets = [] }
        return String(decoding: octets.prefix { $0 != 0 }, as: UTF8.self)
    }
}
