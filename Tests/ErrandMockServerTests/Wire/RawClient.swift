#if MockServer && SWIFT_NIO
import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A client that sends the given octets unchanged. Its calls block, for 10 s at most.
final class RawClient: Sendable {
    private let descriptor: Int32

    init(port: Int) throws {
        #if canImport(Glibc)
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        #else
        descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        var limit = timeval()
        limit.tv_sec = 10
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        guard result == 0 else {
            close(descriptor)
            throw TestError()
        }
    }

    deinit { close(descriptor) }

    /// What the system takes of `text`; a connection that is closed takes nothing.
    @discardableResult
    func send(_ text: String) -> Int { send(Data(text.utf8)) }

    @discardableResult
    func send(_ data: Data) -> Int {
        var sent = 0
        while sent < data.count {
            #if canImport(Darwin)
            let count = data.dropFirst(sent).withUnsafeBytes { Darwin.send(descriptor, $0.baseAddress, $0.count, 0) }
            #elseif canImport(Musl)
            let count = data.dropFirst(sent).withUnsafeBytes { Musl.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            #else
            let count = data.dropFirst(sent).withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            #endif
            guard count > 0 else { break }
            sent += count
        }
        return sent
    }

    /// Reads until `text` holds `end`, or the connection ends.
    func read(until end: String) -> String {
        var all = Data()
        while !String(decoding: all, as: UTF8.self).contains(end) {
            guard let more = readSome() else { break }
            all.append(more)
        }
        return String(decoding: all, as: UTF8.self)
    }

    /// Everything until the connection ends.
    func readAll() -> String {
        var all = Data()
        while let more = readSome() { all.append(more) }
        return String(decoding: all, as: UTF8.self)
    }

    /// Nil at the end, and where the connection was reset.
    func readSome() -> Data? {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count > 0 ? Data(buffer.prefix(count)) : nil
    }

    enum End { case closed, reset, other }

    /// Reads to the end, and tells how that came.
    func end() -> End {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count == 0 { return .closed }
            if count < 0 { return errno == ECONNRESET ? .reset : .other }
        }
    }
}
#endif
