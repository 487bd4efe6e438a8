#if SWIFT_NIO
@testable import ErrandNIO
import ErrandCore
import NIOHPACK
import Testing

@Suite(.timeLimit(.minutes(5))) struct HTTP2FieldsTests {
    // MARK: - Requests

    private func section(
        _ method: HTTPRequest.Method = .get, _ fields: HTTPFields = [:], framing: RequestEncoder.BodyFraming = .none,
        _ change: (inout Request) -> Void = { _ in }
    ) throws -> [(String, String, HPACKIndexing)] {
        var request = try Request(method, url: "https://a.example:8443/path?q=1", headers: fields)
        change(&request)
        var encoder = HTTP2RequestFields()
        // Twice, because the second request finds the names known.
        _ = try encoder.head(of: request, framing: framing)
        return try encoder.head(of: request, framing: framing).map { ($0.name, $0.value, $0.indexable) }
    }

    private func lines(_ section: [(String, String, HPACKIndexing)]) -> [String] { section.map { "\($0.0): \($0.1)" } }

    private static let target = [":method: GET", ":scheme: https", ":authority: a.example:8443", ":path: /path?q=1"]

    @Test func theTargetComesFirst() throws {
        let found = try section(.get, [.accept: "text/plain"])
        #expect(lines(found) == Self.target + ["accept: text/plain"])
    }

    @Test func hostIsTheAuthority() throws {
        let found = try section(.get, [HTTPField.Name("Host")!: "other.example"])
        #expect(lines(found) == [":method: GET", ":scheme: https", ":authority: other.example", ":path: /path?q=1"])
    }

    @Test func fieldsOfTheConnectionAreNotSent() throws {
        let fields: HTTPFields = [
            .connection: "close, X-Hop", HTTPField.Name("Keep-Alive")!: "1", HTTPField.Name("Proxy-Connection")!: "close",
            .transferEncoding: "chunked", .upgrade: "h2c", HTTPField.Name("X-Hop")!: "1", .te: "gzip, trailers", .contentLength: "9",
        ]
        let found = try section(.get, fields)
        #expect(lines(found) == Self.target + ["te: trailers"])
        let without = try section(.get, [.te: "gzip"])
        #expect(lines(without) == Self.target)
    }

    /// Each by itself: no other field names it.
    @Test(arguments: [
        "Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade", "HTTP2-Settings", "Proxy-Authorization", "TE",
        "Content-Length",
    ])
    func aFieldOfTheConnectionIsNotSent(name: String) throws {
        for name in [name, name.lowercased(), name.uppercased()] {
            let found = try section(.get, [try #require(HTTPField.Name(name)): "x"])
            #expect(lines(found) == Self.target)
        }
    }

    /// No proxy reads a request of HTTP/2.
    @Test func credentialsForAProxyAreNotSent() throws {
        let request = try Request(.get, url: "https://a.example/", headers: [.proxyAuthorization: "Own x", .accept: "a/b"])
        var encoder = HTTP2RequestFields()
        let names = try encoder.head(of: request, framing: .none).map(\.name)
        #expect(names == [":method", ":scheme", ":authority", ":path", "accept"])
        let trailers = try encoder.trailers([.proxyAuthorization: "Own x", .accept: "a/b"], of: request)?.map(\.name)
        #expect(trailers == ["accept"])
    }

    @Test(arguments: [
        (HTTPRequest.Method.post, RequestEncoder.BodyFraming.none, ["content-length: 0"]), (.get, .none, []), (.post, .chunked, []),
        (.put, .length(12), ["content-length: 12"]),
    ])
    func theLengthMatchesTheBody(method: HTTPRequest.Method, framing: RequestEncoder.BodyFraming, expected: [String]) throws {
        let found = try section(method, [:], framing: framing)
        #expect(lines(found).dropFirst(4) == expected[...])
    }

    @Test func aPriorityIsSentUnlessItIsNormal() throws {
        let high = try section { $0.options.priority = .high }
        #expect(lines(high).last == "priority: u=1")
        let own = try section(.get, [HTTPField.Name("Priority")!: "u=5, i"]) { $0.options.priority = .high }
        #expect(lines(own).dropFirst(4) == ["priority: u=5, i"])
        let normal = try section()
        #expect(lines(normal) == Self.target)
    }

    @Test func secretFieldsAreNeverIndexed() throws {
        let card = HTTPField.Name("X-Card")!
        let fields: HTTPFields = [.authorization: "Bearer 1", .cookie: "a=b", .accept: "*/*", card: "4"]
        let found = try section(.get, fields) { $0.options.sensitivity = Sensitivity(fields: [card]) }
        let secret = found.filter { $0.2 == .neverIndexed }.map(\.0)
        #expect(secret == ["authorization", "cookie", "x-card"])
        let standard = try section(.get, fields)
        let standardSecret = standard.filter { $0.2 == .neverIndexed }.map(\.0)
        #expect(standardSecret == ["authorization", "cookie"])
    }

    @Test func anUnwritableRequestIsRefused() throws {
        var twice = HTTPFields()
        twice.append(HTTPField(name: HTTPField.Name("Host")!, value: "a"))
        twice.append(HTTPField(name: HTTPField.Name("Host")!, value: "b"))
        #expect(throws: UnwritableRequestError.severalHosts) { _ = try self.section(.get, twice) }
        #expect(throws: UnwritableRequestError.invalidTarget) { _ = try self.section { $0.head.path = "/a b" } }
        #expect(throws: UnwritableRequestError.invalidAuthority) { _ = try self.section { $0.head.authority = "user@host" } }
        let host = HTTPField(name: HTTPField.Name("Host")!, value: "a\\b")
        #expect(throws: UnwritableRequestError.invalidAuthority) { _ = try self.section(.get, HTTPFields([host])) }
        #expect(throws: UnwritableRequestError.missingAuthority) { _ = try self.section { $0.head.authority = nil } }
        for path in ["/a#b", "#b", "/?a#b", "/a\u{0}b", "/a\r\nb", "/a b", "/\u{7F}b", "/\u{E9}", "a"] {
            #expect(throws: UnwritableRequestError.invalidTarget) { _ = try self.section { $0.head.path = path } }
        }
        #expect(throws: UnwritableRequestError.preface) { _ = try self.section(try #require(HTTPRequest.Method("PRI"))) }
        #expect(throws: UnwritableRequestError.connect) { _ = try self.section(.connect) }
    }

    /// As the text that HTTP/1.1 reads in it: ISO 8859-1.
    @Test func aValueThatIsNotUTF8IsSentAsUTF8() throws {
        let found = try section(.get, HTTPFields([HTTPField(name: .accept, value: [0x61, 0xE9])]))
        #expect(lines(found).last == "accept: a\u{E9}")
    }

    // MARK: - Responses

    private func head(_ fields: [(String, String)], _ limits: ResponseLimits = .init()) throws(HTTP2ResponseError) -> HTTP2ResponseFields {
        try HTTP2ResponseFields.head(HPACKHeaders(fields), limits)
    }

    @Test func aResponseHasAStatusAndFields() throws {
        let found = try head([(":status", "200"), ("content-type", "text/plain"), ("content-length", "5"), ("x-a", "1"), ("x-a", "2")])
        #expect(found.response.status.code == 200)
        #expect(found.response.headerFields[values: HTTPField.Name("X-A")!] == ["1", "2"])
        #expect(found.bodyLength(to: .get) == 5)
        #expect(found.bodyLength(to: .head) == 0)
        #expect(found.expectedLength(to: .get, ends: false) == 5)
        #expect(found.expectedLength(to: .head, ends: true) == nil)
        let equal = try head([(":status", "200"), ("content-length", "5, 5"), ("content-length", "5")])
        #expect(equal.bodyLength(to: .get) == 5)
    }

    private static let malformed: [([(String, String)], HTTP2ResponseError)] = [
        ([("x-a", "1")], HTTP2ResponseError.missingStatus), ([], .missingStatus),
        ([(":status", "20")], .invalidStatus), ([(":status", "099")], .invalidStatus), ([(":status", "2x0")], .invalidStatus),
        ([(":status", "200"), (":status", "200")], .pseudoField(":status")),
        ([("x-a", "1"), (":status", "200")], .pseudoField(":status")),
        ([(":status", "200"), (":path", "/")], .pseudoField(":path")),
        ([(":status", "200"), ("X-Upper", "1")], .fieldInUpperCase("X-Upper")),
        ([(":status", "200"), ("Content-Type", "1")], .fieldInUpperCase("Content-Type")),
        ([(":status", "200"), ("x a", "1")], .invalidFieldName("x a")), ([(":status", "200"), ("", "1")], .invalidFieldName("")),
        ([(":status", "200"), ("x-a", "1\r\nx-b: 2")], .invalidFieldValue(name: "x-a")),
        ([(":status", "200"), ("x-a", "\u{0}")], .invalidFieldValue(name: "x-a")),
        ([(":status", "200"), ("x-a", " 1\u{7F}")], .invalidFieldValue(name: "x-a")), ([(":status", " 200")], .invalidStatus),
        ([(":status", "200"), ("connection", "close")], .connectionField("connection")),
        ([(":status", "200"), ("transfer-encoding", "chunked")], .connectionField("transfer-encoding")),
        ([(":status", "200"), ("keep-alive", "1")], .connectionField("keep-alive")),
        ([(":status", "200"), ("upgrade", "h2c")], .connectionField("upgrade")),
        ([(":status", "200"), ("proxy-connection", "close")], .connectionField("proxy-connection")),
        ([(":status", "200"), ("content-length", "-1")], .invalidContentLength),
        ([(":status", "200"), ("content-length", "1"), ("content-length", "2")], .differentContentLengths),
    ]

    @Test(arguments: malformed)
    func malformedHeadsAreRefused(fields: [(String, String)], expected: HTTP2ResponseError) {
        #expect(throws: expected) { _ = try self.head(fields) }
    }

    /// As curl reads them, though RFC 9113, section 8.2.1 does not allow them.
    @Test func blanksAroundAValueAreRemoved() throws {
        let name = HTTPField.Name("X-A")!
        for (value, expected) in [
            (" 1", "1"), ("1 ", "1"), ("\t 1 \t", "1"), ("a b", "a b"), (" a\tb ", "a\tb"), (" ", ""), ("\t", ""), ("", ""), (" é ", "é"),
        ] {
            let fields = try head([(":status", "200"), ("x-a", value)]).response.headerFields
            #expect(fields[values: name] == [expected])
            let trailers = try HTTP2ResponseFields.trailers(HPACKHeaders([("x-a", value)]), .init())
            #expect(trailers?[values: name] == [expected])
        }
        #expect(try head([(":status", "200"), ("content-length", " 5 ")]).bodyLength(to: .get) == 5)
    }

    @Test func theHeadIsBounded() {
        var limits = ResponseLimits()
        limits.fieldCount = 2
        let fields = [(":status", "200"), ("a", "1"), ("b", "2"), ("c", "3")]
        #expect(throws: HTTP2ResponseError.tooManyFields(limit: 2)) { _ = try self.head(fields, limits) }
        limits = ResponseLimits()
        limits.headBytes = 100
        #expect(throws: HTTP2ResponseError.headTooLong(limitBytes: 100)) { _ = try self.head(fields, limits) }
    }

    @Test func trailersHaveNoFramingFields() throws {
        let found = try HTTP2ResponseFields.trailers(HPACKHeaders([("x-sum", "1"), ("content-length", "5"), ("trailer", "x")]), .init())
        #expect(found == [HTTPField.Name("X-Sum")!: "1"])
        let none = try HTTP2ResponseFields.trailers(HPACKHeaders(), .init())
        #expect(none == nil)
        #expect(throws: HTTP2ResponseError.pseudoField(":status")) {
            _ = try HTTP2ResponseFields.trailers(HPACKHeaders([(":status", "200")]), .init())
        }
    }
}
#endif
