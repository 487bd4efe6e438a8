/// An observer of the network path of this device.
///
/// ```swift
/// for await path in monitor.paths() {
///     showBanner(path.isSatisfied ? nil : "This device is offline.")
/// }
/// ```
///
/// The monitor of the system is `NetlinkPathMonitor` on Linux, and `ApplePathMonitor` of the module `ErrandURLSession` on Apple's
/// platforms. Where a monitor is expected, write `.system`: a new monitor of the platform. For tests, `ErrandTesting` has
/// `ScriptedPathMonitor`.
public protocol NetworkPathMonitor: Sendable {
    /// The current path. The property must be quick and must not block, because layers read the path for each call.
    var current: NetworkPath { get }

    /// Returns a sequence of the current path and each later path.
    ///
    /// A slow reader gets only the newest path. Each call of this function returns a new sequence, for one reader. The sequence ends
    /// if the reader's task is cancelled, or if the monitor can report no more paths.
    func paths() -> AsyncStream<NetworkPath>
}
