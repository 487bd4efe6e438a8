import Foundation
import Synchronization

/// A server on loopback that sends parts of one content, and may break off.
final class FileServer: Sendable {
    /// What happens to a response.
    enum Ending: Sendable {
        case whole
        /// The connection is closed after this number of bytes of the body.
        case closed(after: Int)
        /// The connection stays open after this number of bytes of the body, and nothing follows.
        case silent(after: Int)
        /// A response without the content.
        case status(String)
    }

    let content: Data
    let port: Int
    var url: String { "http://127.0.0.1:\(port)" }
    private let listener: Int32
    private let fields: [String]
    private let hasRanges: Bool
    private let endings: Mutex<[Ending]>
    private let received = Mutex<[String]>([])
    private let open = Mutex<[Int32]>([])

    /// The heads of the requests so far.
    var requests: [String] { received.withLock { $0 } }
    /// The values of `Range`; empty for a request of the whole content.
    var ranges: [String] {
        requests.map { request in
            request.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix("range: ") }.map { String($0.dropFirst(7)) } ?? ""
        }
    }

    /// - Parameters:
    ///   - endings: of the responses in their order; the responses after them are whole.
    ///   - fields: more fields of each response.
    ///   - validator: the entity tag; `nil` for none.
    init(
        bytes: Int = 300_000, endings: [Ending] = [], fields: [String] = [], validator: String? = "\"1\"", hasRanges: Bool = true
    ) throws {
        content = Data((0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 251) })
        self.endings = Mutex(endings)
        self.fields = fields + (validator.map { ["ETag: \($0)"] } ?? [])
        self.hasRanges = hasRanges
        #if canImport(Glibc)
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        listener = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (listener, size) = (listener, length)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 16) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard isListening else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                Thread.detachNewThread { [self] in respond(on: connection) }
            }
        }
    }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        for connection in open.withLock({ $0 }) { close(connection) }
    }

    private func respond(on connection: Int32) {
        var head = Data()
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        while head.range(of: Data("\r\n\r\n".utf8)) == nil {
            let count = read(connection, &buffer, buffer.count)
            guard count > 0 else {
                close(connection)
                return
            }
            head += buffer.prefix(count)
        }
        let request = String(decoding: head, as: UTF8.self)
        received.withLock { $0.append(request) }
        let ending = endings.withLock { $0.isEmpty ? .whole : $0.removeFirst() }
        if case .status(let status) = ending {
            send("HTTP/1.1 \(status)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", on: connection)
            close(connection)
            return
        }
        let offset = hasRanges ? request.firstMatch(of: #/(?i)\r\nrange: bytes=([0-9]+)-\r\n/#).flatMap { Int($0.1) } ?? 0 : 0
        let part = content.dropFirst(offset)
        var lines = [offset > 0 ? "206 Partial Content" : "200 OK", "Content-Length: \(part.count)", "Connection: close"] + fields
        if offset > 0 { lines.append("Content-Range: bytes \(offset)-\(content.count - 1)/\(content.count)") }
        send("HTTP/1.1 " + lines.joined(separator: "\r\n") + "\r\n\r\n", on: connection)
        switch ending {
        case .whole, .status: send(part, on: connection)
        case .closed(let count): send(part.prefix(count), on: connection)
        case .silent(let count):
            send(part.prefix(count), on: connection)
            open.withLock { $0.append(connection) }
            return
        }
        close(connection)
    }

    private func send(_ text: String, on connection: Int32) { send(Data(text.utf8), on: connection) }

    private func send(_ data: Data, on connection: Int32) {
        var rest = data[...]
        while !rest.isEmpty {
            #if canImport(Glibc)
            let flags = Int32(MSG_NOSIGNAL)
            #else
            let flags: Int32 = 0
            #endif
            let count = rest.withUnsafeBytes { Foundation.send(connection, $0.baseAddress, $0.count, flags) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
