#if canImport(Network)
internal import Dispatch
public import ErrandCore
internal import Network
internal import Synchronization

/// A monitor of the network path on Apple's platforms. The monitor uses `NWPathMonitor`.
///
/// ```swift
/// let stack = HTTPStack.default.waitForNetwork(upTo: .seconds(30), monitor: .system)
/// ```
///
/// Until the system has reported a path, the path is ``/ErrandCore/NetworkPath/unknown``, which is satisfied. If a path first needs a
/// connection, such as a VPN on demand, the path is also satisfied, because only a request opens this connection.
public final class ApplePathMonitor: NetworkPathMonitor, CustomStringConvertible {
    fileprivate static let shared = SharedObject { ApplePathMonitor() }

    private let latest: CurrentValue<NetworkPath>
    private let monitor: Mutex<NWPathMonitor>

    /// Creates a monitor that is not shared. The system reports the current path a moment later.
    public init() {
        let (latest, monitor) = (CurrentValue(NetworkPath.unknown), NWPathMonitor())
        monitor.pathUpdateHandler = { latest.set(NetworkPath($0)) }
        monitor.start(queue: DispatchQueue(label: "errand.network-path"))
        self.latest = latest
        self.monitor = Mutex(monitor)
    }

    deinit { monitor.withLock { $0.cancel() } }

    /// The current path.
    public var currentPath: NetworkPath { latest.value }

    /// The current path: `network path monitor, path: satisfied, wifi`.
    public var description: String { "network path monitor, path: \(currentPath)" }

    /// Returns a sequence for one reader: the current path, and then each new path.
    public func paths() -> AsyncStream<NetworkPath> { latest.values() }
}

/// The monitor of this platform, for a property that holds the monitor.
public typealias SystemPathMonitor = ApplePathMonitor

extension NetworkPathMonitor where Self == ApplePathMonitor {
    /// The monitor of this device's network path, which all users in the process share. The monitor is created at the first use, and is
    /// released with its last user.
    public static var system: ApplePathMonitor { ApplePathMonitor.shared.object }
}

extension NetworkPath {
    fileprivate init(_ path: NWPath) {
        let kinds: [(NWInterface.InterfaceType, Interface)] = [
            (.wifi, .wifi), (.cellular, .cellular), (.wiredEthernet, .wired), (.loopback, .loopback), (.other, .other),
        ]
        self.init(
            isSatisfied: path.status != .unsatisfied, interfaces: Set(kinds.filter { path.usesInterfaceType($0.0) }.map(\.1)),
            isExpensive: path.isExpensive, isConstrained: path.isConstrained)
    }
}
#endif
