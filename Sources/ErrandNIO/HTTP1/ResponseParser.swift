#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats

/// Reads the responses of one HTTP/1.1 connection ([RFC 9112](https://www.rfc-editor.org/rfc/rfc9112)).
///
/// The parser keeps no bytes. The caller keeps the received bytes, and passes the bytes to ``next(in:)``. After every event, the caller
/// drops the consumed bytes:
///
/// ```swift
/// parser.expectResponse(to: .get)
/// while true {
///     let (event, consumed) = try parser.next(in: received)
///     received = UnsafeRawBufferPointer(rebasing: received[consumed...])
///     switch event {
///     case .needsMore: return  // until more bytes arrive, or `endOfInput(pending:)`
///     case .interim, .head, .body: …
///     case .end: return
///     }
/// }
/// ```
///
/// The parser is strict. One space separates the parts of a status line. A field name is a token directly before its colon. Only CR LF ends
/// the line of a chunk. Many servers deviate from these rules. The parser accepts these deviations:
///
/// - One empty line before a status line is ignored.
/// - A status line without a reason phrase may end directly after the status code, without a space.
/// - A field value that is not UTF-8 is read as ISO 8859-1.
/// - A line of a head or of trailers may end with LF alone ([RFC 9112, section 2.2](https://www.rfc-editor.org/rfc/rfc9112#section-2.2)).
///   After a line that ends with LF alone, ``isDoubtful`` is true. In a response to CONNECT, a line that ends with LF alone is refused.
/// - A folded field line is unfolded ([RFC 9112, section 5.2](https://www.rfc-editor.org/rfc/rfc9112#section-5.2)).
/// - Blanks after a chunk size, and a `;` without an extension, are ignored: see ``ChunkLine``.
///
/// The work is linear in the number of bytes, even if every byte arrives separately. A line is read when it is complete. Each
/// search for the end of a line continues where the previous search stopped. After an error, every call throws the same error.
struct ResponseParser {
    enum Event {
        /// The next event needs more bytes, or the end of the connection. Even without an event, the call may consume bytes.
        case needsMore
        /// An interim response (1xx) other than 101. The final response follows.
        case interim(HTTPResponse)
        /// The head of the final response. A 101 response is a final response, because the bytes after it are not HTTP/1.1.
        /// These bytes stay unconsumed.
        case head(ResponseHead)
        /// Bytes of the body, as a range of the passed bytes. The range is never empty.
        case body(Range<Int>)
        /// The response is complete. `trailers` is `nil` if the response has no trailers.
        case end(trailers: HTTPFields?)
    }

    /// The maximum number of bytes in a line with a chunk size, including the line end.
    static let chunkLineBytes = 4096
    /// The maximum number of bytes in all chunk extensions of a response together.
    static let chunkExtensionBytes = 64 * 1024

    private enum State {
        case idle
        case statusLine
        case fields
        /// The body is complete.
        case complete
        case length
        case untilClose
        case chunkLine
        case chunk
        case chunkEnd
        case trailers
        case failed
    }

    private let limits: ResponseLimits
    private var state = State.idle
    private var failure: ResponseParseError?
    private var method = HTTPRequest.Method.get
    private var interims = 0
    private var section = FieldSection()
    private var minorVersion = 0
    private var status = HTTPResponse.Status(code: 0)
    private var hasSkippedEmptyLine = false
    /// The number of bytes of the current head, or of the current trailers, before the current line.
    private var sectionBytes = 0
    /// The number of bytes of the current line that have already been searched for the line end.
    private var searched = 0
    /// The number of bytes of the body, or of the chunk, that are not received yet.
    private var remaining: Int64 = 0
    private var extensionBytes = 0
    /// Whether a byte of the current response was received.
    private(set) var hasBegun = false
    /// Whether the end of the current response is doubtful: another HTTP parser may find the end at a different byte. The end is doubtful
    /// if a line of the response ended with LF alone. The end is also doubtful if the response has no body but both `Content-Length` and
    /// `Transfer-Encoding`. After a doubtful response, the connection is not reused.
    private(set) var isDoubtful = false
    #if DEBUG
    /// The number of all bytes that were searched for a line end: a measure of the work.
    private(set) var searchedInAll = 0
    #endif

