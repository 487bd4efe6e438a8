#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore
internal import NIOPosix

/// A resolver that gives SwiftNIO the known addresses of a host. SwiftNIO tries to connect to these addresses (Happy Eyeballs, RFC 8305).
///
/// SwiftNIO always begins with IPv6. This resolver begins with the first address, whether IPv6 or IPv4 ([RFC 8305, section
/// 4](https://www.rfc-editor.org/rfc/rfc8305#section-4)). The resolver returns the usable addresses as the result of the IPv6
/// query, alternating between the address families. SwiftNIO keeps this order.
final class KnownAddresses: Resolver, Sendable {
    /// The address to connect from. `nil`: the system chooses the address.
    let local: SocketAddress?
    private let addresses: EventLoopFuture<[SocketAddress]>
    private let none: EventLoopFuture<[SocketAddress]>

    /// - Parameter local: the address to connect from. Addresses of the other address family are left out, because they can't be
    ///   reached from `local`.
    /// - Throws: ``NoUsableAddressError``; `SocketAddressError`.
    init(_ addresses: [IPAddress], from local: IPAddress?, of origin: Origin, on loop: any EventLoop) throws {
        var usable = addresses
        if let local { usable.removeAll { $0.isIPv4 != local.isIPv4 } }
        guard !usable.isEmpty else { throw NoUsableAddressError() }
        let ordered = try Self.alternating(usable).map { try $0.socketAddress(port: origin.effectivePort) }
        self.local = try local?.socketAddress(port: 0)
        (self.addresses, none) = (loop.makeSucceededFuture(ordered), loop.makeSucceededFuture([]))
    }

    /// The addresses, alternating between IPv6 and IPv4, beginning with the address family of the first address.
    static func alternating(_ addresses: [IPAddress]) -> [IPAddress] {
        let isIPv4First = addresses.first?.isIPv4 ?? false
        var kinds = [addresses.filter { $0.isIPv4 == isIPv4First }[...], addresses.filter { $0.isIPv4 != isIPv4First }[...]]
        var ordered: [IPAddress] = []
        var next = 0
        while ordered.count < addresses.count {
            if let address = kinds[next].popFirst() { ordered.append(address) }
            next = 1 - next
        }
        return ordered
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { addresses }
    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { none }
    func cancelQueries() {}
}

/// An error for a host without an address that is reachable from the local address.
struct NoUsableAddressError: Error {}

extension IPAddress {
    func socketAddress(port: Int) throws -> SocketAddress {
        // The octets of an IPv6 address can't hold the interface of the address, but the text can. This call parses the text,
        // and uses no name server.
        if interface != nil { return try SocketAddress.makeAddressResolvingHost(description, port: port) }
        return try SocketAddress(packedIPAddress: ByteBuffer(bytes: octets), port: port)
    }
}
#endif
