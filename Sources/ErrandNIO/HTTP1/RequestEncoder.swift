#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats
internal import NIOCore

/// The reason why a request can't be written, in words.
enum UnwritableRequestError: SafelyDescribedError, Equatable {
    case invalidTarget
    case missingScheme
    case missingAuthority
    case invalidAuthority
    case severalHosts
    case unsafeField(UnsafeFieldError)
    case invalidMethod
    case connect
    case preface
    case headLongerThanFrame

    var description: String {
        switch self {
        case .invalidTarget:
            "the request's path must begin with '/' or '?', and be ASCII without '#', spaces and control characters "
                + "(RFC 9112, section 3.2)"
        case .missingScheme: "a request through a proxy needs a scheme (RFC 9112, section 3.2.2)"
        case .missingAuthority: "the request has neither an authority nor a Host field (RFC 9112, section 3.2)"
        case .invalidAuthority: "the request's authority is not a host and a port (RFC 9112, section 3.2)"
        case .severalHosts: "the request has more than one Host field (RFC 9112, section 3.2)"
        case .unsafeField(let error): error.description
        case .invalidMethod: "the request's method is not a token"
        case .connect: "a request can't use the method CONNECT: set a proxy in the transport's configuration"
        case .preface: "a request can't use the method PRI, which begins a connection of HTTP/2 (RFC 9113, section 3.4)"
        case .headLongerThanFrame:
            "the fields of the request may take more than 16384 bytes, which is the limit over HTTP/2; HTTP/1.1 has no such limit"
        }
    }
}

/// Writes requests as HTTP/1.1 ([RFC 9112, sections 3, 5 and 7](https://www.rfc-editor.org/rfc/rfc9112#section-3)).
///
/// If a function throws, the function has written nothing.
enum RequestEncoder {
    /// The framing of the body.
    enum BodyFraming: Hashable {
        /// There is no body.
        case none
        /// The body has this many bytes.
        case length(Int64)
        /// The body is written in chunks.
        case chunked
    }

    /// The form of the request target ([RFC 9112, section 3.2](https://www.rfc-editor.org/rfc/rfc9112#section-3.2)).
    enum TargetForm: Hashable {
        /// Path and query: `/a?b`, or `*` for `OPTIONS *`.
        case origin
        /// The whole URL, for a proxy.
        case absolute
        /// Host and port, for `CONNECT`.
        case authority
    }

