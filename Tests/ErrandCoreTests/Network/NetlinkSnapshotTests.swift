import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct NetlinkSnapshotTests {
    private typealias Octets = NetlinkOctets

    private static func snapshot(_ octets: [UInt8], requiresDefaultRoute: Bool = true) -> NetlinkSnapshot {
        var snapshot = NetlinkSnapshot(requiresDefaultRoute: requiresDefaultRoute)
        for message in NetlinkMessage.read(octets).messages { snapshot.add(message.content) }
        return snapshot
    }

    private static let wired = Octets.link(1) + Octets.address(1)

    static let rows: [(String, [UInt8], NetworkPath)] = [
        ("a default route over a cable", wired + Octets.route(1), .wired),
        ("no route", wired, .unsatisfied),
        ("no address", Octets.link(1) + Octets.route(1), .unsatisfied),
        ("no link", Octets.address(1) + Octets.route(1), .unsatisfied),
        ("a link that is down", Octets.link(1, flags: 0) + Octets.address(1) + Octets.route(1), .unsatisfied),
        ("a link without a carrier", Octets.link(1, flags: 0x1) + Octets.address(1) + Octets.route(1), .unsatisfied),
        ("the loopback interface", Octets.link(1, flags: 0x49, hardware: 772) + Octets.address(1) + Octets.route(1), .unsatisfied),
        ("an address of the link", Octets.link(1) + Octets.address(1, scope: 253) + Octets.route(1), .unsatisfied),
        ("an address of the other family", Octets.link(1) + Octets.address(1, family: 10) + Octets.route(1), .unsatisfied),
        ("an IPv6 network", Octets.link(1) + Octets.address(1, family: 10) + Octets.route(1, family: 10), .wired),
        (
            "an IPv6 address that is checked for duplicates",
            Octets.link(1) + Octets.address(1, family: 10, wideFlags: 0x40) + Octets.route(1, family: 10), .unsatisfied
        ),
        (
            "a duplicate IPv6 address", Octets.link(1) + Octets.address(1, family: 10, flags: 0x08) + Octets.route(1, family: 10),
            .unsatisfied
        ),
        ("a route of another family", wired + Octets.route(1, family: 7), .unsatisfied),
        ("an unreachable default route", wired + Octets.route(1, type: 7), .unsatisfied),
        ("a default route of the machine itself", wired + Octets.route(1, table: 255), .unsatisfied),
        ("a route to one network", wired + Octets.route(1, prefix: 8, destination: [10]), .unsatisfied),
        ("a route without an interface", wired + Octets.route(nil), .unknown),
        ("an address of another interface", wired + Octets.link(2, name: "wlan0") + Octets.route(2), .wifi),
        (
            "the route with the lowest priority number",
            wired + Octets.link(2, name: "wwan0") + Octets.route(2, priority: 700) + Octets.route(1, priority: 600), .wired
        ),
        (
            "a better route over a link that is down",
            Octets.link(1, flags: 0) + Octets.link(2, name: "wwan0") + Octets.address(2) + Octets.route(1, priority: 1)
                + Octets.route(2, priority: 700), .cellular
        ),
        (
            "two hops", wired + Octets.link(2, name: "wlp3s0") + Octets.route(nil, hops: Octets.hop(1) + Octets.hop(2)),
            NetworkPath(isSatisfied: true, interfaces: [.wired, .wifi])
        ),
        (
            "the tunnel of a VPN in a table of its own",
            wired + Octets.link(3, hardware: 65_534, name: "wg0", kind: "wireguard") + Octets.address(3)
                + Octets.route(3, wideTable: 51_820), NetworkPath(isSatisfied: true, interfaces: [.other])
        ),
    ]

    @Test(arguments: rows.indices) func thePathFollowsFromADump(_ index: Int) {
        let (name, octets, path) = Self.rows[index]
        #expect(Self.snapshot(octets).path == path, "\(name)")
    }

    static let anyRoute: [(String, [UInt8], Bool)] = [
        ("a route to one network", Octets.route(1, prefix: 8, destination: [10]), true),
        ("a route to one network of IPv4 alone", Octets.route(1, family: 10, prefix: 64, destination: [0x20, 0x01]), false),
        ("a route to this machine", Octets.route(1, prefix: 32, destination: [10, 0, 0, 1], scope: 254), false),
        ("a route to link-local addresses", Octets.route(1, prefix: 16, destination: [169, 254]), false),
        ("a route to multicast addresses", Octets.route(1, prefix: 4, destination: [224]), false),
    ]

    @Test(arguments: anyRoute.indices) func aRouteToAnyNetworkIsEnoughIfNoDefaultRouteIsRequired(_ index: Int) {
        let (name, octets, isSatisfied) = Self.anyRoute[index]
        #expect(Self.snapshot(Self.wired + octets, requiresDefaultRoute: false).path.isSatisfied == isSatisfied, "\(name)")
        #expect(!Self.snapshot(Self.wired + octets).path.isSatisfied, "\(name)")
    }

    @Test(arguments: [([UInt8(0xFE), 0x80], false), ([0xFF, 0x02], false), ([0x20, 0x01], true)])
    func linkLocalAndMulticastNetworksOfIPv6AreNoOtherNetworks(_ destination: [UInt8], _ isSatisfied: Bool) {
        let octets = Octets.link(1) + Octets.address(1, family: 10) + Octets.route(1, family: 10, prefix: 64, destination: destination)
        #expect(Self.snapshot(octets, requiresDefaultRoute: false).path.isSatisfied == isSatisfied)
    }

    static let kinds: [(UInt16, String, String?, NetworkPath.Interface)] = [
        (1, "eth0", nil, .wired), (1, "enp3s0", nil, .wired), (1, "eth0", "veth", .wired), (1, "wlan0", nil, .wifi),
        (1, "wlp2s0", nil, .wifi), (801, "mon0", nil, .wifi), (1, "wwan0", nil, .cellular), (519, "rmnet_data0", nil, .cellular),
        (65_534, "modem", "wwan", .cellular), (65_534, "tun0", "tun", .other), (512, "ppp0", nil, .other), (1, "tap0", "tun", .other),
        (772, "lo", nil, .loopback),
    ]

    @Test(arguments: kinds.indices) func anInterfaceHasAKind(_ index: Int) {
        let (hardware, name, kind, expected) = Self.kinds[index]
        #expect(NetlinkMessage.Link(index: 1, hardware: hardware, flags: 0, name: name, kind: kind ?? "").interface == expected)
    }

    @Test func onlySomeNotificationsAffectThePath() {
        func isAffected(_ octets: [UInt8], requiresDefaultRoute: Bool = true) -> Bool {
            let snapshot = NetlinkSnapshot(requiresDefaultRoute: requiresDefaultRoute)
            return NetlinkMessage.read(octets).messages.allSatisfy { snapshot.isAffected(by: $0.content) }
        }
        for octets in [Octets.link(1), Octets.address(1), Octets.route(1), Octets.message(4, [])] { #expect(isAffected(octets)) }
        let other = Octets.route(1, prefix: 8, destination: [10])
        #expect(!isAffected(other) && isAffected(other, requiresDefaultRoute: false))
        for octets in [Octets.route(1, family: 7), Octets.message(3, []), Octets.message(2, [0, 0, 0, 0]), Octets.message(99, [])] {
            #expect(!isAffected(octets))
        }
    }
}
