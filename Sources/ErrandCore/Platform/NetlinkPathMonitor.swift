#if canImport(Glibc) || canImport(Musl)
package import Dispatch
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A monitor of the network path of a Linux machine. The monitor uses the kernel's notifications about interfaces, addresses and routes
/// ([rtnetlink](https://man7.org/linux/man-pages/man7/rtnetlink.7.html)).
///
/// ```swift
/// let monitor = SystemPathMonitor.system
/// print(monitor.currentPath)      // satisfied, wired
/// ```
///
/// An interface is usable if the interface is up and has a carrier. The path is satisfied if two conditions are met. A default route
/// leads through a usable interface, and a usable interface has an address of the route's family (IPv4 or IPv6).
///
/// The path has the interface kinds of the routes that connections use. Linux does not report the kind of a hardware device. For a device,
/// the kind comes from the hardware type and the name. Only a cellular network counts as expensive, and no network counts as constrained.
///
/// The state is read at most ten times in one second. After a quiet time, a change is reported immediately. Any other change is reported
/// within 100 ms. A change that lasts less than 100 ms may not be reported. If the kernel drops notifications, the state is read again.
///
/// The monitor belongs to the network namespace of the thread that creates the monitor. The monitor has two sockets, which are closed when
/// the monitor is released. `NetworkPathMonitor.system` is one monitor for the whole process.
///
/// If the kernel gives no information, for example in a sandbox, ``unavailableReason`` has the reason, and the path is always
/// ``NetworkPath/unknown``, which is satisfied.
public final class NetlinkPathMonitor: NetworkPathMonitor, CustomStringConvertible {
    private static let queue = DispatchQueue(label: "errand.network-path")
    fileprivate static let shared = SharedObject { NetlinkPathMonitor() }

    private let latest: CurrentValue<NetworkPath>
    /// The reason why the kernel gives no information; `nil` if the monitor works.
    public let unavailableReason: String?
    private let source: NotificationSource?

    /// Creates a separate monitor with two sockets, and reads the current path. The initializer makes a few short system calls.
    ///
    /// - Parameter requiresDefaultRoute: whether a satisfied path needs a default route. Default: `true`. If false, a route to any other
    ///   network is enough. Pass false in a data center without a route to the Internet.
    public convenience init(requiresDefaultRoute: Bool = true) {
        self.init(requiresDefaultRoute: requiresDefaultRoute, receiveBufferBytes: nil)
    }

    /// Creates a monitor with the given buffer and queue. To make the kernel drop notifications, a test passes a small buffer and suspends
    /// the queue.
    ///
    /// - Parameters:
    ///   - receiveBufferBytes: the size of the buffer for notifications; with `nil`, the system chooses the size.
    ///   - queue: the serial queue that reads notifications. Default: one queue for all monitors.
    package init(requiresDefaultRoute: Bool = true, receiveBufferBytes: Int32?, queue: DispatchQueue? = nil) {
        let latest = CurrentValue(NetworkPath.unknown)
        self.latest = latest
        do {
            let reader = try NetlinkReadings(
                requiresDefaultRoute: requiresDefaultRoute, receiveBufferBytes: receiveBufferBytes, latest: latest)
            (unavailableReason, source) = (nil, NotificationSource(reader, on: queue ?? Self.queue))
        } catch {
            (unavailableReason, source) = (error.text, nil)
        }
    }

    deinit { source?.cancel() }

    /// The current path.
    public var currentPath: NetworkPath { latest.value }

    /// The current path, or the reason why the path is not known: `network path monitor, path: satisfied, wired`.
    public var description: String {
        "network path monitor, " + (unavailableReason.map { "unavailable: \($0)" } ?? "path: \(currentPath)")
    }

    /// Returns a sequence of the current path and each later path, for one reader.
    public func paths() -> AsyncStream<NetworkPath> { latest.values() }

    /// The number of times that the state was read, for tests.
    package var readCount: Int { source?.readings.readCount ?? 0 }

    /// The number of times that the kernel has dropped notifications, for tests.
    package var overrunCount: Int { source?.readings.overrunCount ?? 0 }
}

/// The type of the monitor on this platform, for a property that stores the monitor.
public typealias SystemPathMonitor = NetlinkPathMonitor

extension NetworkPathMonitor where Self == NetlinkPathMonitor {
    /// The monitor of this machine's network path, which all users in the process share. The monitor is created at the first use, and is
    /// released when its last user is released.
    public static var system: NetlinkPathMonitor { NetlinkPathMonitor.shared.object }
}

/// A source that reads notifications while the monitor exists.
private final class NotificationSource: Sendable {
    let readings: NetlinkReadings
    private let source: Mutex<any DispatchSourceRead>

    init(_ readings: NetlinkReadings, on queue: DispatchQueue) {
        self.readings = readings
        let source = DispatchSource.makeReadSource(fileDescriptor: readings.notifications.descriptor, queue: queue)
        source.setEventHandler { readings.readNotifications(on: queue) }
        // The cancel handler holds `readings`. Therefore, the sockets stay open until the source no longer uses the sockets.
        source.setCancelHandler { readings.end() }
        source.resume()
        self.source = Mutex(source)
    }

