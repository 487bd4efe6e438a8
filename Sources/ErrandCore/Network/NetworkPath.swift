/// The network for new connections of this device, at one moment.
///
/// ```swift
/// let quality = monitor.currentPath.isConstrained || monitor.currentPath.isExpensive ? "small" : "large"
/// ```
///
/// A satisfied path means that the device has a route to other networks. The server may still be unreachable, for example in a network that
/// asks for a sign-in. Therefore no layer of this library fails a request because of a path.
public struct NetworkPath: Sendable, Hashable, CustomStringConvertible {
    /// A kind of network interface. Your own monitor may add kinds.
    public struct Interface: Sendable, Hashable, CustomStringConvertible {
        /// The name, such as `wifi`.
        public let description: String

        /// Creates a kind.
        ///
        /// - Parameter description: the name.
        public init(_ description: String) { self.description = description }

        /// A wireless local network.
        public static let wifi = Interface("wifi")
        /// A network of a mobile operator.
        public static let cellular = Interface("cellular")
        /// A cable, or the virtual Ethernet interface of a container.
        public static let wired = Interface("wired")
        /// The loopback interface.
        public static let loopback = Interface("loopback")
        /// Any other kind, such as the tunnel of a VPN.
        public static let other = Interface("other")
    }

    /// Whether the device has a route to other networks.
    ///
    /// The property is also true if the system may open a route when a connection begins, or if the system gives no information.
    public let isSatisfied: Bool
    /// The kinds of the interfaces that new connections use; empty if the path is not satisfied, or if the kinds are not known.
    public let interfaces: Set<Interface>
    /// Whether the network is expensive, such as a cellular network or a personal hotspot. False if the path is not satisfied.
    public let isExpensive: Bool
    /// Whether the user asks apps to use less data. False if the path is not satisfied, and always false on Linux.
    public let isConstrained: Bool

    /// Whether new connections use a cellular network.
    public var usesCellular: Bool { interfaces.contains(.cellular) }

    /// Creates a path. If the path is not satisfied, there is no network: the other parameters have no effect, and the new path equals
    /// ``unsatisfied``.
    ///
    /// - Parameters:
    ///   - isSatisfied: whether the device has a route to other networks.
    ///   - interfaces: the kinds of the interfaces that new connections use. Default: no kinds.
    ///   - isExpensive: whether the network is expensive. With `nil`, the default, only a cellular network is expensive.
    ///   - isConstrained: whether the user asks apps to use less data. Default: `false`.
    public init(isSatisfied: Bool, interfaces: Set<Interface> = [], isExpensive: Bool? = nil, isConstrained: Bool = false) {
        self.isSatisfied = isSatisfied
        self.interfaces = isSatisfied ? interfaces : []
        self.isExpensive = isSatisfied && (isExpensive ?? interfaces.contains(.cellular))
        self.isConstrained = isSatisfied && isConstrained
    }

    /// A path without a route to other networks.
    public static let unsatisfied = NetworkPath(isSatisfied: false)
    /// The path of a system that gives no information: satisfied, over unknown interfaces.
    public static let unknown = NetworkPath(isSatisfied: true)
    /// A satisfied path over Wi-Fi.
    public static let wifi = NetworkPath(isSatisfied: true, interfaces: [.wifi])
    /// A satisfied path over a cellular network, which is expensive.
    public static let cellular = NetworkPath(isSatisfied: true, interfaces: [.cellular])
    /// A satisfied path over a cable.
    public static let wired = NetworkPath(isSatisfied: true, interfaces: [.wired])

    /// The path in words: `satisfied, cellular, expensive`.
    public var description: String {
        let traits = [(isExpensive, "expensive"), (isConstrained, "constrained")].filter(\.0).map(\.1)
        return ([isSatisfied ? "satisfied" : "unsatisfied"] + interfaces.map(\.description).sorted() + traits).joined(separator: ", ")
    }
}
