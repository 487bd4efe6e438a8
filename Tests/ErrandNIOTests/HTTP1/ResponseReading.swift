#if SWIFT_NIO
import ErrandCore

@testable import ErrandNIO

/// The result of a parser for some bytes.
struct ResponseReading: Equatable {
    var interims: [Int] = []
    var head: ResponseHead?
    var body: [UInt8] = []
    var trailers: HTTPFields?
    var isComplete = false
    var error: ResponseParseError?
    /// The bytes after the end of the response.
    var leftover = 0

    var status: Int? { head?.response.status.code }
    var fields: [String] { head.map { $0.response.headerFields.map { "\($0.name.rawName)=\($0.value)" } } ?? [] }
    var text: String { String(decoding: body, as: UTF8.self) }

    /// Reads one response from `bytes`, which arrive in pieces; then the connection ends.
    ///
    /// - Parameter piece: returns the size of each next piece, at least 1.
    init(
        _ bytes: [UInt8], to method: HTTPRequest.Method = .get, limits: ResponseLimits = ResponseLimits(),
        piece: () -> Int = { .max }
    ) {
        var parser = ResponseParser(limits: limits)
        parser.expectResponse(to: method)
        self.init(bytes, with: &parser, piece: piece)
    }

    init(_ bytes: [UInt8], with parser: inout ResponseParser, piece: () -> Int = { .max }) {
        var (read, arrived) = (0, 0)
        do {
            while !isComplete, arrived < bytes.count {
                arrived += min(max(1, piece()), bytes.count - arrived)
                var isWaiting = false
                while !isWaiting, !isComplete {
                    let event = try bytes.withUnsafeBytes { all in
                        let (event, consumed) = try parser.next(in: UnsafeRawBufferPointer(rebasing: all[read..<arrived]))
                        precondition(consumed >= 0 && consumed <= arrived - read, "more was consumed than was passed")
                        if case .body(let range) = event {
                            precondition(range.upperBound == consumed && !range.isEmpty, "a body ends with what was consumed")
                            body += bytes[(read + range.lowerBound)..<(read + range.upperBound)]
                        }
                        read += consumed
                        return event
                    }
                    switch event {
                    case .needsMore: isWaiting = true
                    default: note(event)
                    }
                }
            }
            if !isComplete { note(try parser.endOfInput(pending: arrived - read)) }
            leftover = bytes.count - read
        } catch {
            self.error = error as? ResponseParseError
        }
    }

    init(_ text: String, to method: HTTPRequest.Method = .get, limits: ResponseLimits = ResponseLimits(), piece: () -> Int = { .max }) {
        self.init(Array(text.utf8), to: method, limits: limits, piece: piece)
    }

    private mutating func note(_ event: ResponseParser.Event) {
        switch event {
        case .needsMore, .body: break
        case .interim(let response): interims.append(response.status.code)
        case .head(let head): self.head = head
        case .end(let trailers): (self.trailers, isComplete) = (trailers, true)
        }
    }

    /// Two readings are equal if they have the same outcome. How much an error shows of what is not HTTP depends on what had arrived.
    static func == (left: Self, right: Self) -> Bool {
        func kind(_ error: ResponseParseError?) -> ResponseParseError? { if case .notHTTP = error { .notHTTP("") } else { error } }
        return left.interims == right.interims && left.body == right.body && left.trailers == right.trailers
            && left.isComplete == right.isComplete && kind(left.error) == kind(right.error) && left.leftover == right.leftover
            && left.fields == right.fields && left.head?.response == right.head?.response
            && left.head?.response.status.reasonPhrase == right.head?.response.status.reasonPhrase
            && left.head?.minorVersion == right.head?.minorVersion && left.head?.framing == right.head?.framing
            && left.head?.isPersistent == right.head?.isPersistent && left.head?.keepAliveSeconds == right.head?.keepAliveSeconds
    }
}
#endif
