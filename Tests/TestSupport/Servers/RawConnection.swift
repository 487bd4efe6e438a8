public import Foundation

/// A request as a ``RawServer`` has read it, octet for octet.
public struct RawRequest: Sendable {
    public let method: String
    public let target: String
    /// The header fields in their order: names as received, values as octets.
    public let fields: [(name: String, value: [UInt8])]

    /// - Throws: ``RawConnection/Ended`` if the octets are not the head of a request.
    init(head: [UInt8]) throws {
        let lines = head.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
        let words = String(decoding: lines.first ?? [], as: UTF8.self).split(separator: " ")
        guard words.count == 3, words[2].hasPrefix("HTTP/") else { throw RawConnection.Ended.notARequest }
        (method, target) = (String(words[0]), String(words[1]))
        fields = lines.dropFirst().compactMap { line in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == UInt8(ascii: " ") }
            return (String(decoding: line[..<colon], as: UTF8.self), Array(value))
        }
    }

    /// Returns the values of a field as octets, in order.
    public func octets(_ name: String) -> [[UInt8]] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    public func values(_ name: String) -> [String] { octets(name).map { String(decoding: $0, as: UTF8.self) } }
    public func value(_ name: String) -> String? { values(name).first }

    var contentLength: Int? { value("content-length").flatMap { Int($0) } }
    var isChunked: Bool { value("transfer-encoding")?.lowercased() == "chunked" }
}

/// One connection of a ``RawServer``, used on its own thread. Calls block for at most 20 s.
public final class RawConnection {
    /// The reason why reading or writing ended.
    public enum Ended: Error, Sendable, Hashable {
        /// The client closed the connection.
        case closed
        /// The client reset the connection, or the server was stopped.
        case reset
        /// Nothing was received, or could be sent, for 20 s.
        case timedOut
        /// The octets are not an HTTP request.
        case notARequest
    }

    /// The number of the connection, counted from 1 in the order of acceptance.
    public let number: Int
    private let descriptor: Int32
    private let counts: Watched<RawServer.Counts>
    private var buffer: [UInt8] = []

    init(number: Int, descriptor: Int32, counts: Watched<RawServer.Counts>) {
        (self.number, self.descriptor, self.counts) = (number, descriptor, counts)
        Socket.setTimeout(descriptor, SO_RCVTIMEO, milliseconds: 20_000)
        Socket.setTimeout(descriptor, SO_SNDTIMEO, milliseconds: 20_000)
    }

    // MARK: Reading

    /// Reads the next bytes, at most `limit`.
    ///
    /// - Throws: ``Ended``.
    public func read(upTo limit: Int = 64 * 1024) throws -> [UInt8] {
        if !buffer.isEmpty {
            let bytes = Array(buffer.prefix(limit))
            buffer.removeFirst(bytes.count)
            return bytes
        }
        return try receive(limit)
    }

    private func receive(_ limit: Int = 64 * 1024) throws -> [UInt8] {
        while true {
            let (bytes, result) = Socket.receiveSome(descriptor, limit)
            if result > 0 {
                counts.change { $0.bytesRead += result }
                return bytes
            }
            if result < 0, errno == EINTR { continue }
            let ended: Ended = result == 0 ? .closed : errno == EAGAIN || errno == EWOULDBLOCK ? .timedOut : .reset
            if ended != .timedOut { counts.change { $0.seenEnds += 1 } }
            throw ended
        }
    }

    /// Reads the next `count` bytes.
    ///
    /// - Throws: ``Ended`` if the connection ends before.
    public func read(exactly count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count { bytes += try read(upTo: count - bytes.count) }
        return bytes
    }

    /// Reads the head of the next request. The bytes after it are kept for the next read.
    ///
    /// - Throws: ``Ended``.
    @discardableResult
    public func readHead() throws -> RawRequest {
        let head = try readLines { $0.isEmpty }
        counts.change { $0.requests += 1 }
        return try RawRequest(head: head)
    }

    /// Reads lines until `isLast` is true, and returns those before.
    private func readLines(until isLast: ([UInt8]) -> Bool) throws -> [UInt8] {
        var head: [UInt8] = []
        while true {
            let line = try readLine()
            if isLast(line) { return head }
            head += line + [UInt8(ascii: "\n")]
        }
    }

