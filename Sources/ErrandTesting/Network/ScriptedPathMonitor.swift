public import ErrandCore

/// A monitor for tests. The test sets the network path.
///
/// ```swift
/// let network = ScriptedPathMonitor(.unsatisfied)     // a phone in a tunnel
/// let gate = NetworkGate(network)
/// async let response = stub.waitForNetwork(upTo: .seconds(30), at: gate).send(request)
/// for await count in gate.waitingCounts() where count == 1 { break }
/// network.change(to: .cellular)                       // the call continues
/// ```
public final class ScriptedPathMonitor: NetworkPathMonitor, CustomStringConvertible {
    private let latest: CurrentValue<NetworkPath>

    /// Creates a monitor.
    ///
    /// - Parameter path: the path at the start. Default: a satisfied path over Wi-Fi.
    public init(_ path: NetworkPath = .wifi) { latest = CurrentValue(path) }

    /// The current path.
    public var currentPath: NetworkPath { latest.value }

    /// The current path: `network path monitor, path: satisfied, wifi`.
    public var description: String { "network path monitor, path: \(currentPath)" }

    /// Returns a sequence for one reader: the current path, and then each new path.
    public func paths() -> AsyncStream<NetworkPath> { latest.values() }

    /// Changes the path. If the new path is different, each reader of ``paths()`` gets the new path.
    public func change(to path: NetworkPath) { latest.set(path) }

    /// The number of sequences of ``paths()`` that are in use. After all calls have ended, the number is zero.
    public var readerCount: Int { latest.readerCount }
}
