#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// The resolver of the operating system (`getaddrinfo`), which reads `/etc/hosts` and asks the name servers.
///
/// The resolver has no cache: see ``HostResolver/cached(for:maxHosts:clock:)``. At most 8 lookups of the process run at the same
/// time, on separate threads. Further lookups wait. If a caller gives up a lookup, the lookup continues to its end on its thread, because
/// the system can't stop a lookup.
public struct SystemHostResolver: HostResolver {
    private static let threads = BlockingWork(label: "errand.host-resolver")

    /// Creates a resolver.
    public init() {}

    /// Returns the addresses of a host in the system's order ([RFC 6724](https://www.rfc-editor.org/rfc/rfc6724)).
    ///
    /// - Throws: ``HostNotFoundError``; `CancellationError`.
    public func addresses(of host: String, port: Int) async throws -> [IPAddress] {
        try await Self.threads.runUntilCancelled { try Self.lookUp(host) }
    }

    private static func lookUp(_ host: String) throws -> [IPAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        // With the type of socket as a hint, the system returns each address only once, instead of once for each kind of socket.
        #if canImport(Glibc)
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        hints.ai_socktype = SOCK_STREAM
        #endif
        var first: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &first)
        guard code == 0 else {
            throw HostNotFoundError(host, reason: code == EAI_NONAME ? "" : String(cString: gai_strerror(code)).lowercased())
        }
        defer { freeaddrinfo(first) }
        var addresses: [IPAddress] = []
        var next = first
        while let entry = next?.pointee {
            next = entry.ai_next
            if let address = address(entry), !addresses.contains(address) { addresses.append(address) }
        }
        return addresses
    }

    /// Returns the address; `nil` for another address family.
    private static func address(_ entry: addrinfo) -> IPAddress? {
        guard let raw = UnsafeRawPointer(entry.ai_addr) else { return nil }
        switch entry.ai_family {
        case AF_INET:
            return withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in.self).sin_addr) { IPAddress(octets: $0) }
        case AF_INET6:
            let address = raw.loadUnaligned(as: sockaddr_in6.self)
            let interface = address.sin6_scope_id
            return withUnsafeBytes(of: address.sin6_addr) { IPAddress(octets: $0, interface: interface == 0 ? nil : interface) }
        default: return nil
        }
    }
}

extension HostResolver where Self == SystemHostResolver {
    /// The resolver of the operating system, without a cache.
    public static var system: SystemHostResolver { SystemHostResolver() }
}
