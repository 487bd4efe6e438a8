#if canImport(Glibc) || canImport(Musl)
#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A socket of the family `NETLINK_ROUTE`. The socket is closed when the object is released.
final class NetlinkSocket: Sendable {
    enum Received: Hashable {
        case octets([UInt8])
        /// Messages were dropped.
        case lost
        /// No datagram was read. The error number is `EAGAIN` if no datagram waits. Any other number means that the socket has failed.
        case nothing(Int32)
    }

    private static let family: UInt16 = 16
    /// The length of the receive buffer. The kernel sends dumps in datagrams of at most 32 KiB.
    private static let bufferBytes = 64 * 1024
    /// The longest wait for a part of a dump. The kernel has no reason to delay a part.
    private static let timeoutSeconds = 2

    let descriptor: Int32

    /// - Parameters:
    ///   - groups: the kinds of notifications, as bits.
    ///   - blocks: whether reading waits for a datagram.
    init(groups: UInt32, blocks: Bool) throws(NetlinkError) {
        #if canImport(Glibc)
        let (raw, nonblock, cloexec) = (
            Int32(SOCK_RAW.rawValue), Int32(SOCK_NONBLOCK.rawValue), Int32(SOCK_CLOEXEC.rawValue)
        )
        #else
        let (raw, nonblock, cloexec) = (SOCK_RAW, SOCK_NONBLOCK, SOCK_CLOEXEC)
        #endif
        descriptor = socket(Int32(Self.family), raw | cloexec | (blocks ? 0 : nonblock), 0)
        guard descriptor >= 0 else { throw NetlinkError(operation: "open", code: errno) }
        var timeout = timeval(tv_sec: Self.timeoutSeconds, tv_usec: 0)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        let bound = Self.address(groups: groups).withUnsafeBytes { address -> Int32 in
            guard let start = address.baseAddress else { return -1 }
            return bind(descriptor, start.assumingMemoryBound(to: sockaddr.self), socklen_t(address.count))
        }
        guard bound == 0 else {
            // All properties are set here. Therefore `deinit` runs after this error, and closes the descriptor.
            throw NetlinkError(operation: "open", code: errno)
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func setReceiveBuffer(bytes: Int32) {
        var bytes = bytes
        _ = setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }

    /// A `sockaddr_nl`: the family, the port 0 of the kernel, and the groups.
    private static func address(groups: UInt32) -> [UInt8] {
        octets(family) + [0, 0, 0, 0, 0, 0] + octets(groups)
    }

    private static func octets(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number) { Array($0) } }

    /// Requests all objects of a kind. The response messages have the number `sequence`, too.
    func requestDump(_ type: UInt16, sequence: UInt32) throws(NetlinkError) {
        // A header with NLM_F_REQUEST and NLM_F_DUMP, and a `rtgenmsg` for any family.
        let flags: UInt16 = 0x1 | 0x300
        let request = Self.octets(UInt32(20)) + Self.octets(type) + Self.octets(flags) + Self.octets(sequence) + [0, 0, 0, 0, 0, 0, 0, 0]
        let sent = request.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, 0) }
        guard sent == request.count else { throw NetlinkError(operation: "request", code: errno) }
    }

    /// Reads a datagram. Datagrams that do not come from the kernel are dropped.
    func receive() -> Received {
        while true {
            var sender = Self.address(groups: 0)
            var octets = [UInt8](repeating: 0, count: Self.bufferBytes)
            let count = octets.withUnsafeMutableBytes { buffer in
                sender.withUnsafeMutableBytes { sender -> Int in
                    var length = socklen_t(sender.count)
                    let address = sender.baseAddress?.assumingMemoryBound(to: sockaddr.self)
                    // With MSG_TRUNC, the result is the length of the datagram, even if the datagram is longer than the buffer.
                    return recvfrom(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_TRUNC), address, &length)
                }
            }
            guard count >= 0 else {
                if errno == EINTR { continue }
                return errno == ENOBUFS ? .lost : .nothing(errno)
            }
            guard sender[4..<8].allSatisfy({ $0 == 0 }) else { continue }
            guard count <= octets.count else { return .lost }
            octets.removeLast(octets.count - count)
            return .octets(octets)
        }
    }
}

/// An error number of the system, and the operation that failed.
struct NetlinkError: Error {
    let operation: String
    let code: Int32

    var text: String { "cannot \(operation) the state of the network: \(systemErrorText(code))" }
}
#endif