    private func readLine() throws -> [UInt8] {
        var searched = 0
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                var line = Array(buffer[..<end])
                buffer.removeFirst(end + 1)
                if line.last == UInt8(ascii: "\r") { line.removeLast() }
                return line
            }
            searched = buffer.count
            buffer += try receive()
        }
    }

    /// Reads the whole body of a request, by its length or its chunks. After each piece, calls `each` with the number of bytes so far.
    ///
    /// - Throws: ``Ended`` if the connection ends before.
    public func readBody(of request: RawRequest, each: (Int) -> Void = { _ in }) throws -> Data {
        var body = Data()
        func take(_ count: Int) throws {
            var rest = count
            while rest > 0 {
                let bytes = try read(upTo: min(rest, 256 * 1024))
                body.append(contentsOf: bytes)
                rest -= bytes.count
                each(body.count)
            }
        }
        if let length = request.contentLength {
            try take(length)
        } else if request.isChunked {
            while true {
                let line = String(decoding: try readLine(), as: UTF8.self)
                guard let size = Int(line.prefix { $0 != ";" }, radix: 16) else { throw Ended.notARequest }
                if size == 0 {
                    _ = try readLines { $0.isEmpty }
                    return body
                }
                try take(size)
                _ = try readLine()
            }
        }
        return body
    }

    /// Reads and discards everything until the client ends the connection. Returns how it ended.
    @discardableResult
    public func waitForEnd() -> Ended {
        while true {
            do {
                _ = try read()
            } catch {
                return error as? Ended ?? .reset
            }
        }
    }

    // MARK: Writing

    /// - Throws: ``Ended``.
    public func write(_ text: String) throws { try write(Array(text.utf8)) }

    /// - Throws: ``Ended``.
    public func write(_ data: Data) throws {
        let written = try write(data, stallMilliseconds: 20_000)
        guard written == data.count else { throw Ended.timedOut }
    }

    /// - Throws: ``Ended``.
    public func write(_ bytes: [UInt8]) throws { try write(Data(bytes)) }

    /// Writes until the client accepts nothing more for `stallMilliseconds`. Returns the number of bytes written.
    ///
    /// - Throws: ``Ended``.
    public func write(_ data: Data, stallMilliseconds: Int) throws -> Int {
        Socket.setTimeout(descriptor, SO_SNDTIMEO, milliseconds: stallMilliseconds)
        defer { Socket.setTimeout(descriptor, SO_SNDTIMEO, milliseconds: 20_000) }
        return try data.withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                let piece = UnsafeRawBufferPointer(rebasing: bytes[sent..<min(sent + 64 * 1024, bytes.count)])
                let result = Socket.sendSome(descriptor, piece)
                if result > 0 {
                    sent += result
                    counts.change { $0.bytesWritten += result }
                } else if errno == EINTR {
                    continue
                } else if errno == EAGAIN || errno == EWOULDBLOCK {
                    return sent
                } else {
                    counts.change { $0.seenEnds += 1 }
                    throw Ended.reset
                }
            }
            return sent
        }
    }

    /// Writes a whole response with a `Content-Length`. The fields are lines without line ends.
    ///
    /// - Throws: ``Ended``.
    public func respond(_ status: String = "200 OK", fields: [String] = [], body: Data = Data(), bodyIsSent: Bool = true) throws {
        let head = (["HTTP/1.1 \(status)", "Content-Length: \(body.count)"] + fields).joined(separator: "\r\n") + "\r\n\r\n"
        try write(Data(head.utf8) + (bodyIsSent ? body : Data()))
    }

    // MARK: Ending

    /// Ends writing; reading is still possible.
    public func finishWriting() { Socket.stopWriting(descriptor) }

    /// Forwards everything in both directions between the client and a port of the loopback interface, until one side ends. The bytes that
    /// were forwarded from the client count as read.
    ///
    /// - Parameters:
    ///   - limit: the number of bytes to the client after which the connection is cut. Default: no limit.
    ///   - uploadLimit: the number of bytes from the client after which the connection is cut. Default: no limit.
    /// - Throws: ``SystemError`` if the port can't be connected to.
    public func relay(to port: Int, limit: Int = .max, uploadLimit: Int = .max) throws {
        let other = try Socket.make("127.0.0.1")
        defer { Socket.closeDescriptor(other) }
        guard try Socket.connect(other, to: "127.0.0.1", port: port, limitMilliseconds: 2_000) else { throw SystemError("connect") }
        Socket.setBlocking(other)
        try Socket.relay(descriptor, other, limit: limit, uploadLimit: uploadLimit) { count in counts.change { $0.bytesRead += count } }
    }

    /// Blocks for a time, to simulate a slow server.
    public func pause(milliseconds: Int) { Thread.sleep(forTimeInterval: Double(milliseconds) / 1000) }

    /// Makes the connection end with a reset when the script ends.
    public func resetAtEnd() { Socket.setReset(descriptor) }
}