    /// Writes the head of a request, up to the empty line.
    ///
    /// - Several `Cookie` fields are combined in one field.
    /// - `Host` comes first. The value of `Host` is the request's own `Host` field, if present, otherwise the request's authority.
    /// - `Proxy-Authorization` is written only for a proxy. The field is left out in the form `origin`, because the receiver of this form
    ///   is the origin server.
    /// - The request's own `Content-Length` and `Transfer-Encoding` are not written: `framing` decides which of these fields the head has.
    ///   A POST, PUT or PATCH without a body has `Content-Length: 0` ([RFC 9110, section
    ///   8.6](https://www.rfc-editor.org/rfc/rfc9110#section-8.6)).
    static func write(
        _ head: HTTPRequest, framing: BodyFraming, form: TargetForm, into buffer: inout ByteBuffer
    ) throws(UnwritableRequestError) {
        let (method, fields) = (head.method, head.headerFields.withOneCookie)
        let target = Target(head)
        // 128 is enough for the fixed texts (` HTTP/1.1`, `Host: `, framing fields), which have at most 90 bytes.
        let capacity = 128 + method.rawValue.utf8.count + target.bytes + bytes(of: fields)
        try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: capacity) { (memory) throws(UnwritableRequestError) in
            var writer = HeadWriter(memory)
            try write(method, target, fields, framing: framing, form: form, to: &writer)
            return writer.count
        }
    }

    /// Returns the reason why the head of a request can't be written; `nil` if the head is valid. This function does not encode the
    /// head, and allocates no memory.
    static func problem(of head: HTTPRequest, form: TargetForm) -> UnwritableRequestError? {
        var check = HeadCheck()
        do {
            // No check depends on the framing.
            try write(head.method, Target(head), head.headerFields, framing: .none, form: form, to: &check)
            return nil
        } catch {
            return error
        }
    }

    private static func write(
        _ method: HTTPRequest.Method, _ target: Target, _ fields: HTTPFields, framing: BodyFraming, form: TargetForm,
        to sink: inout some HeadSink
    ) throws(UnwritableRequestError) {
        var host: HTTPField?
        for field in fields where isHost(field.name) {
            guard host == nil else { throw .severalHosts }
            host = field
        }
        guard sink.writeChecked(method.rawValue) else { throw .invalidMethod }
        guard method != .connect || form == .authority else { throw .connect }
        guard !method.isPreface else { throw .preface }
        sink.write(" ")
        try sink.write(target, of: method, in: form)
        sink.write(" HTTP/1.1\r\nHost: ")
        if let host {
            guard sink.writeChecked(host) else { throw .unsafeField(UnsafeFieldError(host)) }
        } else {
            try sink.writeAuthority(target.authority)
        }
        sink.write("\r\n")
        for field in fields where !isHost(field.name) && !isFraming(field.name) && (form != .origin || !isForProxies(field.name)) {
            guard sink.writeLine(field) else { throw .unsafeField(UnsafeFieldError(field)) }
        }
        switch framing {
        case .none where method == .post || method == .put || method == .patch: sink.write("Content-Length: 0\r\n")
        case .none: break
        case .length(let length):
            sink.write("Content-Length: ")
            sink.write(String(length))
            sink.write("\r\n")
        case .chunked: sink.write("Transfer-Encoding: chunked\r\n")
        }
        sink.write("\r\n")
    }

    /// Whether the request asks to close the connection after its response: the field `Connection` of the request has the option `close`
    /// ([RFC 9112, section 9.6](https://www.rfc-editor.org/rfc/rfc9112#section-9.6)).
    static func asksToClose(_ fields: HTTPFields) -> Bool {
        var isClosing = false
        for field in fields where field.name.canonicalName.utf8.count == 10 && field.name == .connection {
            field.withUnsafeBytesOfValue { value in
                value.forEachListElement { if $0.isText("close") { isClosing = true } }
            }
        }
        return isClosing
    }

    /// Writes the size line of a chunk. ``chunkEnd(into:)`` writes the line end after the bytes.
    ///
    /// - Parameter count: the number of bytes of the chunk. The number must be at least 1, because an empty chunk would be the
    ///   last chunk.
    static func chunkHead(_ count: Int, into buffer: inout ByteBuffer) {
        precondition(count >= 1, "count must be at least 1 (is \(count))")
        var shift = (Int.bitWidth - 1 - count.leadingZeroBitCount) / 4 * 4
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: count >> shift & 15)
            buffer.writeInteger(digit < 10 ? digit + UInt8(ascii: "0") : digit - 10 + UInt8(ascii: "a"))
            shift -= 4
        }
        buffer.writeStaticString("\r\n")
    }

    /// Writes the line end after the bytes of a chunk.
    static func chunkEnd(into buffer: inout ByteBuffer) { buffer.writeStaticString("\r\n") }

    /// Writes the last chunk, and the trailers. Trailers about the framing of the message and about the connection are not written
    /// ([RFC 9110, section 6.5.1](https://www.rfc-editor.org/rfc/rfc9110#section-6.5.1)).
    static func lastChunk(trailers: HTTPFields?, into buffer: inout ByteBuffer) throws(UnwritableRequestError) {
        let trailers = trailers ?? [:]
        try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: 16 + bytes(of: trailers)) { (memory) throws(UnwritableRequestError) in
            var writer = HeadWriter(memory)
            writer.write("0\r\n")
            for field in trailers where UsualFieldNames.Role(field.name) == .none {
                guard writer.writeLine(field) else { throw .unsafeField(UnsafeFieldError(field)) }
            }
            writer.write("\r\n")
            return writer.count
        }
    }

    /// Checks the host and port of a request. User information must not be sent.
    static func checkAuthority(_ authority: String) throws(UnwritableRequestError) {
        guard !authority.isEmpty else { throw .missingAuthority }
        guard authority.utf8.allSatisfy(\.isAuthorityOctet) else { throw .invalidAuthority }
    }

    // MARK: Fields

    private static func isHost(_ name: HTTPField.Name) -> Bool {
        name.canonicalName.utf8.count == 4 && name.canonicalName == "host"  // octets: ASCII
    }

    private static func isForProxies(_ name: HTTPField.Name) -> Bool {
        name.canonicalName.utf8.count == 19 && name == .proxyAuthorization
    }

    private static func isFraming(_ name: HTTPField.Name) -> Bool {
        switch name.canonicalName.utf8.count {
        case 14: name == .contentLength
        case 17: name == .transferEncoding
        default: false
        }
    }

    /// The number of bytes of the field lines, including the separators and line ends.
    private static func bytes(of fields: HTTPFields) -> Int {
        var bytes = 0
        for field in fields { bytes += field.name.rawName.utf8.count + field.withUnsafeBytesOfValue { $0.count } + 4 }
        return bytes
    }
}

