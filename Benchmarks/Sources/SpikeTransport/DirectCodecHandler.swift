internal import ErrandCore
internal import NIOCore
internal import NIOFoundationEssentialsCompat

/// Writes requests into one buffer, and parses responses from the received bytes, without intermediate types between the wire and the seam.
final class DirectCodecHandler: SpikeHandler, ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var outgoing = ByteBufferAllocator().buffer(capacity: 1024)
    private var incoming: ByteBuffer?
    private var head: (response: HTTPResponse, bodyBytes: Int)?
    private let names = FieldNames()

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }
    func channelInactive(context: ChannelHandlerContext) { fail() }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { fail(error) }

    override func write(_ request: Request, _ context: ChannelHandlerContext) {
        outgoing.clear()
        outgoing.writeString(request.method.rawValue)
        outgoing.writeStaticString(" ")
        outgoing.writeString(request.head.path ?? "/")
        outgoing.writeStaticString(" HTTP/1.1\r\nHost: ")
        outgoing.writeString(request.head.authority ?? "")
        for field in request.head.headerFields {
            outgoing.writeStaticString("\r\n")
            outgoing.writeString(field.name.rawName)
            outgoing.writeStaticString(": ")
            outgoing.writeString(field.value)
        }
        outgoing.writeStaticString("\r\n\r\n")
        context.writeAndFlush(Self.wrapOutboundOut(outgoing), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var part = Self.unwrapInboundIn(data)
        if incoming == nil { incoming = part } else { incoming?.writeBuffer(&part) }
        do {
            try parse()
        } catch {
            fail(error)
        }
    }

    private func parse() throws {
        guard var buffer = incoming else { return }
        if head == nil {
            let parsed = try buffer.withUnsafeReadableBytes { bytes in try ResponseHead(bytes, names) }
            guard let parsed else { return }
            buffer.moveReaderIndex(forwardBy: parsed.headBytes)
            incoming = buffer
            head = (parsed.response, parsed.bodyBytes)
        }
        guard let head, let body = buffer.readSlice(length: head.bodyBytes) else { return }
        self.head = nil
        incoming = buffer.readableBytes > 0 ? buffer : nil
        finish(head.response, Data(buffer: body, byteTransferStrategy: .copy))
    }
}

private struct InvalidHead: Error {}

/// The head of a response with a declared length, at the beginning of some bytes.
private struct ResponseHead {
    let response: HTTPResponse
    let headBytes: Int
    let bodyBytes: Int

    /// `nil` until the head is complete.
    init?(_ bytes: UnsafeRawBufferPointer, _ names: FieldNames) throws {
        let bytes = bytes.bindMemory(to: UInt8.self)
        guard var (line, next) = Self.line(in: bytes, at: 0) else { return nil }
        // "HTTP/1.1 200 OK"
        guard line.count >= 12, line[line.startIndex + 8] == UInt8(ascii: " "),
            let code = Self.number(in: line.dropFirst(9).prefix(3)), code >= 200
        else { throw InvalidHead() }
        let reason = String(decoding: line.dropFirst(13), as: UTF8.self)
        var fields = HTTPFields()
        fields.reserveCapacity(12)
        var length: Int?
        while true {
            guard let (field, after) = Self.line(in: bytes, at: next) else { return nil }
            next = after
            if field.isEmpty { break }
            line = field
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { throw InvalidHead() }
            var value = line[(colon + 1)...]
            while value.first == UInt8(ascii: " ") { value.removeFirst() }
            while value.last == UInt8(ascii: " ") { value.removeLast() }
            guard let name = names.name(UnsafeBufferPointer(rebasing: line[..<colon])) else { throw InvalidHead() }
            if name == .contentLength { length = Self.number(in: value) }
            fields.append(HTTPField(name: name, value: UnsafeBufferPointer(rebasing: value)))
        }
        guard let length else { throw InvalidHead() }
        response = HTTPResponse(status: .init(code: code, reasonPhrase: reason), headerFields: fields)
        (headBytes, bodyBytes) = (next, length)
    }

    /// Returns the line that begins at `start`, without its line end, and the index of the next line.
    private static func line(
        in bytes: UnsafeBufferPointer<UInt8>, at start: Int
    ) -> (line: Slice<UnsafeBufferPointer<UInt8>>, next: Int)? {
        guard let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let last = end > start && bytes[end - 1] == UInt8(ascii: "\r") ? end - 1 : end
        return (bytes[start..<last], end + 1)
    }

    private static func number(in digits: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        guard !digits.isEmpty, digits.count < 16 else { return nil }
        var number = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            number = number * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return number
    }
}

/// The names of common fields, so that parsing one of them creates no string.
private struct FieldNames {
    private let known: [(text: [UInt8], name: HTTPField.Name)]

    init() {
        let names: [HTTPField.Name] = [
            .server, .date, .contentType, .contentLength, .lastModified, .connection, .eTag, .acceptRanges, .cacheControl, .vary,
        ]
        known = names.map { (Array($0.rawName.utf8), $0) }
    }

    func name(_ text: UnsafeBufferPointer<UInt8>) -> HTTPField.Name? {
        for entry in known where entry.text.count == text.count && entry.text.elementsEqual(text) { return entry.name }
        return HTTPField.Name(String(decoding: text, as: UTF8.self))
    }
}
