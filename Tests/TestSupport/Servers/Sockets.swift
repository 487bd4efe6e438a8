internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// An error: a system call failed.
public struct SystemError: Error, CustomStringConvertible {
    public let call: String
    public let code: Int32

    init(_ call: String, code: Int32 = errno) { (self.call, self.code) = (call, code) }

    public var description: String { "\(call): \(String(cString: strerror(code))) (errno \(code))" }
}

/// TCP on the loopback interface, with the operating system's own calls. Platform differences are handled only here.
enum Socket {
    /// Opens a listener on a free port of the loopback interface.
    static func listen(host: String, backlog: Int32, receiveBufferBytes: Int32? = nil) throws -> (descriptor: Int32, port: Int) {
        let descriptor = try make(host)
        do {
            if let receiveBufferBytes { set(descriptor, SO_RCVBUF, receiveBufferBytes) }
            try withAddress(host, port: 0) { address, length in
                guard bind(descriptor, address, length) == 0 else { throw SystemError("bind") }
            }
            #if canImport(Darwin)
            guard Darwin.listen(descriptor, backlog) == 0 else { throw SystemError("listen") }
            #elseif canImport(Musl)
            guard Musl.listen(descriptor, backlog) == 0 else { throw SystemError("listen") }
            #else
            guard Glibc.listen(descriptor, backlog) == 0 else { throw SystemError("listen") }
            #endif
            return (descriptor, try port(of: descriptor))
        } catch {
            _ = close(descriptor)
            throw error
        }
    }

    static func make(_ host: String) throws -> Int32 {
        let family = host.contains(":") ? AF_INET6 : AF_INET
        #if canImport(Glibc)
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        #else
        let descriptor = socket(family, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { throw SystemError("socket") }
        #if canImport(Darwin)
        set(descriptor, SO_NOSIGPIPE, 1)
        #endif
        return descriptor
    }

    /// Returns the port of a socket.
    static func port(of descriptor: Int32) throws -> Int {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard result == 0 else { throw SystemError("getsockname") }
        // The port is at the same offset in both address families.
        let port = withUnsafePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { $0.pointee.sin_port }
        }
        return Int(UInt16(bigEndian: port))
    }

    static func withAddress<Result>(
        _ host: String, port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result
    ) throws -> Result {
        let port = in_port_t(UInt16(port).bigEndian)
        if host.contains(":") {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port
            guard inet_pton(AF_INET6, host, &address.sin6_addr) == 1 else { throw SystemError("inet_pton", code: EINVAL) }
            return try withUnsafePointer(to: &address) {
                try $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { try body($0, socklen_t(MemoryLayout<sockaddr_in6>.size)) }
            }
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port
        guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else { throw SystemError("inet_pton", code: EINVAL) }
        return try withUnsafePointer(to: &address) {
            try $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { try body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }

    /// Connects, and waits for at most `limitMilliseconds`. Returns whether the connection is established.
    static func connect(_ descriptor: Int32, to host: String, port: Int, limitMilliseconds: Int32) throws -> Bool {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        let result = try withAddress(host, port: port) { address, length in
            #if canImport(Darwin)
            Darwin.connect(descriptor, address, length)
            #elseif canImport(Musl)
            Musl.connect(descriptor, address, length)
            #else
            Glibc.connect(descriptor, address, length)
            #endif
        }
        if result == 0 { return true }
        guard errno == EINPROGRESS else { return false }
        var waited = [pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)]
        guard systemPoll(&waited, limitMilliseconds) == 1 else { return false }
        var failure: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        _ = getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &length)
        return failure == 0
    }

    private static func systemPoll(_ entries: inout [pollfd], _ milliseconds: Int32) -> Int32 {
        #if canImport(Darwin)
        Darwin.poll(&entries, nfds_t(entries.count), milliseconds)
        #elseif canImport(Musl)
        Musl.poll(&entries, nfds_t(entries.count), milliseconds)
        #else
        Glibc.poll(&entries, nfds_t(entries.count), milliseconds)
        #endif
    }

    static func setCloseOnExec(_ descriptor: Int32) { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }

    /// Runs `body` without blocked signals. Tasks run on threads that block every signal; a child process would inherit this, and not end
    /// when it is told to.
    static func withoutBlockedSignals<Result>(_ body: () throws -> Result) rethrows -> Result {
        var (none, own) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &own)
        defer { pthread_sigmask(SIG_SETMASK, &own, nil) }
        return try body()
    }

