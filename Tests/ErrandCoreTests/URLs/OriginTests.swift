import Errand
import ErrandTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct OriginTests {
    @Test(arguments: [
        "https://a.example", "https://a.example:443", "https://A.example", "HTTPS://A.EXAMPLE:0443", "https://a.example:",
    ])
    func anOriginHasOneForm(_ text: String) throws {
        let origin = try Origin(text)
        let plain = try HTTPURL("https://a.example/x").origin
        #expect(origin == plain && origin.hashValue == plain.hashValue)
        #expect(origin.description == "https://a.example" && origin.authority == "a.example")
        #expect(origin.scheme == "https" && origin.host == "a.example" && origin.port == nil && origin.effectivePort == 443)
    }

    @Test func schemeHostAndPortDistinguishOrigins() throws {
        let texts = ["https://a.example", "http://a.example", "https://b.example", "https://a.example:8443", "https://a.example:80"]
        #expect(try Set(texts.map { try Origin($0) }).count == 5)
        #expect(try texts.map { try Origin($0).description } == texts)
    }

    @Test(arguments: [
        ("https://bücher.example", "https://xn--bcher-kva.example"), ("https://BÜCHER.example", "https://xn--bcher-kva.example"),
        ("http://[2001:DB8::1]:80", "http://[2001:db8::1]"), ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
    ])
    func theHostIsInItsASCIIForm(_ text: String, _ expected: String) throws {
        #expect(try Origin(text).description == expected)
    }

    @Test(arguments: [
        ("https://a.example/", InvalidURLError.Code.notAnOrigin), ("https://a.example/x", .notAnOrigin),
        ("https://a.example?", .notAnOrigin),
        ("https://a.example#x", .fragment), ("a.example", .missingScheme), ("a.example:443", .unsupportedScheme("a.example")),
        ("", .empty), ("https://", .missingHost), ("ftp://a.example", .unsupportedScheme("ftp")),
        ("https://u:p@a.example", .credentials), ("https://a.example:0", .invalidPort("0")), ("https://:443", .missingHost),
        // A combining mark hides no colon.
        ("https://[1::\u{301}2]", .invalidHost("the text in brackets must be an IPv6 address without a zone")),
        ("https://a.example:\u{301}443", .invalidPort("…")),
    ])
    func anInvalidOriginIsRefusedWithItsReason(_ text: String, _ code: InvalidURLError.Code) {
        let error = #expect(throws: InvalidURLError.self) { try Origin(text) }
        #expect(error?.code == code)
    }

    @Test func theErrorOfAnInvalidOriginShowsTheCorrectForm() {
        let text = "https://a.example/v1?token=s3cr3t"
        let error = #expect(throws: InvalidURLError.self) { try Origin(text) }
        #expect(
            error?.description
                == "invalid URL 'https://a.example/v1?token=REDACTED': it has a path or a query, but an origin has only a scheme, a host and a port"
        )
    }

    @Test(
        arguments: [
            ("https", "A.example:443", "https://a.example"), ("http", "a.example:443", "http://a.example:443"),
            ("https", "[::1]:8443", "https://[::1]:8443"), ("https", nil, nil), (nil, "a.example", nil), ("ftp", "a.example", nil),
            ("https", "", nil), ("https", "u@a.example", nil), ("https", "a.example/x", nil), ("https", "a..example", nil),
            ("https", "a.example:99999", nil), ("https", "a.example?x", nil), ("https", "a b", nil),
        ] as [(String?, String?, String?)])
    func aRequestHasTheOriginOfItsHead(_ scheme: String?, _ authority: String?, _ expected: String?) {
        for path in ["/x", "", "*", nil] {
            let request = Request(head: HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path))
            #expect(request.origin?.description == expected)
        }
    }

    @Test func aRequestForAPathHasNoOriginBeforeItsServer() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let request = try Request(.get, "/x")
        #expect(request.origin == nil)
        _ = try await stub.server("https://A.example:443/v1").send(request)
        #expect(stub.requests.first?.request.origin?.description == "https://a.example")
    }
}
