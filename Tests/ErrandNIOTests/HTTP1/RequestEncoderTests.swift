#if SWIFT_NIO
import ErrandCore
import NIOCore
import Testing

@testable import ErrandNIO

@Suite(.timeLimit(.minutes(5)))
struct RequestEncoderTests {
    private static func request(
        _ method: HTTPRequest.Method = .get, _ path: String? = "/", scheme: String? = "https", authority: String? = "a.example",
        _ fields: HTTPFields = [:]
    ) -> HTTPRequest {
        HTTPRequest(method: method, scheme: scheme, authority: authority, path: path, headerFields: fields)
    }

    private static func written(
        _ request: HTTPRequest, _ framing: RequestEncoder.BodyFraming = .none, _ form: RequestEncoder.TargetForm = .origin
    ) throws -> String {
        var buffer = ByteBuffer(string: "before")
        try RequestEncoder.write(request, framing: framing, form: form, into: &buffer)
        #expect(RequestEncoder.problem(of: request, form: form) == nil)
        let text = String(buffer: buffer)
        #expect(text.hasPrefix("before") && text.hasSuffix("\r\n\r\n"))
        return String(text.dropFirst(6))
    }

    @Test func aHeadIsWrittenWithHostFirst() throws {
        let text = try Self.written(Self.request(.get, "/a?b=c", [.accept: "*/*", .userAgent: "x", .custom("X-Own"): ""]))
        #expect(text == "GET /a?b=c HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\nUser-Agent: x\r\nX-Own: \r\n\r\n")
    }

    /// `HTTPFields` splits it, for HTTP/2.
    @Test(arguments: [RequestEncoder.TargetForm.origin, .absolute])
    func aCookieIsWrittenAsOneField(form: RequestEncoder.TargetForm) throws {
        var fields: HTTPFields = [.accept: "*/*"]
        fields[.cookie] = "a=1; b=2; c"
        fields[.userAgent] = "x"
        #expect(fields.count == 5)
        let text = try Self.written(Self.request(.get, "/", fields), .none, form)
        #expect(text.hasSuffix("\r\nAccept: */*\r\nCookie: a=1; b=2; c\r\nUser-Agent: x\r\n\r\n"))
        fields.append(HTTPField(name: .cookie, value: "d=3"))
        #expect(try Self.written(Self.request(.get, "/", fields), .none, form).contains("Cookie: a=1; b=2; c; d=3\r\n"))
    }

    @Test(arguments: [
        (HTTPRequest.Method.get, "/a" as String?, RequestEncoder.TargetForm.origin, "GET /a"),
        (.get, "", .origin, "GET /"),
        (.get, nil, .origin, "GET /"),
        (.get, "?a", .origin, "GET /?a"),
        (.options, "*", .origin, "OPTIONS *"),
        (.get, "/a?b", .absolute, "GET http://a.example:81/a?b"),
        (.get, "", .absolute, "GET http://a.example:81/"),
        (.get, "?a", .absolute, "GET http://a.example:81/?a"),
        (.options, "*", .absolute, "OPTIONS http://a.example:81"),
        (.connect, nil, .authority, "CONNECT a.example:81"),
        (.connect, "/ignored", .authority, "CONNECT a.example:81"),
    ])
    func theTargetHasTheRequestedForm(
        method: HTTPRequest.Method, path: String?, form: RequestEncoder.TargetForm, line: String
    ) throws {
        let text = try Self.written(Self.request(method, path, scheme: "http", authority: "a.example:81"), .none, form)
        #expect(text == line + " HTTP/1.1\r\nHost: a.example:81\r\n\r\n")
    }

    @Test func anOwnHostReplacesTheAuthority() throws {
        let text = try Self.written(Self.request(.get, "/", [.accept: "a", .custom("hOST"): "b.example", .age: "c"]))
        #expect(text == "GET / HTTP/1.1\r\nHost: b.example\r\nAccept: a\r\nAge: c\r\n\r\n")
        let alone = try Self.written(Self.request(authority: nil, [.custom("Host"): "b.example"]))
        #expect(alone == "GET / HTTP/1.1\r\nHost: b.example\r\n\r\n")
        let empty = try Self.written(Self.request(.get, "/", [.custom("Host"): ""]))
        #expect(empty == "GET / HTTP/1.1\r\nHost: \r\n\r\n")
    }

