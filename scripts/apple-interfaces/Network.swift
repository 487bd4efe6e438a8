// What the code of this repository uses of Apple's module `Network`, declared from memory. See scripts/check-apple.

import Dispatch

// From memory: https://developer.apple.com/documentation/network/nwinterface/interfacetype
public enum NWInterface {
    public enum InterfaceType: Sendable { case other, wifi, cellular, wiredEthernet, loopback }
}

// From memory: https://developer.apple.com/documentation/network/nwpath
public struct NWPath: Sendable {
    public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
    public let status: Status
    public let isExpensive: Bool
    public let isConstrained: Bool
    public func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool { false }
}

// From memory: https://developer.apple.com/documentation/network/nwpathmonitor. The class is declared without Sendable, so that no code relies
// on that conformance.
public final class NWPathMonitor {
    public init() {}
    public var pathUpdateHandler: (@Sendable (NWPath) -> Void)?
    public func start(queue: DispatchQueue) {}
    public func cancel() {}
}
