internal import ErrandFormats

/// The interfaces, addresses and routes of a Linux machine at one moment, from the messages of a dump.
///
/// The path is never computed from notifications alone. If an interface goes down, or loses its last address, Linux removes the IPv4 routes
/// of the interface without a notification. If a route is replaced, Linux does not report the removal of the old route either. Therefore a
/// notification only causes another dump.
struct NetlinkSnapshot: Sendable {
    private static let ipv4: UInt8 = 2
    private static let ipv6: UInt8 = 10

    /// A route that may lead to other networks.
    private struct Exit: Hashable {
        let family: UInt8
        let priority: UInt32
        let hop: Int32?
    }

    /// Whether the path needs a default route. If false, a route to any other network is enough.
    let requiresDefaultRoute: Bool
    private var links: [Int32: NetlinkMessage.Link] = [:]
    /// The interfaces with addresses to which other networks can respond, by address family.
    private var addresses: [UInt8: Set<Int32>] = [:]
    private var exits: Set<Exit> = []

    init(requiresDefaultRoute: Bool = true) { self.requiresDefaultRoute = requiresDefaultRoute }

    /// Adds a part of a dump.
    mutating func add(_ content: NetlinkMessage.Content) {
        switch content {
        case .link(let link): links[link.index] = link
        case .address(let address) where address.reachesOtherNetworks: addresses[address.family, default: []].insert(address.index)
        case .route(let route) where isExit(route):
            for hop in route.hops { exits.insert(Exit(family: route.family, priority: route.priority, hop: hop)) }
        default: break
        }
    }

    /// Returns whether a notification with this content may change the path.
    func isAffected(by content: NetlinkMessage.Content) -> Bool {
        switch content {
        case .link, .address, .overrun: true
        case .route(let route): isCandidate(route)
        case .done, .error, .other: false
        }
    }

    private func isCandidate(_ route: NetlinkMessage.Route) -> Bool {
        guard [Self.ipv4, Self.ipv6].contains(route.family) else { return false }
        return route.prefixLength == 0 || !requiresDefaultRoute
    }

    /// Returns whether the route leads to other networks: a usable unicast route that is not in the table of the device's own addresses.
    private func isExit(_ route: NetlinkMessage.Route) -> Bool {
        guard isCandidate(route), route.type == 1, route.table != 255, route.scope < 254 else { return false }
        guard route.prefixLength > 0 else { return true }
        // Link-local and multicast destinations are on the same network.
        return route.family == Self.ipv4
            ? route.destination != 0xA9FE && route.destination < 0xE000
            : route.destination & 0xFFC0 != 0xFE80 && route.destination & 0xFF00 != 0xFF00
    }

    /// The path that connections use now.
    var path: NetworkPath {
        let usable = [Self.ipv4, Self.ipv6].flatMap { family -> [Exit] in
            guard hasAddress(family) else { return [] }
            let exits = exits.filter { $0.family == family && isUsable($0.hop) }
            // Connections use the routes with the lowest priority number.
            let best = exits.map(\.priority).min()
            return exits.filter { $0.priority == best }
        }
        guard !usable.isEmpty else { return .unsatisfied }
        return NetworkPath(isSatisfied: true, interfaces: Set(usable.compactMap(\.hop).compactMap { links[$0]?.interface }))
    }

    private func hasAddress(_ family: UInt8) -> Bool { addresses[family]?.contains { links[$0]?.isUsable == true } ?? false }

    /// Returns whether packets can leave through an interface. If the route does not name its interface, any usable interface is
    /// enough.
    private func isUsable(_ hop: Int32?) -> Bool {
        guard let hop else { return links.values.contains(where: \.isUsable) }
        return links[hop]?.isUsable == true
    }
}

extension NetlinkMessage.Address {
    /// Whether the scope is wider than the link, and the check for duplicate addresses has succeeded.
    fileprivate var reachesOtherNetworks: Bool { scope < 253 && flags & (0x40 | 0x08) == 0 }
}

extension NetlinkMessage.Link {
    /// Whether the interface is up and has a carrier (`IFF_UP`, `IFF_RUNNING`), and is not the loopback interface (`IFF_LOOPBACK`).
    fileprivate var isUsable: Bool { flags & 0x49 == 0x41 }

    /// The kind of the interface. Linux does not report the kind of a hardware device. For a device, the kind comes from the hardware type,
    /// and from the name that systemd or Android has given.
    var interface: NetworkPath.Interface {
        switch (hardware, kind) {  // octets: kinds of the kernel
        case (772, _): .loopback
        case (801...804, _): .wifi
        case (519, _), (_, "wwan"), (_, "rmnet"): .cellular
        case _ where name.hasOctetPrefix("wl"): .wifi
        case _ where name.hasOctetPrefix("ww") || name.hasOctetPrefix("rmnet"): .cellular
        case (1, _) where ["", "veth", "bond", "bridge", "team", "vlan", "macvlan", "ipvlan"].contains(kind): .wired
        default: .other
        }
    }
}
