import Foundation
import Synchronization

/// A server on loopback that keeps what it receives, sends the same bytes over every connection, and closes it.
final class RawServer: Sendable {
    /// 0 on a Unix domain socket.
    let port: Int
    var url: String { "http://127.0.0.1:\(port)" }
    private let listener: Int32
    private let received = Mutex<[String]>([])

    /// The requests so far, with their bodies.
    var requests: [String] { received.withLock { $0 } }

    /// The lines of the head of the last request, without the empty one at its end.
    var lastHead: [String] {
        let head = requests.last?.components(separatedBy: "\r\n\r\n").first ?? ""
        return head.components(separatedBy: "\r\n")
    }

    /// - Parameter path: of a Unix domain socket; `nil` (the default): a free port.
    init(response: String = "HTTP/1.1 204 No Content\r\n\r\n", path: String? = nil) throws {
        #if canImport(Glibc)
        let kind = Int32(SOCK_STREAM.rawValue)
        #else
        let kind = SOCK_STREAM
        #endif
        let listener = socket(path == nil ? AF_INET : AF_UNIX, kind, 0)
        self.listener = listener
        if let path {
            port = 0
            try Self.bindAndListen(listener, on: path)
            serve(response)
            return
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 16) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard isListening else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        port = Int(UInt16(bigEndian: address.sin_port))
        serve(response)
    }

    private static func bindAndListen(_ listener: Int32, on path: String) throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let isListening = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isListening, listen(listener, 16) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }

    private func serve(_ response: String) {
        Thread.detachNewThread { [self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                let request = Self.request(from: connection)
                if !request.isEmpty {
                    received.withLock { $0.append(request) }
                    _ = response.withCString { write(connection, $0, strlen($0)) }
                }
                close(connection)
            }
        }
    }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// Head and body of a request, as far as it comes.
    private static func request(from connection: Int32) -> String {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while !isComplete(data) {
            let count = read(connection, &buffer, buffer.count)
            guard count > 0 else { break }
            data += buffer.prefix(count)
        }
        return String(decoding: data, as: UTF8.self)
    }

    private static func isComplete(_ data: Data) -> Bool {
        guard let end = data.range(of: Data("\r\n\r\n".utf8)) else { return false }
        let head = String(decoding: data[..<end.lowerBound], as: UTF8.self).lowercased()
        if head.contains("transfer-encoding: chunked") { return data.suffix(5) == Data("0\r\n\r\n".utf8) }
        let length = head.components(separatedBy: "content-length: ").dropFirst().first.flatMap { Int($0.prefix { $0.isNumber }) }
        return data.count - end.upperBound >= length ?? 0
    }
}

/// Runs `body` with a ``RawServer``.
func withRawServer(
    response: String = "HTTP/1.1 204 No Content\r\n\r\n", _ body: (_ server: RawServer) async throws -> Void
) async throws {
    let server = try RawServer(response: response)
    defer { server.stop() }
    try await body(server)
}
