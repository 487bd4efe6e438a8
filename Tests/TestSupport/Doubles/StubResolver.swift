package import ErrandCore

/// Returns addresses from a closure, and records the hosts that it is called with.
package final class StubResolver: HostResolver {
    package let asked = Watched([String]())
    package let discarded = Watched([String]())
    private let known: [IPAddress]?
    private let lookUp: @Sendable (String) async throws -> [IPAddress]

    /// - Parameter known: the addresses that it knows without a lookup; `nil`, the default: it knows no address.
    package init(known: [IPAddress]? = nil, _ lookUp: @escaping @Sendable (String) async throws -> [IPAddress]) {
        (self.known, self.lookUp) = (known, lookUp)
    }

    package convenience init(_ addresses: String...) { self.init { _ in try addresses.map { try IPAddress($0) } } }

    package func addresses(of host: String, port: Int) async throws -> [IPAddress] {
        asked.change { $0.append("\(host):\(port)") }
        return try await lookUp(host)
    }

    package func knownAddresses(of host: String, port: Int) -> [IPAddress]? { known }
    package func discardAddresses(of host: String, port: Int) { discarded.change { $0.append(host) } }
}