extension HTTPRequest.Method {
    /// Whether the method is `PRI`, which begins a connection of HTTP/2 and is not a method of requests
    /// ([RFC 9113, section 3.4](https://www.rfc-editor.org/rfc/rfc9113#section-3.4)).
    var isPreface: Bool { rawValue == "PRI" }  // octets: a token is ASCII
}

/// The parts of a request target.
private struct Target {
    let scheme: String
    let authority: String
    let path: String

    init(_ head: HTTPRequest) { (scheme, authority, path) = (head.scheme ?? "", head.authority ?? "", head.path ?? "") }

    /// The maximum number of bytes in the target and the `Host` field together.
    var bytes: Int { scheme.utf8.count + 2 * authority.utf8.count + path.utf8.count }
}

/// A destination for the texts of a head.
private protocol HeadSink {
    mutating func write(_ bytes: UnsafeBufferPointer<UInt8>)
}

/// A destination that drops all texts, so that only the checks remain.
private struct HeadCheck: HeadSink {
    func write(_ bytes: UnsafeBufferPointer<UInt8>) {}
}

/// A destination in memory with room for all texts.
private struct HeadWriter: HeadSink {
    private let memory: UnsafeMutableRawBufferPointer
    /// The number of bytes written.
    private(set) var count = 0

    init(_ memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

    mutating func write(_ bytes: UnsafeBufferPointer<UInt8>) {
        precondition(
            bytes.count <= memory.count - count,
            "the memory must have room for \(bytes.count.counted("byte")) more (has \(memory.count - count))")
        UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: UnsafeRawBufferPointer(bytes))
        count += bytes.count
    }
}

extension HeadSink {
    mutating func write(_ text: StaticString) { write(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)) }

    mutating func write(_ text: String) {
        var text = text
        text.withUTF8 { write($0) }
    }

    /// Returns false, and writes nothing, if `text` contains a control character, such as a line break.
    mutating func writeChecked(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { writeChecked($0) }
    }

    mutating func writeChecked(_ field: HTTPField) -> Bool { field.withUnsafeBytesOfValue { writeChecked($0) } }

    private mutating func writeChecked(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard ByteScan.firstControl(in: bytes).control == nil else { return false }
        write(bytes)
        return true
    }

    /// Writes the name, the value and the line end of a field. HTTPTypes does not allow line breaks in a field. This function still checks
    /// the name and the value.
    mutating func writeLine(_ field: HTTPField) -> Bool {
        guard writeChecked(field.name.rawName) else { return false }
        write(": ")
        guard writeChecked(field) else { return false }
        write("\r\n")
        return true
    }

    mutating func write(
        _ target: Target, of method: HTTPRequest.Method, in form: RequestEncoder.TargetForm
    ) throws(UnwritableRequestError) {
        if form == .absolute {
            guard !target.scheme.isEmpty else { throw .missingScheme }
            try writeTargetPart(target.scheme)
            write("://")
        }
        if form != .origin { try writeAuthority(target.authority) }
        guard form != .authority else { return }
        switch target.path.utf8.first {
        case UInt8(ascii: "/"): try writeTargetPart(target.path)
        case nil: write("/")
        case UInt8(ascii: "?"):
            write("/")
            try writeTargetPart(target.path)
        case UInt8(ascii: "*") where target.path.isExactly("*") && method == .options: if form == .origin { write("*") }
        default: throw .invalidTarget
        }
    }

    private mutating func writeTargetPart(_ text: String) throws(UnwritableRequestError) {
        var text = text
        let isValid = text.withUTF8 { bytes in
            guard bytes.allSatisfy(\.isTargetOctet) else { return false }
            write(bytes)
            return true
        }
        guard isValid else { throw .invalidTarget }
    }

    /// Writes host and port. User information must not be sent.
    mutating func writeAuthority(_ authority: String) throws(UnwritableRequestError) {
        try RequestEncoder.checkAuthority(authority)
        write(authority)
    }
}
#endif
