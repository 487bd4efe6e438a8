#if SWIFT_NIO
import ErrandCore
import Testing

@testable import ErrandNIO

@Suite(.timeLimit(.minutes(5)))
struct ResponseParserTests {
    // MARK: The status line

    @Test(arguments: [
        ("HTTP/1.1 200 OK", 200, "OK", 1),
        ("HTTP/1.0 404 Not Found", 404, "Not Found", 0),
        ("HTTP/1.9 299 ", 299, "", 9),
        ("HTTP/1.1 301", 301, "", 1),
        ("HTTP/1.1 200  OK", 200, " OK", 1),
        ("HTTP/1.1 999 a\tb", 999, "a\tb", 1),
        ("HTTP/1.1 500 Oriëntatieprobleem", 500, "Oriëntatieprobleem", 1),
        ("\r\nHTTP/1.1 200 OK", 200, "OK", 1),
    ])
    func aStatusLineIsRead(line: String, status: Int, reason: String, minorVersion: Int) {
        let reading = ResponseReading(line + "\r\nContent-Length: 0\r\n\r\n")
        #expect(reading.error == nil && reading.isComplete)
        #expect(reading.status == status)
        #expect(reading.head?.response.status.reasonPhrase == reason)
        #expect(reading.head?.minorVersion == minorVersion)
    }

    @Test(arguments: [
        ("HTP/1.1 200 OK\r\n\r\n", ResponseParseError.notHTTP("HTP/1.1 200 OK\\x0D")),
        ("\u{15}\u{3}\u{1}", .otherProtocol(.tls)),
        ("\u{5}\u{7}", .otherProtocol(.socks5)),
        // SETTINGS, empty and with a parameter, after an empty line, and GOAWAY; then what is no such frame.
        ("\0\0\0\u{4}\0\0\0\0\0", .otherProtocol(.http2)),
        ("\0\0\u{6}\u{4}\0\0\0\0\0\0\u{3}\0\0\0\u{64}", .otherProtocol(.http2)),
        ("\r\n\0\0\u{12}\u{4}\0\0\0\0\0", .otherProtocol(.http2)),
        ("\0\0\u{8}\u{7}\0\0\0\0\0", .otherProtocol(.http2)),
        ("\0\0\0\u{5}", .notHTTP("\\x00\\x00\\x00\\x05")),
        ("\0\u{41}", .notHTTP("\\x00A")),
        ("\0\0\0\u{4}\0\0\0\0\u{1}", .notHTTP("\\x00\\x00\\x00\\x04\\x00\\x00\\x00\\x00\\x01")),
        ("\u{6}", .notHTTP("\\x06")),
        ("\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", .notHTTP("\\x0D")),
        ("\nHTTP/1.1 200 OK\r\n\r\n", .bareLineFeed),
        ("\rHTTP/1.1 200 OK\r\n\r\n", .bareCarriageReturn),
        ("HTTP/2.0 200 OK\r\n\r\n", .unsupportedVersion("HTTP/2.0 200 OK")),
        ("HTTP/11.1 200 OK\r\n\r\n", .unsupportedVersion("HTTP/11.1 200 OK")),
        ("HTTP/1.01 200 OK\r\n\r\n", .unsupportedVersion("HTTP/1.01 200 OK")),
        ("HTTP/\r\n\r\n", .unsupportedVersion("HTTP/")),
        ("HTTP/1.1\r\n\r\n", .invalidStatusLine("HTTP/1.1")),
        ("HTTP/1.1\t200 OK\r\n\r\n", .invalidStatusLine("HTTP/1.1\\x09200 OK")),
        ("HTTP/1.1  200 OK\r\n\r\n", .invalidStatusLine("HTTP/1.1  200 OK")),
        ("HTTP/1.1 20 OK\r\n\r\n", .invalidStatusLine("HTTP/1.1 20 OK")),
        ("HTTP/1.1 2000 OK\r\n\r\n", .invalidStatusLine("HTTP/1.1 2000 OK")),
        ("HTTP/1.1 200\tOK\r\n\r\n", .invalidStatusLine("HTTP/1.1 200\\x09OK")),
        ("HTTP/1.1 200 O\u{0}K\r\n\r\n", .invalidStatusLine("HTTP/1.1 200 O\\x00K")),
        ("HTTP/1.1 200 a very long reason phrase\u{0}\r\n\r\n", .invalidStatusLine("HTTP/1.1 200 a very long reason …")),
        ("HTTP/1.1 099 No\r\n\r\n", .invalidStatusCode(99)),
        ("HTTP/1.1 200 OK\rA: b\r\n\r\n", .bareCarriageReturn),
        ("HTTP/1.1 200 OK\rA: b\n\n", .bareCarriageReturn),
    ])
    func anInvalidStatusLineIsRefused(text: String, error: ResponseParseError) {
        #expect(ResponseReading(text).error == error)
    }

