import Foundation
import Synchronization

/// A server on loopback that takes one upload by tus 1.0.0, and may close the connection within the first part.
final class TusServer: Sendable {
    let port: Int
    var url: String { "http://127.0.0.1:\(port)/files/" }
    private let listener: Int32
    private let limit: Int?
    private let state = Mutex((content: Data(), requests: [String](), hasCut: false))

    /// The bytes of the upload.
    var content: Data { state.withLock(\.content) }
    /// The heads of the requests so far.
    var requests: [String] { state.withLock(\.requests) }

    /// - Parameter limit: the connection of the first part is closed after this number of bytes; `nil` if no connection is closed.
    init(cutAfter limit: Int? = nil) throws {
        self.limit = limit
        (listener, port) = try Self.listen()
        Thread.detachNewThread { [self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                Thread.detachNewThread { [self] in serve(connection) }
            }
        }
    }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private static func listen() throws -> (Int32, Int) {
        #if canImport(Glibc)
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        let listener = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let size = length
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && Foundation.listen(listener, 16) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard isListening else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        return (listener, Int(UInt16(bigEndian: address.sin_port)))
    }

    /// Each connection has one request.
    private func serve(_ connection: Int32) {
        defer { close(connection) }
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while data.range(of: Data("\r\n\r\n".utf8)) == nil {
            let count = read(connection, &buffer, buffer.count)
            guard count > 0 else { return }
            data += buffer.prefix(count)
        }
        guard let end = data.range(of: Data("\r\n\r\n".utf8)) else { return }
        let head = String(decoding: data[..<end.lowerBound], as: UTF8.self)
        var body = Data(data[end.upperBound...])
        let length = head.firstMatch(of: #/(?i)\r\ncontent-length: ([0-9]+)/#).flatMap { Int($0.1) } ?? 0
        state.withLock { $0.requests.append(head) }
        if head.hasPrefix("PATCH") {
            let cut = state.withLock { $0.hasCut } ? nil : limit
            while body.count < cut ?? length {
                let count = read(connection, &buffer, buffer.count)
                guard count > 0 else { break }
                body += buffer.prefix(count)
            }
            let part = body.prefix(cut ?? length)
            state.withLock { state in
                state.content += part
                state.hasCut = true
            }
            if cut != nil { return }
        }
        let offset = content.count
        switch true {
        case head.hasPrefix("POST"): respond("201 Created", ["Location: /files/1"], on: connection)
        case head.hasPrefix("HEAD"): respond("200 OK", ["Upload-Offset: \(offset)", "Cache-Control: no-store"], on: connection)
        case head.hasPrefix("PATCH"): respond("204 No Content", ["Upload-Offset: \(offset)"], on: connection)
        default: respond("204 No Content", [], on: connection)
        }
    }

    private func respond(_ status: String, _ fields: [String], on connection: Int32) {
        var lines = ["HTTP/1.1 \(status)", "Tus-Resumable: 1.0.0", "Connection: close"] + fields
        if !status.hasPrefix("204") { lines.append("Content-Length: 0") }
        let text = lines.joined(separator: "\r\n") + "\r\n\r\n"
        _ = text.withCString { write(connection, $0, strlen($0)) }
    }
}