    static func setBlocking(_ descriptor: Int32) { _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK) }

    /// Forwards everything from each side to the other, until one side ends, nothing is received for 20 s, `limit` bytes were forwarded to
    /// the first side, or `uploadLimit` bytes were forwarded to the second side. `onUpload` gets each number of bytes that was forwarded to
    /// the second side.
    static func relay(
        _ first: Int32, _ second: Int32, limit: Int = .max, uploadLimit: Int = .max, onUpload: (Int) -> Void = { _ in }
    ) throws {
        var rest = [first: limit, second: uploadLimit]
        while true {
            var entries = [first, second].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard systemPoll(&entries, 20_000) > 0 else { return }
            for (entry, target) in zip(entries, [second, first]) where entry.revents != 0 {
                let (bytes, result) = receiveSome(entry.fd, 64 * 1024)
                guard result > 0 else { return }
                let end = min(bytes.count, rest[target, default: .max])
                var sent = 0
                while sent < end {
                    let count = bytes[sent..<end].withUnsafeBytes { sendSome(target, $0) }
                    guard count > 0 else { return }
                    sent += count
                }
                rest[target, default: .max] -= end
                if target == second { onUpload(end) }
                guard rest[target, default: .max] > 0 else { return }
            }
        }
    }

    static func set(_ descriptor: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        _ = setsockopt(descriptor, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Sets the longest time for which a call to send or receive blocks.
    static func setTimeout(_ descriptor: Int32, _ option: Int32, milliseconds: Int) {
        var time = timeval()
        time.tv_sec = numericCast(milliseconds / 1000)
        time.tv_usec = numericCast(milliseconds % 1000 * 1000)
        _ = setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Makes closing the socket send a reset.
    static func setReset(_ descriptor: Int32) {
        var setting = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &setting, socklen_t(MemoryLayout<linger>.size))
    }

    static func acceptOne(_ listener: Int32) -> Int32 {
        while true {
            let descriptor = accept(listener, nil, nil)
            if descriptor < 0, errno == EINTR || errno == ECONNABORTED { continue }
            setCloseOnExec(descriptor)
            #if canImport(Darwin)
            if descriptor >= 0 { set(descriptor, SO_NOSIGPIPE, 1) }
            #endif
            return descriptor
        }
    }

    /// Sends bytes as `send` does. A closed connection is an error, never a signal.
    static func sendSome(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        #if canImport(Darwin)
        Darwin.send(descriptor, bytes.baseAddress, bytes.count, 0)
        #else
        send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        #endif
    }

    static func receiveSome(_ descriptor: Int32, _ count: Int) -> (bytes: [UInt8], result: Int) {
        var result = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            result = recv(descriptor, buffer.baseAddress, count, 0)
            filled = max(0, result)
        }
        return (bytes, result)
    }

    static func stopBothWays(_ descriptor: Int32) { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
    static func stopWriting(_ descriptor: Int32) { _ = shutdown(descriptor, Int32(SHUT_WR)) }
    static func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }
}

/// Ports of the loopback interface.
public enum LoopbackPorts {
    /// Returns `count` different ports that were free a moment ago. Another program may take one before it is used; then the caller must
    /// try again.
    public static func free(_ count: Int, host: String = "127.0.0.1") throws -> [Int] {
        var held: [Int32] = []
        defer { held.forEach(Socket.closeDescriptor) }
        return try (0..<count).map { _ in
            let (descriptor, port) = try Socket.listen(host: host, backlog: 1)
            held.append(descriptor)
            return port
        }
    }

    /// Returns a port without a listener: connecting to it is refused.
    public static func refused() throws -> Int { try free(1)[0] }

