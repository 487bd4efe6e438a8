/// Parses an event stream (`text/event-stream`,
/// [HTML, section 9.2](https://html.spec.whatwg.org/multipage/server-sent-events.html)).
///
/// ```swift
/// var parser = EventStreamParser()
/// for chunk in chunks {
///     parser.append(chunk)
///     while let item = try parser.next() {
///         if case .event(let event) = item { print(event.data) }
///     }
/// }
/// ```
///
/// The parser refuses a text with more than 128 combining marks in a row. Swift takes quadratic time to compare a text with a long run of
/// combining marks, as in `event.type == "added"`.
///
/// The parser does no I/O. Chunks can end anywhere, also within a character or between CR and LF. The items do not depend on how
/// the bytes are divided into chunks. A byte order mark at the beginning is removed. Octets that are not valid UTF-8 become U+FFFD.
/// An empty line completes an event. If the stream ends before the empty line, the event and its ID are dropped.
public struct EventStreamParser: Sendable {
    /// The default limit of an event: 1 MiB.
    public static let defaultEventLimitBytes = 1024 * 1024

    /// A part of a stream: an event or a comment.
    public enum Item: Sendable, Hashable {
        /// A complete event.
        case event(ServerSentEvent)
        /// A comment: the text after the colon. Servers send empty comments to keep a connection open.
        case comment(String)
    }

    /// The ID of the last complete event, even if that event had no data; empty if no ID is known. When a client connects again, it sends
    /// the ID as `Last-Event-ID`, unless the ID is empty.
    public private(set) var lastEventID: String
    /// The time to wait before a client connects again, from the stream's last `retry` field; `nil` if the stream had no `retry` field. The
    /// time is at most `Int64.max` milliseconds.
    public private(set) var reconnectionTime: Duration?

    private let eventLimitBytes: Int
    private let reportsComments: Bool
    private var lines = LineFinder(.any)
    /// Whether the beginning of the stream was checked for a byte order mark.
    private var isBegun = false
    private var failure: EventTooLargeError?

    // The following properties hold the incomplete event.
    private var id: String
    private var type: String?
    /// The values of the `data` lines, joined by LF.
    private var data: [UInt8] = []
    private var hasData = false
    /// The total size of the event's lines, in bytes.
    private var eventBytes = 0

    /// Creates a parser at the beginning of a stream.
    ///
    /// - Parameters:
    ///   - eventLimitBytes: the largest size of an event, in bytes, at least 1. Default: 1 MiB. Comments and line endings do not
    ///     count. The same limit applies to each comment.
    ///   - reportsComments: whether comments are returned as items. With `false`, the default, comments are dropped.
    ///   - lastEventID: the last event ID of an earlier connection. Events without their own ID get this ID. Default: empty.
    public init(eventLimitBytes: Int = defaultEventLimitBytes, reportsComments: Bool = false, lastEventID: String = "") {
        precondition(eventLimitBytes > 0, "eventLimitBytes must be at least 1 (is \(eventLimitBytes))")
        self.eventLimitBytes = eventLimitBytes
        self.reportsComments = reportsComments
        self.lastEventID = lastEventID
        id = lastEventID
    }

    /// Adds the next bytes of the stream. Before you add more bytes, call ``next()`` until the method returns `nil`, because
    /// unparsed bytes take memory.
    public mutating func append(_ chunk: some Sequence<UInt8>) { chunk.withContiguousBytes { lines.append($0) } }

    /// Returns the next item; `nil` if more bytes are needed.
    ///
    /// - Throws: ``EventTooLargeError`` for an event or a comment that exceeds a limit. Each later call throws the same error.
    public mutating func next() throws(EventTooLargeError) -> Item? {
        if let failure { throw failure }
        guard isBegun || removeByteOrderMark() else { return nil }
        while let line = lines.next() {
            if line.isEmpty {
                if let event = try completeEvent() { return .event(event) }
            } else if let comment = try read(line) {
                return .comment(comment)
            }
        }
        try checkSize(lines.pending)
        return nil
    }

    /// Removes a byte order mark. Returns false if the bytes may be an incomplete byte order mark.
    private mutating func removeByteOrderMark() -> Bool {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let first = lines.bytes[lines.pending].prefix(mark.count)
        if first.count < mark.count, mark.starts(with: first) { return false }
        if first.elementsEqual(mark) { lines.drop(mark.count) }
        isBegun = true
        return true
    }