    init(limits: ResponseLimits) { self.limits = limits }

    /// Whether no response is expected: before ``expectResponse(to:)``, and after ``Event/end(trailers:)``. While no response is expected,
    /// every received byte is a fault of the server.
    var isIdle: Bool { state == .idle }

    /// Prepares for the response to a request with `method`. After an error, the call does nothing.
    ///
    /// - Precondition: the parser is idle, or has failed.
    mutating func expectResponse(to method: HTTPRequest.Method) {
        guard state != .failed else { return }
        precondition(isIdle, "expectResponse(to:) must be called after the end of the previous response")
        self.method = method
        (interims, hasBegun, isDoubtful) = (0, false, false)
        beginHead()
    }

    private mutating func beginHead() {
        state = .statusLine
        sectionBytes = 0
        searched = 0
        hasSkippedEmptyLine = false
    }

    /// Reads the next event.
    ///
    /// - Parameter bytes: the received bytes that are not consumed yet. May be empty.
    /// - Returns: the event, and the number of leading bytes that can be dropped: for a body, up to the end of its range.
    mutating func next(in bytes: UnsafeRawBufferPointer) throws(ResponseParseError) -> (event: Event, consumed: Int) {
        var position = 0
        do throws(ResponseParseError) {
            let event = try step(bytes.assumingMemoryBound(to: UInt8.self), &position)
            return (event, position)
        } catch {
            (state, failure) = (.failed, error)
            throw error
        }
    }

    /// Records the end of the connection.
    ///
    /// - Parameter pending: the received bytes that were not consumed.
    /// - Returns: `end` if the response is complete now. `needsMore` if no response was expected, and no bytes are pending.
    mutating func endOfInput(pending: Int) throws(ResponseParseError) -> Event {
        let error: ResponseParseError
        switch state {
        case .idle where pending == 0: return .needsMore
        case .idle: error = .unexpectedBytes
        case .complete, .untilClose:
            state = .idle
            return .end(trailers: nil)
        case .statusLine where !hasBegun && pending == 0: error = .endedBeforeResponse
        case .statusLine, .fields: error = .endedInHead
        case .length: error = .endedInBody(missingBytes: remaining - Int64(pending))
        case .chunkLine, .chunk, .chunkEnd: error = .endedInChunks
        case .trailers: error = .endedInTrailers
        case .failed: error = failure ?? .unexpectedBytes
        }
        (state, failure) = (.failed, error)
        throw error
    }

    private mutating func step(_ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int) throws(ResponseParseError) -> Event {
        if !bytes.isEmpty { hasBegun = true }
        while true {
            switch state {
            case .idle:
                guard bytes.isEmpty else { throw .unexpectedBytes }
                return .needsMore
            case .failed:
                throw failure ?? .unexpectedBytes
            case .statusLine:
                guard try readStatusLine(in: bytes, &position) else { return .needsMore }
                (state, section) = (.fields, FieldSection())
            case .fields:
                guard try readFields(in: bytes, &position, areTrailers: false) else { return .needsMore }
                return try endHead()
            case .complete:
                state = .idle
                return .end(trailers: nil)
            case .untilClose:
                guard position < bytes.count else { return .needsMore }
                return takeBody(bytes.count, &position)
            case .length:
                guard position < bytes.count else { return .needsMore }
                let body = takeBody(bytes.count, &position)
                if remaining == 0 { state = .complete }
                return body
            case .chunkLine:
                guard
                    let line = try readLine(
                        in: bytes, &position, limit: Self.chunkLineBytes, .chunkLineTooLong(limitBytes: Self.chunkLineBytes),
                        mayEndWithLineFeed: false)
                else { return .needsMore }
                try beginChunk(ChunkLine(line))
            case .chunk:
                guard position < bytes.count else { return .needsMore }
                let body = takeBody(bytes.count, &position)
                if remaining == 0 { state = .chunkEnd }
                return body
            case .chunkEnd:
                guard position < bytes.count else { return .needsMore }
                guard bytes[position] == 0x0D else { throw .chunkWithoutLineEnd }
                guard position + 1 < bytes.count else { return .needsMore }
                guard bytes[position + 1] == 0x0A else { throw .chunkWithoutLineEnd }
                position += 2
                state = .chunkLine
            case .trailers:
                guard try readFields(in: bytes, &position, areTrailers: true) else { return .needsMore }
                state = .idle
                let trailers = section.fields
                section = FieldSection()
                return .end(trailers: trailers.isEmpty ? nil : trailers)
            }
        }
    }

