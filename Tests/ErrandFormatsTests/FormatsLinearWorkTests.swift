import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import ErrandFormats

/// For every text of a server, the time to read is proportional to the number of bytes.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct FormatsLinearWorkTests {
    struct Parser: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let count: Int
        let text: @Sendable (Int) -> String
        let read: @Sendable (String) -> Void

        init(
            _ name: String, _ count: Int = 4_000, text: @escaping @Sendable (Int) -> String, _ read: @escaping @Sendable (String) -> Void
        ) {
            (testDescription, self.count, self.text, self.read) = (name, count, text, read)
        }
    }

    private static func repeated(_ text: String) -> @Sendable (Int) -> String { { String(repeating: text, count: $0) } }

    private static func parameters(_ count: Int) -> String { (0..<count).map { ";p\($0)=1" }.joined() }

    private static func events(in text: String, pieces: Int) {
        var parser = EventStreamParser(eventLimitBytes: .max, reportsComments: true)
        for piece in Array(text.utf8).chunks(of: pieces) {
            parser.append(piece)
            while (try? parser.next()) != nil {}
        }
    }

    private static let readMembers: @Sendable (String) -> Void = { text in
        Array(text.utf8).withUnsafeBytes { _ = JSONMembers.needed(["a"], in: $0) }
    }

    private static let readMultipart: @Sendable (String) -> Void = { text in
        guard let boundary = MultipartBoundary("b") else { return }
        var reader = MultipartReader(boundary: boundary, headLimitBytes: .max, maxParts: .max)
        // The text comes in small chunks. The kept bytes must not be searched again for each chunk.
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            reader.append(rest.prefix(7))
            rest = rest.dropFirst(7)
            while (try? reader.next()) != nil {}
        }
    }

    private static let readCookies: @Sendable (String) -> Void = { text in
        Array(text.utf8).withUnsafeBufferPointer { _ = NetscapeCookieFile(parsing: $0).entries.count }
    }

    /// Changes one value, once for each byte of the text.
    private static func changes(_ name: String, _ change: @escaping @Sendable (inout JSONValue, Int) throws -> Void) -> Parser {
        Parser("JSON, \(name)", 1_000, text: repeated("x")) { text in
            var json: JSONValue = ["list": .array(Array(repeating: 1, count: text.utf8.count)), "members": [:]]
            for index in 0..<text.utf8.count { try? change(&json, index) }
        }
    }

    static let parsers: [Parser] = [
        changes("members that are set") { try $0.set(1, at: JSONPointer(["members", "\($1)"])) },
        changes("elements that are set") { try $0.set(2, at: JSONPointer(["list", "\($1)"])) },
        changes("elements that are appended") { json, _ in try json.set(2, at: "/list/-") },
        changes("elements that are removed") { json, _ in
            try json.remove(at: JSONPointer(["list", "\((json.list.arrayValue?.count ?? 1) - 1)"]))
        },
        changes("members that are merged") { $0.merge(["members": ["\($1)": 1]]) },
        changes("members that are assigned") { $0["m\($1)"] = 1 },
        Parser("cookie date", text: repeated("1 nov ")) { _ = HTTPDate(cookieDate: $0) },
        Parser("cookie date, digits", text: repeated("1")) { _ = HTTPDate(cookieDate: $0 + ":" + $0 + ":" + $0) },
        Parser("Set-Cookie, attributes", text: { "a=b" + String(repeating: ";domain=a", count: $0) }) { _ = SetCookie($0) },
        Parser("Set-Cookie, semicolons", text: { "a=b" + String(repeating: ";", count: $0) }) { _ = SetCookie($0) },
        Parser("Set-Cookie, one attribute", text: { "a=b;path=/" + String(repeating: "=", count: $0) }) { _ = SetCookie($0) },
        Parser("Set-Cookie, spaces", text: { "a" + String(repeating: " ", count: $0) + "=" + String(repeating: "\t", count: $0) + "b" }) {
            _ = SetCookie($0)
        },
        Parser(
            "Set-Cookie, digits",
            text: { "a=b;max-age=" + String(repeating: "9", count: min($0, 1_000)) + String(repeating: ";", count: $0) }
        ) {
            _ = SetCookie($0)
        },
        Parser("Clear-Site-Data", text: repeated("\"a\",")) { _ = ClearSiteData.includesCookies([$0]) },
        Parser("Alt-Svc", 1_000, text: repeated("h3=\":1\"; ma=1, ")) { _ = AlternativeService.parse($0) },
        Parser("challenges", 400, text: repeated("A b=c, ")) { _ = AuthenticationChallenge.parse([$0]) },
        Parser("challenges, one scheme", 400, text: { "A " + String(repeating: "b=\"\\c\", ", count: $0) }) {
            _ = AuthenticationChallenge.parse([$0])
        },
        Parser("content range, digits", text: { "bytes 0-" + String(repeating: "1", count: $0) + "/*" }) { _ = ContentRange($0) },
        Parser("entity tag", text: { "W/\"" + String(repeating: "a", count: $0) + "\"" }) { _ = EntityTag($0) },
        Parser("extended value", text: { "UTF-8''" + String(repeating: "%C3%A4", count: $0) }) { _ = ExtendedValue.decode($0) },
        Parser("timestamp, digits", text: { "2026-01-01T00:00:00." + String(repeating: "1", count: $0) + "Z" }) {
            _ = try? RFC3339Date($0)
        },
        Parser("Cache-Control, directives", 1_000, text: repeated("no-cache=\"a\",max-age=1,")) { _ = CacheControl([$0]) },
        Parser("Cache-Control, an open quotation mark", text: { "a=\"" + String(repeating: "\\\",b=\\\"", count: $0) }) {
            _ = CacheControl([$0])
        },
        Parser("Cache-Control, semicolons", text: repeated("max-age=1;")) { _ = CacheControl([$0]) },
        Parser("Vary", text: repeated("a,")) { _ = VaryField(HTTPFields([HTTPField(name: .vary, value: $0)])) },
        Parser("Age", text: repeated("1")) { _ = AgeField.seconds(HTTPFields([HTTPField(name: .age, value: $0)])) },
        Parser("Expires", text: repeated("Thu, 18 Aug 2050 02:01:18 GMT ")) {
            let fields = HTTPFields([HTTPField(name: .expires, value: $0)])
            _ = ExpiresField(fields, now: HTTPDate(secondsSinceEpoch: 1_900_000_000))
        },
        Parser("Cache-Groups", 1_000, text: { (0..<$0).map { "\"\($0)\", " }.joined() + "\"a\"" }) { text in
            _ = CacheGroups.named(in: HTTPFields([HTTPField(name: HTTPField.Name("Cache-Groups")!, value: text)]))
        },
        Parser("No-Vary-Search", 100, text: { "params=(" + (0..<$0).map { "\"\($0)\" " }.joined() + ")" }) { text in
            _ = NoVarySearch(HTTPFields([HTTPField(name: HTTPField.Name("No-Vary-Search")!, value: text)]))
        },
        Parser("No-Vary-Search, a query", 1_000, text: { (0..<$0).map { "p\($0)=%41+b" }.joined(separator: "&") }) { text in
            _ = NoVarySearch([HTTPField.Name("No-Vary-Search")!: "key-order"]).normalForm(of: text[...])
        },
        Parser("entity tags", 1_000, text: repeated("\"\",")) { _ = EntityTagCondition($0) },
        Parser("media type, parameters", text: { "a/b" + parameters($0) }) { _ = MediaType($0) },
        Parser("media type, one name", text: { "a/b" + String(repeating: ";p=1", count: $0) }) { _ = MediaType($0) },
        Parser("media type, quotes", text: { "a/b;a=\"" + String(repeating: "\\\"", count: $0) }) { _ = MediaType($0) },
        Parser("media type, flags of countries", text: { "a/b;a=" + String(repeating: "🇩", count: $0) }) { _ = MediaType($0) },
        Parser("structured list", text: repeated("a, ")) { _ = try? StructuredList(parsing: $0 + "a") },
        Parser("structured parameters", text: { "a" + parameters($0) }) { _ = try? StructuredList(parsing: $0) },
        Parser("structured dictionary", text: { (0..<$0).map { "k\($0)=1, " }.joined() + "z" }) {
            _ = try? StructuredDictionary(parsing: $0)
        },
        Parser("structured inner list", text: { "(" + String(repeating: "a ", count: $0) + ")" }) { _ = try? StructuredList(parsing: $0) },
        Parser("structured string", text: { "\"" + String(repeating: "\\\\", count: $0) + "\"" }) { _ = try? StructuredItem(parsing: $0) },
        Parser("structured bytes", text: { ":" + String(repeating: "AAAA", count: $0) + ":" }) { _ = try? StructuredItem(parsing: $0) },
        Parser("structured display string", text: { "%\"" + String(repeating: "%c3%a4", count: $0) + "\"" }) {
            _ = try? StructuredItem(parsing: $0)
        },
        Parser("structured digits", text: repeated("1")) { _ = try? StructuredItem(parsing: $0) },
        Parser("rate limits", 400, text: { (0..<$0).map { "\"p\($0)\";r=1;t=1, " }.joined() + "\"z\";r=1;t=1" }) { text in
            var fields = HTTPFields()
            for name in ["RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Reset", "Retry-After", "Date"] {
                fields.append(HTTPField(name: HTTPField.Name(name)!, value: text))
            }
            _ = RateLimitFields(HTTPResponse(status: .tooManyRequests, headerFields: fields), now: HTTPDate(secondsSinceEpoch: 0))
        },
        Parser("links", 400, text: repeated("<a>;rel=b,")) { _ = WebLink.parse([$0]) },
        Parser("links without quotation marks", 400, text: repeated("<a>;rel='b c',")) {
            _ = WebLink.parse([$0]).map { $0.isRelated(as: "c") }
        },
        Parser("links, marks in a relation", 400, text: { "<a>;rel=\"b" + String(repeating: "\u{301}\u{316}", count: $0) + "\"" }) {
            _ = WebLink.parse([$0]).map { $0.isRelated(as: "next") }
        },
        Parser("links, malformed", 400, text: repeated("<a;\"\\\"")) { _ = WebLink.parse([$0]) },
        Parser("disposition, parameters", 1_000, text: { "a" + parameters($0) }) { _ = ContentDisposition($0) },
        Parser("disposition, file name", text: { "a;filename=" + String(repeating: "\u{301}", count: $0) }) { text in
            _ = ContentDisposition(type: "a", fileName: text).safeFileName()
        },
        Parser("ranges", text: { "bytes=" + String(repeating: "0-1,", count: $0) }) { _ = ByteRange.parse($0) },
        Parser("multipart, parts", text: { String(repeating: "--b\r\nA: 1\r\n\r\nx\r\n", count: $0) }, readMultipart),
        Parser("multipart, lines", text: { "--b\r\n\r\n" + String(repeating: "\r\n--bb", count: $0) }, readMultipart),
        Parser("multipart, head", text: { "--b\r\n" + String(repeating: "A: 1\r\n", count: $0) }, readMultipart),
        Parser("date", text: repeated("Sun, ")) { _ = HTTPDate($0, now: HTTPDate(secondsSinceEpoch: 0)) },
        Parser("retry after", text: repeated("9")) { _ = RetryAfter.wait($0, date: $0, now: HTTPDate(secondsSinceEpoch: 0)) },
        Parser("strict transport security", 1_000, text: { "max-age=1" + parameters($0) }) { _ = StrictTransportSecurity($0) },
        Parser("form", text: repeated("ä &")) { _ = FormURLEncoded.encode([(name: $0, value: $0)]) },
        Parser("JSON, array", text: { "[" + String(repeating: "\"\",", count: $0) + "0]" }) { _ = try? JSONValue(parsing: $0.utf8) },
        Parser("JSON, one name", text: { "{" + String(repeating: "\"a\":[],", count: $0) + "\"b\":{}}" }) {
            _ = try? JSONValue(parsing: $0.utf8)
        },
        Parser("JSON, deep array", text: { String(repeating: "[", count: 60) + String(repeating: "\"\",", count: $0) }) {
            _ = try? JSONValue(parsing: $0.utf8)
        },
        Parser("JSON, escapes", text: { "\"" + String(repeating: "\\u00e4\\n", count: $0) + "\"" }) {
            _ = try? JSONValue(parsing: $0.utf8)
        },
        Parser("JSON, digits", text: repeated("1")) { _ = try? JSONValue(parsing: $0.utf8) },
        Parser(
            "JSON by a decoder, deep array", 500,
            text: { deep in
                String(repeating: "[", count: 60) + (0..<deep).map { _ in "\"\"," }.joined() + "0" + String(repeating: "]", count: 60)
            }
        ) { _ = try? JSONDecoder().decode(JSONValue.self, from: Data($0.utf8)) },
        Parser("problem, members", text: { "{" + (0..<$0).map { "\"m\($0)\":[[[1]]]," }.joined() + "\"z\":1}" }) {
            _ = try? ProblemDetails(parsing: $0.utf8)
        },
        Parser("needed members, brackets", text: { #"{"x":"# + String(repeating: "[{\"a\":", count: $0) }, readMembers),
        Parser("needed members, many", text: { "{" + String(repeating: "\"a\":1,", count: $0) + "\"z\":{}}" }, readMembers),
        Parser("needed members, marks", text: { "{\"a\":\"b" + String(repeating: "\u{301}\u{316}", count: $0) + "\"}" }, readMembers),
        Parser("depth", text: repeated("[]{}\"\\\"")) { text in Array(text.utf8).withUnsafeBytes { _ = JSONDepth.problem(in: $0) } },
        Parser("marks, of words", text: repeated("a\u{301}日\u{316}\u{301}")) { text in
            Array(text.utf8).withUnsafeBytes { _ = MarkRun.isTooLong(in: $0) }
        },
        Parser("marks, escaped", text: repeated(#"\u0301a\n"#)) { text in
            Array(text.utf8).withUnsafeBytes { _ = (MarkRun.isTooLong(in: $0, .json), JSONDepth.problem(in: $0)) }
        },
        Parser("marks, references", text: repeated("&#0")) { text in
            Array(text.utf8).withUnsafeBytes { _ = MarkRun.isTooLong(in: $0, .xml) }
        },
        Parser("marks, sections", text: repeated("<![CDATA[]]>\u{301}a")) { text in
            Array(text.utf8).withUnsafeBytes { _ = MarkRun.isTooLong(in: $0, .xml) }
        },
        // Each text is refused, or compared quickly.
        Parser("JSON, marks in values", text: { "[\"a" + String(repeating: "\u{301}\u{316}", count: $0) + "\",\"b\"]" }) { text in
            if let json = try? JSONValue(parsing: text.utf8) { _ = json == ["x"] }
        },
        Parser("JSON by a decoder, marks in values", text: { "[\"a" + String(repeating: #"\u0301\u0316"#, count: $0) + "\"]" }) { text in
            guard Array(text.utf8).withUnsafeBytes({ JSONDepth.problem(in: $0) }) == nil else { return }
            _ = try? JSONDecoder().decode(Set<String>.self, from: Data(text.utf8))
        },
        Parser("property list, marks in values", text: { "<plist><array><string>a" + String(repeating: "\u{301}&#790;", count: $0) }) {
            text in
            guard Array((text + "</string></array></plist>").utf8).withUnsafeBytes({ PropertyListCheck.problem(in: $0) }) == nil else {
                return
            }
            _ = try? PropertyListDecoder().decode(Set<String>.self, from: Data((text + "</string></array></plist>").utf8))
        },
        Parser("problem, marks", text: { "{\"type\":\"" + String(repeating: "\u{301}\u{316}", count: $0) + "\"}" }) {
            _ = (try? ProblemDetails(parsing: $0.utf8))?.description
        },
        Parser("cookie file, lines", text: repeated("a.example\tFALSE\t/\tFALSE\t0\ta\tb\n"), readCookies),
        Parser("cookie file, one line", text: { "a.example\tFALSE\t/\tFALSE\t0\ta\t" + String(repeating: "b", count: $0) }, readCookies),
        Parser("cookie file, tabs", text: repeated("\t"), readCookies),
        Parser("cookie file, spaces", text: repeated(" "), readCookies),
        Parser("cookie file, bad lines", text: repeated("x\r\n"), readCookies),
        Parser("events, one line", text: { "data:" + String(repeating: "a", count: $0 * 8) }) { events(in: $0, pieces: 16) },
        Parser("events, many lines", text: repeated("data:a\n")) { events(in: $0, pieces: 16) },
        Parser("events, many events", text: repeated("data\n\n")) { events(in: $0, pieces: 16) },
        Parser("events, many events in one chunk", text: repeated("data\n\n")) { events(in: $0, pieces: .max) },
        Parser("events, IDs and retries", text: repeated("id:1\nretry:99999\n")) { events(in: $0, pieces: 16) },
        Parser("JSON lines", text: repeated("{}\n")) { text in
            var splitter = JSONLineSplitter(lineLimitBytes: .max)
            for piece in Array(text.utf8).chunks(of: 16) {
                splitter.append(piece)
                while (try? splitter.next()) != nil {}
            }
        },
        Parser("JSON text sequence", text: repeated("\u{1E}[\"a\"]\n")) { text in
            var splitter = JSONSequenceSplitter(textLimitBytes: .max)
            for piece in Array(text.utf8).chunks(of: 16) {
                splitter.append(piece)
                while (try? splitter.next()) != nil {}
            }
        },
    ]

    @Test(arguments: parsers) func eightTimesTheBytesTakeAboutEightTimesAsLong(_ parser: Parser) {
        let growth = growth(of: parser.count, making: parser.text) { parser.read($0) }
        #expect(growth < 30, "quadratic work grows 64 times")
    }
}

/// No text makes a parser use more stack than a small thread has.
struct SmallStackTests {
    struct Text: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]

        init(_ name: String, _ text: String) { (testDescription, bytes) = (name, Array(text.utf8)) }
    }

    static let texts: [Text] = [
        Text("arrays", String(repeating: "[", count: 200_000)),
        Text("arrays that end", String(repeating: "[", count: 20_000) + String(repeating: "]", count: 20_000)),
        Text("objects", String(repeating: "{\"a\":", count: 100_000)),
        Text("objects in arrays", String(repeating: "[{\"a\":", count: 100_000)),
        Text("as deep as it may be", String(repeating: "[{\"a\":", count: 32) + "1" + String(repeating: "}]", count: 32)),
        Text("arrays, 500 deep", String(repeating: "[", count: 500) + String(repeating: "]", count: 500)),
        Text("arrays, 250 deep", String(repeating: "[", count: 250) + String(repeating: "]", count: 250)),
        Text("a member, 400 deep", "{\"a\":" + String(repeating: "[", count: 400) + String(repeating: "]", count: 400) + "}"),
        Text("structured lists", String(repeating: "(", count: 100_000)),
    ]

    @Test(arguments: texts) func deepTextIsRefusedOrRead(_ text: Text) async {
        let bytes = text.bytes
        let isDone = await onSmallStack {
            _ = try? JSONValue(parsing: bytes)
            _ = try? ProblemDetails(parsing: bytes)
            _ = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes))
            _ = try? JSONDecoder().decode(ProblemDetails.self, from: Data(bytes))
            _ = Array(bytes).withUnsafeBytes { JSONDepth.problem(in: $0) }
            _ = try? StructuredList(parsing: String(decoding: bytes, as: UTF8.self))
            _ = MediaType(String(decoding: bytes, as: UTF8.self))
            return true
        }
        #expect(isDone)
    }

    @Test func valuesAreAsDeepAsTheLimitAllows() async throws {
        func text(_ depth: Int) -> String { String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
        _ = try JSONValue(parsing: text(64).utf8)
        _ = try JSONDecoder().decode(JSONValue.self, from: Data(text(64).utf8))
        #expect(throws: JSONParsingError.self) { try JSONValue(parsing: text(65).utf8) }
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONValue.self, from: Data(text(65).utf8)) }
        func problem(_ text: String) -> String? { Array(text.utf8).withUnsafeBytes { JSONDepth.problem(in: $0) } }
        #expect(problem(text(128)) == nil && problem(text(129)) == "nested deeper than 128")
        #expect(problem("[\"\(String(repeating: "[\\\"", count: 500))\"]") == nil, "brackets within a string are text")
        #expect(problem(String(repeating: "[],", count: 500)) == nil)
    }

    /// Text is compared by its normal form, and a run of combining marks takes the square of its length to get there.
    @Test func longNamesThatAreNotASCIIAreRefused() {
        let marks = String(repeating: "\u{301}\u{323}", count: 20_000)
        func problem(_ text: String) -> String? { Array(text.utf8).withUnsafeBytes { JSONDepth.problem(in: $0) } }
        for text in ["{\"a\(marks)\":1}", "{\"a\(String(repeating: "\\u0301", count: 20_000))\" : 1}"] {
            #expect(problem(text)?.contains("longer than 256 bytes") == true)
            #expect(throws: JSONParsingError.self) { try JSONValue(parsing: text.utf8) }
        }
        let few = String(repeating: "ä\u{323}", count: 20_000)
        #expect(problem("{\"a\":\"\(few)\",\"\(String(repeating: "b", count: 500))\":[\"\(few)\"]}") == nil)
    }

    @Test func otherEncodingsThanUTF8AreRefused() {
        for bytes in [Array("[1]".utf16).flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }, [0xFE, 0xFF, 0, 0x5B], [0xFF, 0xFE, 0x5B, 0]]
            as [[UInt8]]
        {
            #expect(bytes.withUnsafeBytes { JSONDepth.problem(in: $0) }?.contains("UTF-8") == true)
        }
    }
}
