#if canImport(Glibc) || canImport(Musl)
import Dispatch
import TestSupport
import Testing

@testable import ErrandCore

/// The monitor over two joined interfaces (veth) of a network namespace.
@Suite(
    .serialized, .timeLimit(.minutes(5)), .enabled(if: NetworkNamespace.missing == nil, Comment(rawValue: NetworkNamespace.missing ?? "")))
struct NetlinkPathMonitorTests {
    private static let up = "ip link set v1 up && ip link set v0 up"
    private static let address = "ip address add 10.9.0.1/24 dev v0"
    private static let route = "ip route add default via 10.9.0.2"

    private let namespace: NetworkNamespace

    init() throws { namespace = try NetworkNamespace() }

    private func monitor(
        requiresDefaultRoute: Bool = true, receiveBufferBytes: Int32? = nil, queue: DispatchQueue? = nil
    ) throws -> NetlinkPathMonitor {
        let monitor = try namespace.within {
            NetlinkPathMonitor(requiresDefaultRoute: requiresDefaultRoute, receiveBufferBytes: receiveBufferBytes, queue: queue)
        }
        #expect(monitor.unavailableReason == nil)
        return monitor
    }

    /// Runs commands, and checks the path after them.
    private func after(_ commands: String, on monitor: NetlinkPathMonitor, _ path: NetworkPath) async throws {
        try namespace.run(commands)
        await eventually { monitor.currentPath == path }
        #expect(monitor.currentPath == path, "\(commands)")
    }

    @Test func thePathFollowsTheLinkTheAddressAndTheRoute() async throws {
        let monitor = try monitor()
        #expect(monitor.currentPath == .unsatisfied)
        try await after("\(Self.up) && \(Self.address) && \(Self.route)", on: monitor, .wired)
        try await after("ip route del default", on: monitor, .unsatisfied)
        try await after(Self.route, on: monitor, .wired)
        // The other end loses its power: no carrier.
        try await after("ip link set v1 down", on: monitor, .unsatisfied)
        try await after("ip link set v1 up", on: monitor, .wired)
        // Linux removes the route of the interface, without a notification.
        try await after("ip link set v0 down", on: monitor, .unsatisfied)
        try namespace.run("ip link set v0 up")
        try await after(Self.route, on: monitor, .wired)
        try await after("ip address del 10.9.0.1/24 dev v0", on: monitor, .unsatisfied)
        try await after("\(Self.address) && \(Self.route)", on: monitor, .wired)
    }

    @Test func aRouteOfALostLinkIsNotBelieved() async throws {
        let monitor = try monitor()
        try await after("\(Self.up) && \(Self.address) && \(Self.route)", on: monitor, .wired)
        let before = monitor.readCount
        try namespace.run("ip link set v0 down && ip link set v0 up")
        await eventually { monitor.readCount > before && monitor.currentPath == .unsatisfied }
        #expect(monitor.currentPath == .unsatisfied, "the link is up again, and has no route")
    }

    @Test func ipv6IsEnough() async throws {
        let monitor = try monitor()
        try await after(
            "\(Self.up) && ip -6 address add fd00::1/64 dev v0 nodad && ip -6 route add default via fd00::2", on: monitor, .wired)
        try await after("ip -6 address flush dev v0 scope global", on: monitor, .unsatisfied)
    }

    @Test func aRouteToOneNetworkIsEnoughByOption() async throws {
        let (standard, lenient) = (try monitor(), try monitor(requiresDefaultRoute: false))
        try await after("\(Self.up) && \(Self.address) && ip route add 10.0.0.0/8 via 10.9.0.2", on: lenient, .wired)
        #expect(standard.currentPath == .unsatisfied)
    }

    @Test func aReaderGetsEachLastingChange() async throws {
        let monitor = try monitor()
        var paths = monitor.paths().makeAsyncIterator()
        #expect(await paths.next() == .unsatisfied)
        try namespace.run("\(Self.up) && \(Self.address) && \(Self.route)")
        #expect(await paths.next() == .wired)
        try namespace.run("ip link set v1 down")
        #expect(await paths.next() == .unsatisfied)
    }

    @Test func twoHundredFlapsAreReadAtMostTenTimesInOneSecond() async throws {
        let monitor = try monitor()
        try await after("\(Self.up) && \(Self.address) && \(Self.route)", on: monitor, .wired)
        let (before, elapsed) = (monitor.readCount, makeStopwatch(on: ContinuousClock()))
        try await after("for i in $(seq 200); do ip link set v1 down; ip link set v1 up; done", on: monitor, .wired)
        // A dump that a change interrupts is made again, at most three times.
        let reads = monitor.readCount - before
        #expect(Double(reads) <= elapsed() / .milliseconds(100) + 2, "\(reads) reads in \(elapsed())")
        try await after("ip link set v1 down", on: monitor, .unsatisfied)
    }

    @Test func droppedNotificationsCauseAnotherDump() async throws {
        // Without addresses of IPv6, no notification follows later.
        let setup = "ip link set v0 addrgenmode none && ip link set v1 addrgenmode none && \(Self.up) && \(Self.address) && \(Self.route)"
        try await after(setup, on: try self.monitor(), .wired)
        let queue = DispatchQueue(label: "errand.tests.network-path")
        let monitor: NetlinkPathMonitor
        do {
            queue.suspend()
            defer { queue.resume() }
            monitor = try self.monitor(receiveBufferBytes: 1, queue: queue)
            #expect(monitor.currentPath == .wired)
            // The first routes fill the buffer, and do not change the path. The kernel drops the only notification that changes the path.
            try namespace.run("for i in $(seq 20); do ip route add 10.1.$i.0/24 via 10.9.0.2; done && ip route del default")
        }
        await eventually { monitor.currentPath == .unsatisfied }
        #expect(monitor.currentPath == .unsatisfied && monitor.overrunCount > 0)
    }

    @Test func theSocketsOfAReleasedMonitorAreClosed() async throws {
        var monitor: NetlinkPathMonitor? = try monitor()
        let paths = monitor?.paths()
        monitor = nil
        // The object that has the sockets also has the readers. Both are released when the monitor is released.
        var seen: [NetworkPath] = []
        if let paths { for await path in paths { seen.append(path) } }
        #expect(seen == [.unsatisfied], "the sequence has ended")
    }
}

@Suite(.timeLimit(.minutes(5))) struct SystemPathMonitorTests {
    private func taking(_ monitor: some NetworkPathMonitor) -> any NetworkPathMonitor { monitor }

    @Test func theMonitorOfTheSystemIsShared() {
        let first = SystemPathMonitor.system
        #expect(taking(.system) as? SystemPathMonitor === first)
        #expect(NetlinkPathMonitor() !== first, "an initializer makes another monitor")
    }
}
#endif