    // MARK: Fields

    @Test func fieldsKeepTheirNamesValuesAndOrder() {
        let reading = ResponseReading(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\ncontent-type:a\r\nCONTENT-TYPE:  b\t\r\nX-Own_Name!: x y\tz \r\nEmpty:\r\n"
                + "content-length: 0\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\n")
        #expect(reading.error == nil)
        #expect(
            reading.fields == [
                "Content-Type=text/html", "content-type=a", "CONTENT-TYPE=b", "X-Own_Name!=x y\tz", "Empty=", "content-length=0",
                "Set-Cookie=a=1", "Set-Cookie=b=2",
            ])
    }

    @Test func onlyUsualNamesAreFound() {
        let names = [
            "Accept-Ranges", "Age", "Cache-Control", "Connection", "Content-Length", "Content-Type", "Date", "ETag", "Keep-Alive", "Server",
            "Strict-Transport-Security", "Transfer-Encoding", "Via", "X-Request-Id",
        ]
        func entry(_ name: String) -> UsualFieldNames.Entry? {
            Array(name.utf8).withUnsafeBufferPointer { UsualFieldNames.shared.entry($0) }
        }
        for name in names + names.map({ $0.lowercased() }) {
            #expect(entry(name)?.name.rawName == name)
            #expect(entry(name)?.name.canonicalName == name.lowercased())
            #expect(entry(name + "x") == nil)
            #expect(entry(String(name.dropLast())) == nil)
        }
        #expect(entry("") == nil)
        #expect(entry("DATE") == nil)
    }

    @Test func aValueIsUTF8OrISO8859() {
        let start = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nA: ".utf8)
        let end = Array("\r\n\r\n".utf8)
        #expect(ResponseReading(start + [0xC3, 0xA9] + end).fields.last == "A=é")
        #expect(ResponseReading(start + [0x61, 0xE9, 0xFF, 0x80] + end).fields.last == "A=aéÿ\u{80}")
        let all = String(String.UnicodeScalarView((UInt8(0x80)...0xFF).map { Unicode.Scalar($0) }))
        #expect(ResponseReading(start + Array(0x80...0xFF) + end).fields.last == "A=" + all)
    }

    /// A request must have the bytes that the server has sent.
    @Test(arguments: [
        ("Location", "/caf\\xE9?q=\\xFF", "/caf%E9?q=%FF"), ("Location", "/caf\\xC3\\xA9", "/café"), ("Content-Location", "/\\xE9", "/%E9"),
        ("Link", "</caf\\xE9>; rel=next; title=\"\\xE9\", </\\xFF>", "</caf%E9>; rel=next; title=\"é\", </%FF>"),
        ("Link", "\\xE9 </\\xE9>", "é </%E9>"), ("X-Location", "/\\xE9", "/é"),
    ])
    func bytesOfAURLThatAreNotUTF8AreEscaped(name: String, value: String, expected: String) throws {
        var bytes: [UInt8] = []
        for (index, part) in value.split(separator: "\\x", omittingEmptySubsequences: false).enumerated() {
            if index > 0 { bytes.append(try #require(UInt8(part.prefix(2), radix: 16))) }
            bytes += part.dropFirst(index > 0 ? 2 : 0).utf8
        }
        let reading = ResponseReading(Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\(name): ".utf8) + bytes + Array("\r\n\r\n".utf8))
        #expect(reading.fields.last == "\(name)=\(expected)")
    }

    @Test(arguments: [
        ("A : b", ResponseParseError.invalidFieldName("A ")),
        ("A\t: b", .invalidFieldName("A\\x09")),
        (": b", .invalidFieldName("")),
        ("A(: b", .invalidFieldName("A(")),
        ("Ä: b", .invalidFieldName("\\xC3\\x84")),
        ("A\u{0}: b", .invalidFieldName("A\\x00")),
        ("no colon", .fieldWithoutColon(line: 2)),
        ("A: b\rc", .bareCarriageReturn),
        ("A: b\r\r", .bareCarriageReturn),
        ("A: b\r\r\n c", .bareCarriageReturn),
        ("A: b\r\n c\rd", .bareCarriageReturn),
        ("A: b\r\n c\u{0}", .invalidFieldValue(name: "A")),
        ("A\r\n B: c", .invalidFieldName("A\\x0D\\x0A B")),
        ("A\r\n : c", .invalidFieldName("A\\x0D\\x0A ")),
        ("no\r\n colon", .fieldWithoutColon(line: 2)),
        ("A: b\u{0}c", .invalidFieldValue(name: "A")),
        ("A: b\u{7F}c", .invalidFieldValue(name: "A")),
        ("A: 1234567\u{1}c", .invalidFieldValue(name: "A")),
        ("A: 12345678901\u{1B}2345678901", .invalidFieldValue(name: "A")),
    ])
    func anInvalidFieldIsRefused(line: String, error: ResponseParseError) {
        let reading = ResponseReading("HTTP/1.1 200 OK\r\nServer: x\r\n\(line)\r\nContent-Length: 0\r\n\r\n")
        #expect(reading.error == error)
        // The same in trailers.
        let trailers = ResponseReading("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nServer: x\r\n\(line)\r\n\r\n")
        #expect(trailers.error == reading.error)
    }

    // MARK: Lines that end otherwise

    @Test(arguments: [
        "HTTP/1.1 200 OK\nA: b\nContent-Length: 2\n\nok", "HTTP/1.1 200 OK\r\nA: b\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\nok", "HTTP/1.1 200 OK\nA: b\r\nContent-Length: 2\r\n\r\nok",
        "\r\nHTTP/1.1 200 OK\nA: b\nContent-Length: 2\n\nok", "HTTP/1.1 103 A\n\nHTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nA:\n b\r\nContent-Length: 2\r\n\r\nok",
    ])
    func aLineOfAHeadCanEndWithALineFeedOnly(text: String) {
        for piece in [1, Int.max] {
            let reading = ResponseReading(text, piece: { piece })
            #expect(reading.error == nil && reading.isComplete && reading.leftover == 0)
            #expect(reading.fields == ["A=b", "Content-Length=2"] && reading.text == "ok")
            // Nothing is sent over this connection again.
            #expect(reading.head?.isPersistent == false)
        }
    }

    @Test func aLineOfTrailersCanEndWithALineFeedOnly() {
        for trailers in ["A: b\n\r\n", "A: b\r\n\n", "A: b\n\n", "A:\n b\n\n"] {
            var parser = ResponseParser(limits: ResponseLimits())
            parser.expectResponse(to: .get)
            let reading = ResponseReading(
                Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\(trailers)".utf8), with: &parser)
            #expect(reading.error == nil && reading.isComplete)
            #expect(reading.trailers?.map { "\($0.name.rawName)=\($0.value)" } == ["A=b"])
            #expect(reading.head?.isPersistent == true && parser.isDoubtful)
            parser.expectResponse(to: .get)
            #expect(!parser.isDoubtful)
        }
    }

    /// Between a proxy's heads, nothing may be read in two ways.
    @Test(arguments: ["HTTP/1.1 200 OK\n\r\n", "HTTP/1.1 200 OK\r\nA: b\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n\n", "HTTP/1.1 103 A\r\n\n"])
    func aResponseToConnectNeedsCRLF(text: String) {
        #expect(ResponseReading(text, to: .connect).error == .bareLineFeed)
    }

    @Test(arguments: [
        ("A: b\r\n c", "b c"), ("A: b \t\r\n\t \tc", "b c"), ("A:\r\n b", "b"), ("A: b\r\n ", "b"), ("A: b\r\n \r\n  c\r\n\td ", "b c d"),
        ("A: default-src 'self';\r\n    img-src *", "default-src 'self'; img-src *"), ("A: \u{E9}\r\n \u{E9}", "\u{E9} \u{E9}"),
    ])
    func aFoldedLineIsUnfolded(line: String, value: String) {
        for piece in [1, Int.max] {
            let reading = ResponseReading("HTTP/1.1 200 OK\r\n\(line)\r\nContent-Length: 0\r\n\r\n", piece: { piece })
            #expect(reading.error == nil && reading.fields == ["A=\(value)", "Content-Length=0"])
            #expect(reading.head?.isPersistent == true)
            let trailers = ResponseReading(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\(line)\r\n\r\n", piece: { piece })
            #expect(trailers.trailers?.map(\.value) == [value])
        }
    }

    @Test(arguments: [
        ("Content-Length:\r\n 5", ResponseHead.Framing.length(5)), ("Transfer-Encoding:\r\n\tchunked", .chunked),
        ("Content-Length: 5,\r\n 5", .length(5)),
    ])
    func theFramingIsReadFromTheWholeField(fields: String, framing: ResponseHead.Framing) {
        #expect(ResponseReading("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n").head?.framing == framing)
    }

    @Test(arguments: [
        ("Transfer-Encoding: chunked\r\n  abc", ResponseParseError.unsupportedTransferCoding),
        ("Content-Length: 5\r\n 5", .invalidContentLength), ("Content-Length: 5,\r\n 6", .differentContentLengths),
        (" A: b", .continuesNothing), ("\tA: b\r\nB: c", .continuesNothing),
    ])
    func aFoldedLineDoesNotHideTheFraming(fields: String, error: ResponseParseError) {
        #expect(ResponseReading("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n").error == error)
    }

    @Test func everyByteOfANameOrValueIsJudgedByItsGrammar() {
        for byte in UInt8.min...UInt8.max where byte != UInt8(ascii: ":") && byte != 0x0A {
            let start = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n".utf8)
            let isToken = byte.isTokenOctet
            let letters = Array("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
            #expect(isToken == letters.contains(byte))
            #expect((ResponseReading(start + [0x61, byte, 0x61, 0x3A, 0x0D, 0x0A, 0x0D, 0x0A]).error == nil) == isToken, "name \(byte)")
            for count in [0, 3, 7, 8, 20] {
                let value = [UInt8](repeating: 0x61, count: count) + [byte] + [UInt8](repeating: 0x61, count: 9)
                let isValue = byte == 0x09 || byte >= 0x20 && byte != 0x7F
                let reading = ResponseReading(start + [0x61, 0x3A] + value + [0x0D, 0x0A, 0x0D, 0x0A])
                #expect((reading.error == nil) == isValue, "value \(byte)")
            }
        }
    }

    // MARK: Framing

    @Test(arguments: [
        ("Content-Length: 5", ResponseHead.Framing.length(5)),
        ("Content-Length: 0", .length(0)),
        ("Content-Length:\t5\t", .length(5)),
        ("Content-Length: 005", .length(5)),
        ("Content-Length: 5\r\ncontent-length: 5", .length(5)),
        ("Content-Length: 5, 5 ,5", .length(5)),
        ("Content-Length: 9223372036854775807", .length(.max)),
        ("Transfer-Encoding: chunked", .chunked),
        ("TRANSFER-ENCODING: ChunKed", .chunked),
        ("X: y", .untilClose),
    ])
    func theFieldsDecideTheEndOfTheBody(fields: String, framing: ResponseHead.Framing) {
        let reading = ResponseReading("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n")
        #expect(reading.head?.framing == framing)
    }

    @Test(arguments: [
        ("Content-Length: -5", ResponseParseError.invalidContentLength),
        ("Content-Length: +5", .invalidContentLength),
        ("Content-Length: 0x5", .invalidContentLength),
        ("Content-Length: 5 5", .invalidContentLength),
        ("Content-Length:", .invalidContentLength),
        ("Content-Length: 5,", .invalidContentLength),
        ("Content-Length: 5, a", .invalidContentLength),
        ("Content-Length: 9223372036854775808", .invalidContentLength),
        ("Content-Length: 99999999999999999999999", .invalidContentLength),
        ("Content-Length: 5\r\nContent-Length: 6", .differentContentLengths),
        ("Content-Length: 5, 6", .differentContentLengths),
        ("Content-Length: 5, 6, 5", .differentContentLengths),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked", .contentLengthAndTransferEncoding),
        ("Transfer-Encoding: gzip\r\nContent-Length: x", .contentLengthAndTransferEncoding),
        ("Transfer-Encoding: gzip", .unsupportedTransferCoding),
        ("Transfer-Encoding: gzip, chunked", .unsupportedTransferCoding),
        ("Transfer-Encoding: identity", .unsupportedTransferCoding),
        ("Transfer-Encoding:", .unsupportedTransferCoding),
        ("Transfer-Encoding: , chunked", .unsupportedTransferCoding),
        ("Transfer-Encoding: chunked;a=b", .unsupportedTransferCoding),
        ("Transfer-Encoding: xchunked", .unsupportedTransferCoding),
        ("Transfer-Encoding: chunked, gzip", .chunkedNotLast),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", .chunkedNotLast),
        ("Transfer-Encoding: chunked,", .chunkedNotLast),
    ])
    func contradictoryOrUnknownFramingIsRefused(fields: String, error: ResponseParseError) {
        #expect(ResponseReading("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n").error == error)
    }

    @Test func aTransferEncodingInHTTP10IsRefused() {
        #expect(ResponseReading("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").error == .transferEncodingInHTTP10)
    }

    @Test(arguments: [
        ("HEAD", 200, "Content-Length: 5"), ("HEAD", 200, "Transfer-Encoding: chunked"), ("HEAD", 404, "X: y"),
        ("HEAD", 200, "Transfer-Encoding: gzip"), ("GET", 204, "Content-Length: 5"), ("GET", 204, "X: y"),
        ("GET", 304, "Transfer-Encoding: chunked"), ("GET", 304, "Content-Length: 5"), ("GET", 101, "Content-Length: 5"),
        ("GET", 101, "Upgrade: websocket"), ("CONNECT", 200, "X: y"), ("CONNECT", 299, "Content-Length: 5\r\nTransfer-Encoding: x"),
    ])
    func someResponsesHaveNoBody(method: String, status: Int, fields: String) throws {
        let method = try #require(HTTPRequest.Method(method))
        let reading = ResponseReading("HTTP/1.1 \(status) X\r\n\(fields)\r\n\r\n12345", to: method)
        #expect(reading.head?.framing == ResponseHead.Framing.none)
        #expect(reading.isComplete && reading.body.isEmpty && reading.leftover == 5)
    }

    @Test func aRefusedConnectHasABody() {
        let reading = ResponseReading("HTTP/1.1 407 No\r\nContent-Length: 5\r\n\r\n12345", to: .connect)
        #expect(reading.text == "12345" && reading.isComplete)
    }

    /// There is no body whose end could be uncertain. The connection is not used again.
    @Test(arguments: [("HEAD", 200), ("HEAD", 404), ("GET", 204), ("GET", 304)], ["HTTP/1.1", "HTTP/1.0"])
    func bothFramingsAreAcceptedWithoutABody(_ example: (method: String, status: Int), version: String) throws {
        let method = try #require(HTTPRequest.Method(example.method))
        let fields = "Content-Length: 4\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive"
        let reading = ResponseReading("\(version) \(example.status) X\r\n\(fields)\r\n\r\n", to: method)
        #expect(reading.isComplete && reading.head?.framing == ResponseHead.Framing.none && reading.head?.isPersistent == false)
        let interim = ResponseReading("\(version) 103 X\r\n\(fields)\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(interim.isComplete && interim.head?.isPersistent == false)
    }

    @Test(arguments: ["HEAD", "GET"])
    func anInvalidLengthIsRefusedWithoutABody(method: String) throws {
        let method = try #require(HTTPRequest.Method(method))
        for status in [103, 204, 304] {
            let reading = ResponseReading("HTTP/1.1 \(status) X\r\nContent-Length: x\r\nTransfer-Encoding: chunked\r\n\r\n", to: method)
            #expect(reading.error == .invalidContentLength)
        }
    }

    @Test(arguments: [
        ("HTTP/1.1", "X: y", true), ("HTTP/1.1", "Connection: close", false), ("HTTP/1.1", "Connection: CLOSE", false),
        ("HTTP/1.1", "Connection: a, close ,b", false), ("HTTP/1.1", "Connection: a\r\nConnection: close", false),
        ("HTTP/1.1", "Connection: closed", true), ("HTTP/1.1", "Proxy-Connection: close", true), ("HTTP/1.0", "X: y", false),
        ("HTTP/1.0", "Connection: keep-alive", true), ("HTTP/1.0", "Connection: Keep-Alive", true),
        ("HTTP/1.0", "Connection: keep-alive, close", false), ("HTTP/1.2", "X: y", true),
    ])
    func theFieldsDecideWhetherTheConnectionPersists(version: String, fields: String, isPersistent: Bool) {
        let reading = ResponseReading("\(version) 200 OK\r\nContent-Length: 0\r\n\(fields)\r\n\r\n")
        #expect(reading.head?.isPersistent == isPersistent)
        let untilClose = ResponseReading("\(version) 200 OK\r\n\(fields)\r\n\r\n")
        #expect(untilClose.head?.isPersistent == false)
    }

    @Test(arguments: [
        ("timeout=5", 5), ("max=100, timeout=5", 5), ("Timeout=15, max=3", 15), ("timeout=0", 0), ("timeout=", nil), ("timeout=a", nil),
        ("timeout=-1", nil), ("timeout=99999999999999999999", nil), ("5", nil), ("", nil), ("timeout=5\r\nKeep-Alive: timeout=9", 5),
    ])
    func theHintOfTheServerIsRead(value: String, seconds: Int?) {
        let reading = ResponseReading("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: \(value)\r\n\r\n")
        #expect(reading.isComplete)
        #expect(reading.head?.keepAliveSeconds == seconds)
    }

    // MARK: Interim responses

    @Test func interimResponsesComeFirst() {
        let reading = ResponseReading(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\nLink: b\r\n\r\nHTTP/1.1 199\r\nContent-Length: 5\r\n\r\n"
                + "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nab")
        #expect(reading.interims == [100, 103, 199])
        #expect(reading.status == 201 && reading.text == "ab")
        #expect(reading.fields == ["Content-Length=2"])
    }

    @Test func thirtyTwoInterimResponsesAreRead() {
        let interim = "HTTP/1.1 102 Processing\r\n\r\n"
        let final = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        let reading = ResponseReading(String(repeating: interim, count: 32) + final)
        #expect(reading.interims.count == 32 && reading.isComplete)
        // Each request may have as many.
        var parser = ResponseParser(limits: ResponseLimits())
        for _ in 0..<2 {
            parser.expectResponse(to: .get)
            #expect(ResponseReading(Array((String(repeating: interim, count: 32) + final).utf8), with: &parser).isComplete)
        }
        let tooMany = ResponseReading(String(repeating: interim, count: 33) + final)
        #expect(tooMany.interims.count == 32)
        #expect(tooMany.error == .tooManyInterimResponses(limit: 32))
        var limits = ResponseLimits()
        limits.interimResponseCount = 40
        #expect(ResponseReading(String(repeating: interim, count: 40) + final, limits: limits).isComplete)
        limits.interimResponseCount = 0
        #expect(ResponseReading(final, limits: limits).isComplete)
        #expect(ResponseReading(interim + final, limits: limits).error == .tooManyInterimResponses(limit: 0))
    }

    // MARK: Chunks

    @Test(arguments: [
        ("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world"),
        ("A\r\n0123456789\r\n00\r\n\r\n", "0123456789"),
        ("000000000000001\r\na\r\n000000000000000\r\n\r\n", "a"),
        ("1;a\r\nx\r\n1;a=b;c\r\ny\r\n1 ; a = \"q;\\\"\u{e9}\" ;b\r\nz\r\n0;x=y\r\n\r\n", "xyz"),
        ("0\r\n\r\n", ""),
        ("5   \r\nhello\r\n0     \r\n\r\n", "hello"),
        ("5\t \r\nhello\r\n0;\r\n\r\n", "hello"),
        ("5;\r\nhello\r\n0 ; \t\r\n\r\n", "hello"),
        ("5;a=b  \r\nhello\r\n0;a;\r\n\r\n", "hello"),
    ])
    func chunksAreJoined(chunks: String, body: String) {
        let reading = ResponseReading("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)rest")
        #expect(reading.error == nil)
        #expect(reading.text == body && reading.trailers == nil && reading.leftover == 4)
    }

    @Test(arguments: [
        ("zz\r\n", ResponseParseError.invalidChunkSize("zz")),
        ("\r\n", .invalidChunkSize("")),
        ("-1\r\n", .invalidChunkSize("-1")),
        ("0x5\r\n", .invalidChunkSize("0x5")),
        (" 5\r\n", .invalidChunkSize(" 5")),
        (" \r\n", .invalidChunkSize(" ")),
        (";\r\n", .invalidChunkSize(";")),
        ("5 a\r\n", .invalidChunkSize("5 a")),
        ("5\r;\r\n", .invalidChunkSize("5\\x0D;")),
        ("0000000000000001\r\n", .chunkSizeTooLong(limitDigits: 15)),
        ("5;;\r\n", .invalidChunkExtension),
        ("5;;a\r\n", .invalidChunkExtension),
        ("5;a=\r\n", .invalidChunkExtension),
        ("5;a= \r\n", .invalidChunkExtension),
        ("5;a b/c\r\n", .invalidChunkExtension),
        ("5 ;\rb\r\n", .invalidChunkExtension),
        ("5;a b\r\n", .invalidChunkExtension),
        ("5;a=\"b\r\n", .invalidChunkExtension),
        ("5;a=\"b\\\"\r\n", .invalidChunkExtension),
        ("5;a=\"b\rc\"\r\n", .invalidChunkExtension),
        ("5;a=\u{0}\r\n", .invalidChunkExtension),
        ("5\nhello", .bareLineFeed),
        ("5;\nhello", .bareLineFeed),
        ("0\n\r\n", .bareLineFeed),
        ("5\r\nhello5\r\n", .chunkWithoutLineEnd),
        ("5\r\nhello\n5", .chunkWithoutLineEnd),
        ("5\r\nhello\rx", .chunkWithoutLineEnd),
        ("5\r\nhell", .endedInChunks),
        ("5\r\nhello\r\n", .endedInChunks),
        ("0\r\n", .endedInTrailers),
        ("0\r\nA: b\r\n", .endedInTrailers),
    ])
    func anInvalidChunkIsRefused(chunks: String, error: ResponseParseError) {
        #expect(ResponseReading("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)").error == error)
    }

    @Test func trailersAreReadWithoutFramingFields() {
        let reading = ResponseReading(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 1\r\nContent-Length: 5\r\nTransfer-Encoding: x\r\n"
                + "Connection: close\r\nkeep-alive: timeout=1\r\nHost: a\r\nTrailer: b\r\nTE: c\r\nUpgrade: d\r\nx-sum: 2\r\n\r\n")
        #expect(reading.error == nil && reading.text == "a")
        #expect(reading.trailers?.map(\.value) == ["1", "2"])
        #expect(reading.head?.isPersistent == true)
        let dropped = ResponseReading("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nHost: a\r\n\r\n")
        #expect(dropped.isComplete && dropped.trailers == nil)
    }

    // MARK: Limits

    @Test func theBytesOfAHeadAreLimited() {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nServer: something\r\n\r\n"
        for piece in [1, Int.max] {
            var limits = ResponseLimits()
            limits.headBytes = head.utf8.count
            #expect(ResponseReading(head, limits: limits, piece: { piece }).isComplete)
            // Each head has the bound on its own.
            #expect(ResponseReading("HTTP/1.1 103 A\r\nLink: something\r\n\r\n" + head, limits: limits, piece: { piece }).isComplete)
            // The empty line before it counts.
            let error = ResponseReading("\r\n" + head, limits: limits, piece: { piece }).error
            #expect(error == .headTooLong(limitBytes: head.utf8.count))
            for bytes in 5..<head.utf8.count {
                limits.headBytes = bytes
                #expect(ResponseReading(head, limits: limits, piece: { piece }).error == .headTooLong(limitBytes: bytes))
            }
        }
    }

    @Test func theFieldsOfAHeadAreLimited() {
        var limits = ResponseLimits()
        limits.fieldCount = 3
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nA: b\r\nA: b\r\n"
        #expect(ResponseReading(head + "\r\n", limits: limits).isComplete)
        #expect(ResponseReading(head + "A: b\r\n\r\n", limits: limits).error == .tooManyFields(limit: 3))
        limits.fieldCount = 65_534
        let many = "HTTP/1.1 204 A\r\n" + String(repeating: "a:\r\n", count: 65_534)
        #expect(ResponseReading(many + "\r\n", limits: limits).head?.response.headerFields.count == nil)  // more than 256 KiB
        limits.headBytes = 1 << 20
        #expect(ResponseReading(many + "\r\n", limits: limits).head?.response.headerFields.count == 65_534)
        #expect(ResponseReading(many + "a:\r\n\r\n", limits: limits).error == .tooManyFields(limit: 65_534))
    }

    @Test func trailersAreLimited() {
        let start = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
        let trailers = "A: 01234567890123456789012345678901234567890123456789\r\nHost: b\r\n\r\n"
        var limits = ResponseLimits()
        limits.headBytes = trailers.utf8.count
        for piece in [1, Int.max] {
            limits.headBytes = trailers.utf8.count
            #expect(ResponseReading(start + trailers, limits: limits, piece: { piece }).isComplete)
            limits.headBytes -= 1
            let error = ResponseReading(start + trailers, limits: limits, piece: { piece }).error
            #expect(error == .trailersTooLong(limitBytes: limits.headBytes))
        }
        limits = ResponseLimits()
        limits.fieldCount = 2
        #expect(ResponseReading(start + trailers, limits: limits).isComplete)
        limits.fieldCount = 1
        #expect(ResponseReading(start + trailers, limits: limits).error == .tooManyTrailers(limit: 1))
    }

    @Test func theLinesOfChunksAreLimited() {
        let start = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        func line(_ bytes: Int) -> String { "1;" + String(repeating: "a", count: bytes - 4) + "\r\n" }
        for piece in [1, Int.max] {
            #expect(ResponseReading(start + line(4096) + "a\r\n0\r\n\r\n", piece: { piece }).text == "a")
            let error = ResponseReading(start + line(4097) + "a\r\n0\r\n\r\n", piece: { piece }).error
            #expect(error == .chunkLineTooLong(limitBytes: 4096))
        }
        // 64 lines with 1,024 bytes of extensions each.
        let chunk = line(1024 + 3) + "a\r\n"
        let most = start + String(repeating: chunk, count: 64)
        #expect(ResponseReading(most + "0\r\n\r\n").body.count == 64)
        #expect(ResponseReading(most + "0;a\r\n\r\n").error == .chunkExtensionsTooLong(limitBytes: 65_536))
        // Blanks up to a usual width are free, and more of them count.
        func padded(_ blanks: Int) -> String {
            start + String(repeating: "1" + String(repeating: " ", count: blanks) + "\r\na\r\n", count: 2000)
        }
        #expect(ResponseReading(padded(16) + "0\r\n\r\n").body.count == 2000)
        #expect(ResponseReading(padded(16 + 32) + "0\r\n\r\n").body.count == 2000)
        #expect(ResponseReading(padded(16 + 33) + "0\r\n\r\n").error == .chunkExtensionsTooLong(limitBytes: 65_536))
        // Each response has the bound on its own.
        var parser = ResponseParser(limits: ResponseLimits())
        for _ in 0..<3 {
            parser.expectResponse(to: .get)
            #expect(ResponseReading(Array((most + "0\r\n\r\n").utf8), with: &parser).isComplete)
        }
    }

    // MARK: The end

    @Test(arguments: [
        ("", ResponseParseError.endedBeforeResponse),
        ("H", .endedInHead), ("\r", .endedInHead), ("\r\n", .endedInHead),
        ("HTTP/1.1 200 OK\r\n", .endedInHead),
        ("HTTP/1.1 200 OK\r\nA: b\r\n\r", .endedInHead),
        ("HTTP/1.1 100 Continue\r\n\r\n", .endedInHead),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", .endedInBody(missingBytes: 5)),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcd", .endedInBody(missingBytes: 1)),
    ])
    func anEarlyEndOfTheConnectionIsAnError(text: String, error: ResponseParseError) {
        #expect(ResponseReading(text).error == error)
    }

    @Test func theConnectionEndsABodyWithoutAnotherEnd() {
        #expect(ResponseReading("HTTP/1.1 200 OK\r\n\r\nabc").text == "abc")
        #expect(ResponseReading("HTTP/1.1 200 OK\r\n\r\n").isComplete)
    }

    @Test func anEmptyBodyEndsWithoutMoreBytes() throws {
        for head in ["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n"] {
            var parser = ResponseParser(limits: ResponseLimits())
            parser.expectResponse(to: .get)
            let (first, consumed) = try Array(head.utf8).withUnsafeBytes { try parser.next(in: $0) }
            guard case .head = first else {
                Issue.record("\(first)")
                continue
            }
            #expect(consumed == head.utf8.count && !parser.isIdle)
            let (second, none) = try parser.next(in: UnsafeRawBufferPointer(start: nil, count: 0))
            guard case .end(nil) = second else {
                Issue.record("\(second)")
                continue
            }
            #expect(none == 0 && parser.isIdle)
        }
    }

    @Test func aParserReadsSeveralResponses() throws {
        var parser = ResponseParser(limits: ResponseLimits())
        #expect(parser.isIdle && !parser.hasBegun)
        for _ in 0..<3 {
            parser.expectResponse(to: .get)
            #expect(!parser.isIdle && !parser.hasBegun)
            let first = ResponseReading(
                Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a\r\nx\r\n0\r\nA: b\r\n\r\n".utf8), with: &parser)
            #expect(first.text == "x" && first.trailers?.count == 1)
            #expect(parser.isIdle && parser.hasBegun)
            parser.expectResponse(to: .head)
            let second = ResponseReading(Array("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n".utf8), with: &parser)
            #expect(second.isComplete && second.trailers == nil && second.fields == ["Content-Length=7"])
        }
        guard case .needsMore = try parser.endOfInput(pending: 0) else {
            Issue.record("an idle connection may end")
            return
        }
    }

    @Test func aResponseBeginsWithItsFirstByte() throws {
        var parser = ResponseParser(limits: ResponseLimits())
        parser.expectResponse(to: .get)
        _ = try [].withUnsafeBytes { (bytes: UnsafeRawBufferPointer) in try parser.next(in: bytes) }
        #expect(!parser.hasBegun)
        _ = try [UInt8(ascii: "H")].withUnsafeBytes { try parser.next(in: $0) }
        #expect(parser.hasBegun)
    }

    @Test func bytesWithoutAResponseAreAnError() throws {
        var parser = ResponseParser(limits: ResponseLimits())
        #expect(throws: ResponseParseError.unexpectedBytes) { try [UInt8(1)].withUnsafeBytes { _ = try parser.next(in: $0) } }
        // It stays one.
        parser.expectResponse(to: .get)
        #expect(!parser.isIdle)
        let response = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)
        #expect(ResponseReading(response, with: &parser).error == .unexpectedBytes)
        #expect(throws: ResponseParseError.unexpectedBytes) { try parser.endOfInput(pending: 0) }
        var idle = ResponseParser(limits: ResponseLimits())
        #expect(throws: ResponseParseError.unexpectedBytes) { try idle.endOfInput(pending: 1) }
    }

    // MARK: Words

    @Test func errorsAreSentences() {
        #expect(ResponseParseError.invalidChunkSize("zz").description == "the chunk size 'zz' is not a hexadecimal number")
        #expect(
            ResponseParseError.contentLengthAndTransferEncoding.description
                == "the response has both Content-Length and Transfer-Encoding, so its end is uncertain (RFC 9112, section 6.3)")
        #expect(ResponseReading("HTTP/1.1 200 OK\r\nAuthorization: se\u{0}cret\r\n\r\n").error?.description.contains("cret") == false)
        #expect(ResponseReading("HTTP/1.1 200 OK\r\nsecret\r\n\r\n").error?.description == "line 1 of the response's fields has no colon")
    }

    @Test func aShownTextIsCutAndEscaped() {
        func shown(_ bytes: [UInt8]) -> String { bytes.withUnsafeBufferPointer { ResponseParseError.shown($0) } }
        #expect(shown([UInt8](repeating: 0x61, count: 32)) == String(repeating: "a", count: 32))
        #expect(shown([UInt8](repeating: 0x61, count: 33)) == String(repeating: "a", count: 32) + "…")
        #expect(shown([0x27, 0x5C, 0x1B, 0xFF, 0x7E]) == "\\'\\\\\\x1B\\xFF~")
    }
}
#endif