    /// Checks a complete or incomplete line against the limit. Returns whether the line is a comment.
    @discardableResult
    private mutating func checkSize(_ line: Range<Int>) throws(EventTooLargeError) -> Bool {
        let isComment = !line.isEmpty && lines.bytes[line.lowerBound] == UInt8(ascii: ":")
        guard line.count <= eventLimitBytes - (isComment ? 0 : eventBytes) else {
            throw fail(.bytes(eventLimitBytes))
        }
        return isComment
    }

    /// Returns the error, which each later call also throws.
    private mutating func fail(_ limit: EventTooLargeError.Limit) -> EventTooLargeError {
        let error = EventTooLargeError(limit)
        failure = error
        (lines, data) = (LineFinder(.any), [])
        return error
    }

    /// Returns octets as text; `nil` if the text has too many combining marks in a row.
    private static func text(_ octets: UnsafeBufferPointer<UInt8>) -> String? {
        MarkRun.isTooLong(in: UnsafeRawBufferPointer(octets)) ? nil : String(decoding: octets, as: UTF8.self)
    }

    /// Fails if `text` is `nil`.
    private mutating func checked(_ text: String?) throws(EventTooLargeError) -> String {
        guard let text else { throw fail(.combiningMarks(MarkRun.limit)) }
        return text
    }

    /// Reads a line that is not empty. Returns the text of a comment, if the parser reports comments.
    private mutating func read(_ line: Range<Int>) throws(EventTooLargeError) -> String? {
        if try checkSize(line) {
            return reportsComments ? try checked(lines.bytes[line].dropFirst().withUnsafeBufferPointer(Self.text)) : nil
        }
        eventBytes += line.count
        let (name, value) = field(of: line)
        switch name {
        case .data:
            if hasData { data.append(0x0A) }
            hasData = true
            data.append(contentsOf: lines.bytes[value])
        case .event:
            type = value.isEmpty ? nil : try checked(lines.bytes[value].withUnsafeBufferPointer(Self.text))
        case .id:
            if !lines.bytes[value].contains(0) { id = try checked(lines.bytes[value].withUnsafeBufferPointer(Self.text)) }
        case .retry:
            if let time = milliseconds(lines.bytes[value]) { reconnectionTime = time }
        case nil: break
        }
        return nil
    }

    private enum Field { case data, event, id, retry }

    private func field(of line: Range<Int>) -> (name: Field?, value: Range<Int>) {
        lines.bytes.withUnsafeBufferPointer { bytes in
            let name: Field
            let length: Int
            switch bytes[line.lowerBound] {
            case UInt8(ascii: "d"): (name, length) = (.data, 4)
            case UInt8(ascii: "e"): (name, length) = (.event, 5)
            case UInt8(ascii: "i"): (name, length) = (.id, 2)
            case UInt8(ascii: "r"): (name, length) = (.retry, 5)
            default: return (nil, line)
            }
            let end = line.lowerBound + length
            guard end <= line.upperBound, Self.text(of: name, equals: bytes, from: line.lowerBound) else { return (nil, line) }
            guard end < line.upperBound else { return (name, end..<end) }
            guard bytes[end] == UInt8(ascii: ":") else { return (nil, line) }
            let hasSpace = end + 1 < line.upperBound && bytes[end + 1] == UInt8(ascii: " ")
            return (name, (end + (hasSpace ? 2 : 1))..<line.upperBound)
        }
    }

    private static func text(of name: Field, equals bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Bool {
        let text: StaticString =
            switch name {
            case .data: "data"
            case .event: "event"
            case .id: "id"
            case .retry: "retry"
            }
        for offset in 0..<text.utf8CodeUnitCount where bytes[start + offset] != text.utf8Start[offset] { return false }
        return true
    }

    /// Reads milliseconds; `nil` unless all octets are ASCII digits. A number beyond the range of `Int64` is treated as
    /// `Int64.max`.
    private func milliseconds(_ digits: ArraySlice<UInt8>) -> Duration? {
        guard !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit) else { return nil }
        return .milliseconds(Int64(String(decoding: digits, as: UTF8.self)) ?? .max)
    }

    /// Ends the event at its empty line. Returns the event if it has data.
    private mutating func completeEvent() throws(EventTooLargeError) -> ServerSentEvent? {
        defer { (type, hasData, eventBytes) = (nil, false, 0) }
        lastEventID = id
        guard hasData else { return nil }
        defer { data.removeAll(keepingCapacity: true) }
        let text = try checked(data.withUnsafeBufferPointer(Self.text))
        return ServerSentEvent(data: text, type: type ?? ServerSentEvent.defaultType, lastEventID: id)
    }
}

extension EventStreamParser: CustomReflectable {
    /// The mirror shows the limit, and shows no bytes of the stream.
    public var customMirror: Mirror { Mirror(self, children: ["eventLimitBytes": eventLimitBytes]) }
}