    /// Sends `text` to the server on `port`, and returns what it sends until it closes; empty if there is no server. Blocks for at most one
    /// second.
    static func ask(port: Int, _ text: String) -> String {
        guard let descriptor = try? Socket.make("127.0.0.1") else { return "" }
        defer { Socket.closeDescriptor(descriptor) }
        guard (try? Socket.connect(descriptor, to: "127.0.0.1", port: port, limitMilliseconds: 500)) == true else { return "" }
        Socket.setBlocking(descriptor)
        Socket.setTimeout(descriptor, SO_RCVTIMEO, milliseconds: 500)
        _ = Array(text.utf8).withUnsafeBytes { Socket.sendSome(descriptor, $0) }
        var received: [UInt8] = []
        while true {
            let (bytes, result) = Socket.receiveSome(descriptor, 4096)
            guard result > 0 else { return String(decoding: received, as: UTF8.self) }
            received += bytes
        }
    }

    /// Whether the machine has IPv6 on its loopback interface.
    public static let haveIPv6: Bool = (try? free(1, host: "::1")) != nil
}

/// A port whose connection queue is full. Connecting to it hangs: it is neither accepted nor refused.
public final class HangingPort: Sendable {
    public let port: Int
    private let descriptors: [Int32]

    /// Listens, accepts nothing, and fills the queue.
    ///
    /// - Throws: ``SystemError`` if the queue does not fill.
    public init() throws {
        let (listener, port) = try Socket.listen(host: "127.0.0.1", backlog: 0)
        var descriptors = [listener]
        var isFull = false
        for _ in 0..<16 where !isFull {
            let filler = try Socket.make("127.0.0.1")
            descriptors.append(filler)
            isFull = try !Socket.connect(filler, to: "127.0.0.1", port: port, limitMilliseconds: 150)
        }
        self.port = port
        self.descriptors = descriptors
        guard isFull else { throw SystemError("filling the queue of a listener", code: EINVAL) }
    }

    deinit { descriptors.forEach(Socket.closeDescriptor) }
}

/// The sockets of this process that are connected, or connecting, to a port of the loopback interface: those that a client holds. Other
/// tests of the same process don't change the count of a port.
public enum ClientSockets {
    /// Whether this system lists the sockets of a process (in `/proc`).
    public static let areKnown = FileManager.default.fileExists(atPath: "/proc/self/net/tcp")
    /// The reason to skip a test if ``areKnown`` is false.
    public static let unknown = "only Linux tells of the sockets of a process (/proc)"

    public enum State: String, Sendable {
        case established = "01"
        case connecting = "02"
    }

    /// Returns the number of sockets that this process has open to `port`: in one state, or, with `nil`, in any state.
    public static func count(to port: Int, in state: State? = nil) throws -> Int {
        // The columns: sl local remote state … inode (proc(5)).
        let wanted = ":" + hexadecimal(port)
        var nodes: Set<String> = []
        for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
            // Foundation's functions for whole files would read only the first page of such a file.
            guard let bytes = try FileHandle(forReadingAtPath: table)?.readToEnd() else { continue }
            for words in lines(of: bytes, with: wanted + " ") {
                guard words.count > 9, words[2].hasSuffix(wanted), state == nil || words[3] == state?.rawValue[...] else { continue }
                nodes.insert("socket:[\(words[9])]")
            }
        }
        guard !nodes.isEmpty else { return 0 }
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return descriptors.count { name in
            // A descriptor may have been closed since the folder was read.
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")).map(nodes.contains) ?? false
        }
    }

    /// Returns the lines that hold `text`, as words. The other lines, of which there may be thousands, are not made into text.
    private static func lines(of table: Data, with text: String) -> [[Substring]] {
        // The function of the system searches up to a zero.
        (table + [0]).withUnsafeBytes { bytes in
            guard let base = bytes.assumingMemoryBound(to: CChar.self).baseAddress else { return [] }
            let newline = CChar(UInt8(ascii: "\n"))
            var (lines, rest) = ([[Substring]](), base)
            while let found = strstr(rest, text) {
                var first = UnsafePointer(found)
                while first > base, first[-1] != newline { first -= 1 }
                let last = strchr(found, CInt(newline)) ?? found + strlen(found)
                let line = UnsafeRawBufferPointer(start: first, count: first.distance(to: last))
                lines.append(String(decoding: line, as: UTF8.self).split(separator: " "))
                rest = UnsafePointer(last)
            }
            return lines
        }
    }

    private static func hexadecimal(_ port: Int) -> String {
        let digits = String(port, radix: 16, uppercase: true)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }
}