    func cancel() { source.withLock { $0.cancel() } }
}

/// The sockets of a monitor. After the initializer, all calls run on one serial queue.
private final class NetlinkReadings: Sendable {
    private struct State: Sendable {
        var schedule = ReadSchedule(every: .milliseconds(100))
        var sequence: UInt32 = 0
        var readCount = 0
        var overrunCount = 0
        var hasEnded = false
    }

    /// The largest number of datagrams that are read before other work of the queue continues.
    private static let datagramLimit = 256
    /// The largest number of dumps for one read. If the state changes during each dump, a notification follows and causes another read.
    private static let dumpLimit = 4

    let notifications: NetlinkSocket
    private let dumps: NetlinkSocket
    private let requiresDefaultRoute: Bool
    private let latest: CurrentValue<NetworkPath>
    private let elapsed = makeStopwatch(on: ContinuousClock())
    private let state = Mutex(State())

    var readCount: Int { state.withLock(\.readCount) }
    var overrunCount: Int { state.withLock(\.overrunCount) }

    init(requiresDefaultRoute: Bool, receiveBufferBytes: Int32?, latest: CurrentValue<NetworkPath>) throws(NetlinkError) {
        (self.requiresDefaultRoute, self.latest) = (requiresDefaultRoute, latest)
        // The groups are links, and the addresses and routes of IPv4 and IPv6.
        notifications = try NetlinkSocket(groups: 0x1 | 0x10 | 0x40 | 0x100 | 0x400, blocks: false)
        if let receiveBufferBytes { notifications.setReceiveBuffer(bytes: receiveBufferBytes) }
        dumps = try NetlinkSocket(groups: 0, blocks: true)
        latest.set(try read())
    }

    func end() { state.withLock { $0.hasEnded = true } }

    /// Reads the waiting notifications. If a notification may change the path, plans a read of the state.
    func readNotifications(on queue: DispatchQueue) {
        let snapshot = NetlinkSnapshot(requiresDefaultRoute: requiresDefaultRoute)
        var isChanged = false
        for _ in 0..<Self.datagramLimit {
            let received = notifications.receive()
            guard case .octets(let octets) = received else {
                // The kernel has dropped notifications (`ENOBUFS`), or a datagram was longer than the buffer.
                guard received == .lost else { break }
                state.withLock { $0.overrunCount += 1 }
                isChanged = true
                continue
            }
            let (messages, isDamaged) = NetlinkMessage.read(octets)
            isChanged = isChanged || isDamaged || messages.contains { snapshot.isAffected(by: $0.content) }
        }
        let now = elapsed()
        guard isChanged, let wait = state.withLock({ $0.schedule.change(at: now) }) else { return }
        guard wait > .zero else { return readPath() }
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(wait.wholeNanoseconds))) { [self] in readPath() }
    }

    private func readPath() {
        let now = elapsed()
        guard
            state.withLock({ state in
                state.schedule.read(at: now)
                return !state.hasEnded
            })
        else { return }
        // If the kernel refuses the dump, for example because memory is low, the next notification causes another dump.
        if let path = try? read() { latest.set(path) }
    }

    private func read() throws(NetlinkError) -> NetworkPath {
        state.withLock { $0.readCount += 1 }
        var path = NetworkPath.unknown
        for _ in 0..<Self.dumpLimit {
            let (snapshot, isInterrupted) = try dump()
            path = snapshot.path
            if !isInterrupted { break }
        }
        return path
    }

    /// Reads all links, addresses and routes.
    private func dump() throws(NetlinkError) -> (NetlinkSnapshot, isInterrupted: Bool) {
        var snapshot = NetlinkSnapshot(requiresDefaultRoute: requiresDefaultRoute)
        var isInterrupted = false
        for type: UInt16 in [18, 22, 26] {
            let sequence = state.withLock { state in
                state.sequence &+= 1
                return state.sequence
            }
            try dumps.requestDump(type, sequence: sequence)
            var isDone = false
            while !isDone {
                let octets: [UInt8]
                switch dumps.receive() {
                case .octets(let received): octets = received
                case .lost: throw NetlinkError(operation: "read", code: ENOBUFS)
                case .nothing(let code): throw NetlinkError(operation: "read", code: code)
                }
                let (messages, isDamaged) = NetlinkMessage.read(octets)
                // The messages of an earlier dump have another number.
                for message in messages where message.sequence == sequence {
                    if case .error(let code) = message.content, code != 0 { throw NetlinkError(operation: "read", code: code) }
                    isDone = isDone || message.content == .done
                    isInterrupted = isInterrupted || message.isInterrupted
                    snapshot.add(message.content)
                }
                if isDamaged { throw NetlinkError(operation: "read", code: EBADMSG) }
            }
        }
        return (snapshot, isInterrupted)
    }
}
#endif