    @Test(arguments: [
        (HTTPRequest.Method.get, RequestEncoder.BodyFraming.none, ""),
        (.delete, .none, ""),
        (.post, .none, "Content-Length: 0\r\n"),
        (.put, .none, "Content-Length: 0\r\n"),
        (.patch, .none, "Content-Length: 0\r\n"),
        (.post, .length(0), "Content-Length: 0\r\n"),
        (.get, .length(5), "Content-Length: 5\r\n"),
        (.post, .length(.max), "Content-Length: 9223372036854775807\r\n"),
        (.post, .chunked, "Transfer-Encoding: chunked\r\n"),
    ])
    func theFramingReplacesFramingFields(method: HTTPRequest.Method, framing: RequestEncoder.BodyFraming, line: String) throws {
        let own: HTTPFields = [.contentLength: "99", .transferEncoding: "gzip", .custom("content-length"): "98", .custom("X"): "y"]
        #expect(
            try Self.written(Self.request(method, "/", own), framing) == "\(method) / HTTP/1.1\r\nHost: a.example\r\nX: y\r\n\(line)\r\n")
    }

    @Test(arguments: [
        (request(.get, "a"), RequestEncoder.TargetForm.origin, UnwritableRequestError.invalidTarget),
        (request(.get, "*"), .origin, .invalidTarget),
        (request(.options, "*a"), .origin, .invalidTarget),
        (request(.get, "/a b"), .origin, .invalidTarget),
        (request(.get, "/a\tb"), .origin, .invalidTarget),
        (request(.get, "/a\u{0}b"), .origin, .invalidTarget),
        (request(.get, "/a\r\nb"), .origin, .invalidTarget),
        (request(.get, "/a#b"), .origin, .invalidTarget),
        (request(.get, "/a#b"), .absolute, .invalidTarget),
        (request(.get, "?a#b"), .origin, .invalidTarget),
        (request(.get, "#b"), .origin, .invalidTarget),
        (request(HTTPRequest.Method("PRI")!, "/"), .origin, .preface),
        (request(HTTPRequest.Method("PRI")!, "*"), .origin, .preface),
        (request(HTTPRequest.Method("PRI")!, "/"), .absolute, .preface),
        (request(.connect, "/"), .origin, .connect),
        (request(.get, "/\u{e9}"), .origin, .invalidTarget),
        (request(.get, "/", scheme: "ht tp"), .absolute, .invalidTarget),
        (request(.get, "/", scheme: nil), .absolute, .missingScheme),
        (request(.get, "/", authority: nil), .absolute, .missingAuthority),
        (request(.get, "/", authority: ""), .absolute, .missingAuthority),
        (request(.connect, nil, authority: nil, [.custom("Host"): "a"]), .authority, .missingAuthority),
        (request(.get, "/", authority: nil), .origin, .missingAuthority),
        (request(.get, "/", authority: ""), .origin, .missingAuthority),
        (request(.get, "/", authority: "me@a.example"), .origin, .invalidAuthority),
        (request(.get, "/", authority: "a.example/b"), .origin, .invalidAuthority),
        (request(.get, "/", authority: "a.example\\b"), .origin, .invalidAuthority),
        (request(.get, "/", authority: "a b"), .authority, .invalidAuthority),
        (request(.get, "/", authority: "\u{e9}"), .origin, .invalidAuthority),
        (
            request(.get, "/", HTTPFields([HTTPField(name: .custom("Host"), value: "a"), HTTPField(name: .custom("host"), value: "b")])),
            .origin,
            .severalHosts
        ),
    ])
    func anInvalidRequestIsRefusedAndNothingIsWritten(
        request: HTTPRequest, form: RequestEncoder.TargetForm, error: UnwritableRequestError
    ) {
        var buffer = ByteBuffer(string: "before")
        #expect(throws: error) { try RequestEncoder.write(request, framing: .none, form: form, into: &buffer) }
        #expect(RequestEncoder.problem(of: request, form: form) == error, "a check without encoding finds the same")
        #expect(String(buffer: buffer) == "before")
        #expect(error.description.contains("request"))
    }

    @Test func noControlCharacterIsWritten() throws {
        // HTTPTypes replaces line breaks, and a lenient value may still have other control characters.
        var request = Self.request(.get, "/a", [.accept: "b\r\nC: d"])
        request.headerFields.append(HTTPField(name: .custom("A"), lenientValue: Array("b\r\nC: d\u{0}".utf8)))
        #expect(try Self.written(request) == "GET /a HTTP/1.1\r\nHost: a.example\r\nAccept: b  C: d\r\nA: b  C: d \r\n\r\n")
        let unsafe = HTTPField(name: .custom("X-Own"), lenientValue: Array("secret\u{1B}".utf8))
        request.headerFields.append(unsafe)
        var buffer = ByteBuffer(string: "before")
        #expect(throws: UnwritableRequestError.unsafeField(UnsafeFieldError(unsafe))) {
            try RequestEncoder.write(request, framing: .none, form: .origin, into: &buffer)
        }
        #expect(throws: UnwritableRequestError.unsafeField(UnsafeFieldError(unsafe))) {
            try RequestEncoder.lastChunk(trailers: HTTPFields([unsafe]), into: &buffer)
        }
        let host = HTTPField(name: .custom("Host"), lenientValue: [1])
        request.headerFields = HTTPFields([host])
        #expect(throws: UnwritableRequestError.unsafeField(UnsafeFieldError(host))) {
            try RequestEncoder.write(request, framing: .none, form: .origin, into: &buffer)
        }
        #expect(String(buffer: buffer) == "before")
        #expect(UnwritableRequestError.unsafeField(UnsafeFieldError(unsafe)).description == UnsafeFieldError(unsafe).description)
    }

    @Test func aValueKeepsItsBytes() throws {
        var request = Self.request()
        request.headerFields.append(HTTPField(name: .custom("A"), value: [0x61, 0xE9, 0x62]))
        var buffer = ByteBuffer()
        try RequestEncoder.write(request, framing: .none, form: .origin, into: &buffer)
        #expect(Array(buffer.readableBytesView).suffix(10) == [0x41, 0x3A, 0x20, 0x61, 0xE9, 0x62, 0x0D, 0x0A, 0x0D, 0x0A])
    }

    @Test(arguments: [0, 1, 90, 100, 700, 1000, 1500, 5000])
    func aHeadOfEveryLengthIsWritten(count: Int) throws {
        let text = String(repeating: "a", count: count)
        let fields: HTTPFields = [.accept: text, .custom("X-A-Name-That-Is-Longer-Than-Most"): text]
        let shared = ByteBuffer(string: "before")
        for form in [RequestEncoder.TargetForm.origin, .absolute, .authority] {
            var buffer = shared
            let request = Self.request(.post, "/" + text, scheme: "http" + text, authority: "a" + text, fields)
            try RequestEncoder.write(request, framing: .length(.max), form: form, into: &buffer)
            #expect(String(buffer: buffer).hasSuffix("\r\nContent-Length: 9223372036854775807\r\n\r\n"))
            try RequestEncoder.lastChunk(trailers: fields, into: &buffer)
            #expect(String(buffer: buffer).hasSuffix("\(text)\r\n\r\n"))
        }
        #expect(String(buffer: shared) == "before")
    }

    @Test(arguments: [
        ("close", true), ("Close", true), ("a, close", true), ("close ,a", true), ("closed", false), ("keep-alive", false), ("", false),
    ])
    func connectionCloseIsFound(value: String, isClosing: Bool) {
        #expect(RequestEncoder.asksToClose([.accept: "close", .connection: value]) == isClosing)
        #expect(RequestEncoder.asksToClose([.connection: "x", .custom("CONNECTION"): value]) == isClosing)
        #expect(!RequestEncoder.asksToClose([:]))
    }

    @Test(arguments: [1, 9, 10, 15, 16, 255, 256, 4095, 65_536, Int(UInt32.max), Int.max])
    func aChunkHeadIsHexadecimal(count: Int) {
        var buffer = ByteBuffer()
        RequestEncoder.chunkHead(count, into: &buffer)
        #expect(String(buffer: buffer) == String(count, radix: 16) + "\r\n")
    }

    @Test func theLastChunkHasTheTrailers() throws {
        var buffer = ByteBuffer()
        try RequestEncoder.lastChunk(trailers: nil, into: &buffer)
        #expect(String(buffer: buffer) == "0\r\n\r\n")
        buffer.clear()
        let trailers: HTTPFields = [
            .custom("X-Sum"): "1", .contentLength: "5", .transferEncoding: "a", .connection: "close", .proxyAuthorization: "p", .eTag: "b",
        ]
        try RequestEncoder.lastChunk(trailers: trailers, into: &buffer)
        #expect(String(buffer: buffer) == "0\r\nX-Sum: 1\r\nETag: b\r\n\r\n")
    }

    /// What was written, read by the parser of responses: only the first line differs.
    @Test(arguments: [["hello", " ", "world"], []])
    func aWrittenRequestIsRead(chunks: [String]) throws {
        let fields: HTTPFields = [.accept: "a", .custom("X-Value"): "\u{e9} b\tc", .userAgent: "x"]
        var buffer = ByteBuffer()
        try RequestEncoder.write(Self.request(.post, "/a?b", fields), framing: .chunked, form: .origin, into: &buffer)
        for chunk in chunks {
            RequestEncoder.chunkHead(chunk.utf8.count, into: &buffer)
            buffer.writeString(chunk)
            RequestEncoder.chunkEnd(into: &buffer)
        }
        try RequestEncoder.lastChunk(trailers: [.custom("X-Sum"): "3"], into: &buffer)
        let text = String(buffer: buffer)
        let line = "POST /a?b HTTP/1.1"
        #expect(text.hasPrefix(line))
        let reading = ResponseReading("HTTP/1.1 200" + text.dropFirst(line.count), piece: { 3 })
        #expect(reading.isComplete && reading.text == chunks.joined())
        #expect(
            reading.fields == ["Host=a.example", "Accept=a", "X-Value=\u{e9} b\tc", "User-Agent=x", "Transfer-Encoding=chunked"])
        #expect(reading.trailers == [.custom("X-Sum"): "3"])
    }
}
#endif