    // MARK: Lines

    /// Returns the next line without its line end, and moves `position` after the line. `nil` if the line is incomplete.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of bytes in the line, including its line end.
    ///   - mayEndWithLineFeed: whether LF alone also ends the line.
    private mutating func readLine(
        in bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int, limit: Int, _ tooLong: ResponseParseError, mayEndWithLineFeed: Bool
    ) throws(ResponseParseError) -> UnsafeBufferPointer<UInt8>? {
        let end = position + min(limit, bytes.count - position)
        guard let lineFeed = searchLineFeed(in: bytes, position, end) else {
            searched = end - position
            if searched >= limit { throw tooLong }
            return nil
        }
        searched = 0
        let lineEnd = try lineEnd(in: bytes, position, lineFeed, mayEndWithLineFeed: mayEndWithLineFeed)
        let line = bytes.part(position..<lineEnd)
        position = lineFeed + 1
        return line
    }

    /// Returns the next field line together with the lines that continue it, without the last line end, and moves `position` after these
    /// lines. `nil` if the field line is incomplete. A nonempty line is complete when the first byte of the next line is known.
    ///
    /// - Parameter limit: the maximum number of bytes in the lines, including their line ends.
    private mutating func readFieldLine(
        in bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int, limit: Int, _ tooLong: ResponseParseError
    ) throws(ResponseParseError) -> UnsafeBufferPointer<UInt8>? {
        let end = position + min(limit, bytes.count - position)
        while let lineFeed = searchLineFeed(in: bytes, position, end) {
            let lineEnd = try lineEnd(in: bytes, position, lineFeed, mayEndWithLineFeed: method != .connect)
            let next = lineFeed + 1
            if lineEnd > position {
                guard next < end else {
                    searched = lineFeed - position
                    // After this line, the limit leaves no room for the empty line that ends the fields.
                    if next - position >= limit { throw tooLong }
                    return nil
                }
                if bytes[next].isOptionalSpace {
                    searched = next - position
                    continue
                }
            }
            searched = 0
            let line = bytes.part(position..<lineEnd)
            position = next
            return line
        }
        searched = end - position
        if searched >= limit { throw tooLong }
        return nil
    }

    /// Returns the first LF at or after `position + searched` and before `end`.
    private mutating func searchLineFeed(in bytes: UnsafeBufferPointer<UInt8>, _ position: Int, _ end: Int) -> Int? {
        let start = min(position + searched, end)
        let lineFeed = ByteScan.firstLineFeed(in: bytes, start..<end)
        #if DEBUG
        searchedInAll += (lineFeed ?? end) - start
        #endif
        return lineFeed
    }

    /// Returns the end of the line that begins at `position`: at CR LF, or at LF alone.
    private mutating func lineEnd(
        in bytes: UnsafeBufferPointer<UInt8>, _ position: Int, _ lineFeed: Int, mayEndWithLineFeed: Bool
    ) throws(ResponseParseError) -> Int {
        if lineFeed > position, bytes[lineFeed - 1] == 0x0D { return lineFeed - 1 }
        guard mayEndWithLineFeed else { throw .bareLineFeed }
        isDoubtful = true
        return lineFeed
    }

