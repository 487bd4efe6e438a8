/// An observer of the network path of this device.
///
/// ```swift
/// for await path in monitor.paths() {
///     showBanner(path.isSatisfied ? nil : "This device is offline.")
/// }
/// ```
///
/// Where a monitor is expected, write `.system`: the monitor of the platform, which all users in the process share. The monitor uses
/// netlink on Linux, and `NWPathMonitor` on Apple's platforms. For tests, write a monitor whose paths the test sets.
public protocol NetworkPathMonitor: Sendable {
    /// The current path. The property must be quick and must not block, because layers read the path for each call.
    var currentPath: NetworkPath { get }

    /// Returns a sequence of the current path and each later path.
    ///
    /// A slow reader gets only the newest path. Each call of this function returns a new sequence, for one reader. The sequence ends
    /// if the reader's task is cancelled, or if the monitor can report no more paths.
    func paths() -> AsyncStream<NetworkPath>
}
