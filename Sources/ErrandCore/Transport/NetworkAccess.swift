/// The kinds of networks that a request may use: see ``RequestOptions/networkAccess``.
///
/// ```swift
/// request.options.networkAccess = .all.subtracting([.cellular, .constrained])
/// ```
///
/// Networks of all other kinds, such as the Wi-Fi at home, are always allowed.
public struct NetworkAccess: OptionSet, Sendable, Hashable, CustomStringConvertible {
    /// The kinds as bits.
    public let rawValue: UInt8
    /// Creates a set from bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The request may use a cellular network.
    public static let cellular = NetworkAccess(rawValue: 1 << 0)
    /// The request may use a network that the system calls expensive, such as a personal hotspot.
    public static let expensive = NetworkAccess(rawValue: 1 << 1)
    /// The request may use a network in Low Data Mode, which the system calls constrained.
    public static let constrained = NetworkAccess(rawValue: 1 << 2)
    /// The request may use every network.
    public static let all: NetworkAccess = [.cellular, .expensive, .constrained]

    private static let names: [(NetworkAccess, String)] = [
        (.cellular, "cellular"), (.expensive, "expensive"), (.constrained, "constrained"),
    ]

    /// The names of the allowed kinds, in a fixed order. An empty set is described as `none`.
    public var description: String {
        let names = Self.names.filter { contains($0.0) }.map(\.1)
        return names.isEmpty ? "none" : names.joined(separator: ", ")
    }
}

private enum NetworkAccessKey: CrossOriginOptionKey {
    static var defaultValue: NetworkAccess { .all }
    static var requiredCapabilities: TransportCapabilities { .networkAccess }
}

private enum WaitsForConnectivityKey: CrossOriginOptionKey {
    static var defaultValue: Bool { false }
    static var requiredCapabilities: TransportCapabilities { .waitsForConnectivity }
}

extension RequestOptions {
    /// The kinds of networks that this request may use; ``NetworkAccess/all`` by default.
    ///
    /// If only forbidden networks are available, the request fails with the code ``TransportError/Code/blockedByPolicy``. Nothing is sent.
    /// Any value except `all` requires a transport with the capability ``TransportCapabilities/networkAccess``. `coalesce` compares the
    /// values: requests with different values never share an exchange.
    public var networkAccess: NetworkAccess {
        get { self[NetworkAccessKey.self] }
        set { self[NetworkAccessKey.self] = newValue }
    }

    /// Whether the request waits for a network inside the transport if the device is offline, instead of failing; false by default.
    ///
    /// The wait ends at the deadline of the request. Set a ``timeout``: without a deadline, the transport decides how long a request waits.
    /// `true` requires a transport with the capability ``TransportCapabilities/waitsForConnectivity``. If the connection is lost later, the
    /// request fails, as it does without this option.
    ///
    /// If possible, use the layer `waitForNetwork`, which works with every transport, has a limit, and shows the waiting calls. Use this
    /// option only if the transport must decide when a network is usable.
    ///
    /// If the deadline passes during the wait, the request fails with the number ``FailureNumber/networkTimedOut``, and `isOffline` is
    /// true.
    public var waitsForConnectivity: Bool {
        get { self[WaitsForConnectivityKey.self] }
        set { self[WaitsForConnectivityKey.self] = newValue }
    }
}