    /// Reads the status line. Returns whether the line is complete ([RFC 9112, section
    /// 4](https://www.rfc-editor.org/rfc/rfc9112#section-4)).
    private mutating func readStatusLine(
        in bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int
    ) throws(ResponseParseError) -> Bool {
        if position < bytes.count, bytes[position] == 0x0D, !hasSkippedEmptyLine {
            guard position + 1 < bytes.count else { return false }
            guard bytes[position + 1] == 0x0A else { throw .bareCarriageReturn }
            hasSkippedEmptyLine = true
            position += 2
            sectionBytes = 2
        }
        let limit = limits.headBytes - sectionBytes
        // The bytes of another protocol, such as a TLS alert, may have no line end. Therefore, the first bytes are checked before the line
        // is complete.
        let prefix: StaticString = "HTTP/"
        for index in 0..<max(0, min(prefix.utf8CodeUnitCount, bytes.count - position, limit))
        where bytes[position + index] != prefix.utf8Start[index] {
            guard bytes[position] != 0x0A else { throw .bareLineFeed }
            let rest = bytes.part(position..<bytes.count)
            switch ResponseParseError.OtherProtocol.recognize(rest) {
            case .needsMore: return false
            case .found(let other): throw .otherProtocol(other)
            case .none: break
            }
            throw .notHTTP(ResponseParseError.shown(rest.part(0..<(rest.firstIndex(of: 0x0A) ?? rest.count))))
        }
        let start = position
        guard
            let line = try readLine(
                in: bytes, &position, limit: limit, .headTooLong(limitBytes: limits.headBytes), mayEndWithLineFeed: method != .connect)
        else { return false }
        sectionBytes += position - start
        let statusLine = try StatusLine(line)
        (minorVersion, status) = (statusLine.minorVersion, statusLine.status)
        return true
    }

    /// Reads the complete field lines. Returns whether the fields are complete.
    private mutating func readFields(
        in bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int, areTrailers: Bool
    ) throws(ResponseParseError) -> Bool {
        let tooLong: ResponseParseError =
            areTrailers ? .trailersTooLong(limitBytes: limits.headBytes) : .headTooLong(limitBytes: limits.headBytes)
        while true {
            let start = position
            guard let line = try readFieldLine(in: bytes, &position, limit: limits.headBytes - sectionBytes, tooLong) else { return false }
            sectionBytes += position - start
            if line.isEmpty { return true }
            guard section.lines < limits.fieldCount else {
                throw areTrailers ? .tooManyTrailers(limit: limits.fieldCount) : .tooManyFields(limit: limits.fieldCount)
            }
            try section.read(line, isTrailer: areTrailers)
        }
    }

    // MARK: Events

    private mutating func endHead() throws(ResponseParseError) -> Event {
        let framing = try section.framing(of: method, status: status.code, minorVersion: minorVersion)
        if section.hasBothFramings { isDoubtful = true }
        let response = HTTPResponse(status: status, headerFields: section.fields)
        if status.code < 200, status.code != 101 {
            interims += 1
            guard interims <= limits.interimResponseCount else { throw .tooManyInterimResponses(limit: limits.interimResponseCount) }
            beginHead()
            section = FieldSection()
            return .interim(response)
        }
        let isPersistent = framing != .untilClose && !isDoubtful && !section.hasClose && (minorVersion > 0 || section.hasKeepAlive)
        let head = ResponseHead(
            response: response, minorVersion: minorVersion, framing: framing, isPersistent: isPersistent,
            keepAliveSeconds: section.keepAliveSeconds, hasAlternatives: section.hasAlternatives)
        section = FieldSection()
        switch framing {
        case .none, .length(0): state = .complete
        case .length(let length): (state, remaining) = (.length, length)
        case .chunked: (state, extensionBytes) = (.chunkLine, 0)
        case .untilClose: (state, remaining) = (.untilClose, .max)
        }
        return .head(head)
    }

    private mutating func beginChunk(_ line: ChunkLine) throws(ResponseParseError) {
        extensionBytes += line.extensionBytes
        guard extensionBytes <= Self.chunkExtensionBytes else { throw .chunkExtensionsTooLong(limitBytes: Self.chunkExtensionBytes) }
        if line.size > 0 {
            (state, remaining) = (.chunk, line.size)
        } else {
            (state, sectionBytes, section) = (.trailers, 0, FieldSection())
        }
    }

    private mutating func takeBody(_ end: Int, _ position: inout Int) -> Event {
        let count = Int(min(remaining, Int64(end - position)))
        if state != .untilClose { remaining -= Int64(count) }
        let body = position..<(position + count)
        position = body.upperBound
        return .body(body)
    }
}
#endif
