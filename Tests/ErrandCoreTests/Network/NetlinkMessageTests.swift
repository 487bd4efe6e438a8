import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct NetlinkMessageTests {
    private typealias Octets = NetlinkOctets

    private func contents(_ octets: [UInt8]) -> [NetlinkMessage.Content] { NetlinkMessage.read(octets).messages.map(\.content) }

    @Test func aDatagramHasSeveralMessages() {
        let read = NetlinkMessage.read(
            Octets.link(7, name: "wlan0", kind: "veth") + Octets.address(7, wideFlags: 0x80)
                + Octets.message(3, flags: 0x10, sequence: 9, [0, 0, 0, 0]))
        #expect(!read.isDamaged && read.messages.count == 3)
        #expect(
            read.messages.map(\.content) == [
                .link(.init(index: 7, hardware: 1, flags: 0x41, name: "wlan0", kind: "veth")),
                .address(.init(family: 2, scope: 0, flags: 0x80, index: 7)), .done,
            ])
        #expect(read.messages.last?.sequence == 9 && read.messages.map(\.isInterrupted) == [false, false, true])
    }

    @Test func aRouteHasItsTableItsPriorityAndItsHops() {
        let octets =
            Octets.route(3, prefix: 16, destination: [192, 168], wideTable: 51_820, priority: 600)
            + Octets.route(nil, hops: Octets.hop(4) + Octets.hop(5, flags: 0x10) + Octets.hop(6))
        #expect(
            contents(octets) == [
                .route(
                    .init(
                        family: 2, prefixLength: 16, destination: 0xC0A8, table: 51_820, scope: 0, type: 1, priority: 600, hops: [3])),
                .route(.init(family: 2, prefixLength: 0, table: 254, scope: 0, type: 1, hops: [4, 6])),
            ])
    }

    @Test(arguments: [UInt32(0x1), 0x10]) func aDeadRouteHasNoHop(_ flags: UInt32) {
        #expect(contents(Octets.route(3, flags: flags)) == [.route(.init(family: 2, prefixLength: 0, table: 254, scope: 0, type: 1))])
    }

    @Test func theKernelReportsErrorsAndOverruns() {
        #expect(contents(Octets.message(2, Octets.number(Int32(-105)) + Array(repeating: 0, count: 16))) == [.error(105)])
        #expect(contents(Octets.message(2, Octets.number(Int32.min))) == [.error(.min)])
        #expect(contents(Octets.message(4, [])) == [.overrun])
        #expect(contents(Octets.message(99, [1, 2, 3])) == [.other])
    }

    static let damaged: [(String, [UInt8])] = [
        ("a header that ends too early", Array(NetlinkOctets.link(1).prefix(15))),
        ("a message that ends too early", Array(NetlinkOctets.link(1).dropLast(4))),
        ("a length of zero", NetlinkOctets.message(16, length: 0, [])),
        ("a length within the header", NetlinkOctets.message(16, length: 15, [])),
        ("the largest length", NetlinkOctets.message(16, length: .max, [1, 2, 3, 4])),
        ("a link without its header", NetlinkOctets.message(16, Array(repeating: 0, count: 15))),
        ("an address without its header", NetlinkOctets.message(20, [2, 24, 0])),
        ("a route without its header", NetlinkOctets.message(24, [2, 0, 0, 0, 254, 0, 0, 1, 0])),
        ("an error without a number", NetlinkOctets.message(2, [1, 2])),
        ("an attribute of length zero", NetlinkOctets.link(1, more: NetlinkOctets.attribute(3, length: 0, [1]))),
        ("an attribute of length 3", NetlinkOctets.link(1, more: NetlinkOctets.attribute(3, length: 3, [1]))),
        ("an attribute that is longer than its message", NetlinkOctets.link(1, more: NetlinkOctets.attribute(3, length: 9, [1]))),
        ("the longest attribute", NetlinkOctets.link(1, more: NetlinkOctets.attribute(3, length: .max, [1]))),
        ("half an attribute", NetlinkOctets.link(1, more: [4, 0])),
        (
            "a nested attribute of length zero",
            NetlinkOctets.link(1, more: NetlinkOctets.attribute(18, NetlinkOctets.attribute(1, length: 0, [1])))
        ),
        (
            "a nested attribute that is longer than its parent",
            NetlinkOctets.link(1, more: NetlinkOctets.attribute(18, NetlinkOctets.attribute(1, length: 60, [1])))
        ),
        ("a hop of length zero", NetlinkOctets.route(nil, hops: NetlinkOctets.hop(1, length: 0))),
        ("a hop that is longer than its route", NetlinkOctets.route(nil, hops: NetlinkOctets.hop(1, length: .max))),
        ("an interface of two octets", NetlinkOctets.message(24, Array(repeating: 0, count: 12) + NetlinkOctets.attribute(4, [1, 2]))),
    ]

    @Test(arguments: damaged.indices) func aDamagedMessageEndsTheReading(_ index: Int) {
        let (name, octets) = Self.damaged[index]
        let read = NetlinkMessage.read(Octets.address(1) + octets)
        #expect(read.isDamaged, "\(name)")
        #expect(read.messages.map(\.content).prefix(1) == [.address(.init(family: 2, scope: 0, flags: 0, index: 1))], "\(name)")
        #expect(read.messages.count == 1, "\(name)")
    }

    @Test func noMessageAfterADamagedMessageIsRead() {
        let read = NetlinkMessage.read(Octets.message(16, length: 0, []) + Octets.address(2))
        #expect(read.isDamaged && read.messages.isEmpty)
    }

    @Test func anEmptyDatagramHasNoMessages() { #expect(NetlinkMessage.read([]) == (messages: [], isDamaged: false)) }

    /// Every front of a dump, and every change of one octet, is read without a trap.
    @Test func hostileOctetsAreRead() {
        let whole =
            Octets.link(2, kind: "wwan") + Octets.address(2, wideFlags: 0x40)
            + Octets.route(nil, hops: Octets.hop(1) + Octets.hop(2)) + Octets.route(2, wideTable: 7)
        for count in whole.indices {
            let read = NetlinkMessage.read(whole.prefix(count))
            #expect(read.messages.count < 4)
        }
        for index in whole.indices {
            for octet in [UInt8(0), 1, 3, 4, 15, 0x7F, 0x80, 0xFF] {
                var changed = whole
                changed[index] = octet
                var snapshot = NetlinkSnapshot()
                for message in NetlinkMessage.read(changed).messages {
                    snapshot.add(message.content)
                    _ = snapshot.isAffected(by: message.content)
                }
                _ = snapshot.path
            }
        }
    }
}

private func == (
    one: (messages: [NetlinkMessage], isDamaged: Bool), other: (messages: [NetlinkMessage], isDamaged: Bool)
) -> Bool { one.messages == other.messages && one.isDamaged == other.isDamaged }
