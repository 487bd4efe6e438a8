import Errand
import ErrandTesting
import Testing

/// The stored target of a request is valid until the head of the request is changed.
@Suite(.timeLimit(.minutes(5))) struct RequestTargetTests {
    @Test func theURLFollowsTheHead() throws {
        var request = try Request(.get, url: "https://A.example:443/x?y")
        #expect(request.url?.description == "https://a.example/x?y" && request.origin?.description == "https://a.example")
        request.head.authority = "b.example:8443"
        #expect(request.url?.description == "https://b.example:8443/x?y" && request.origin?.description == "https://b.example:8443")
        request.head.scheme = "http"
        #expect(request.url?.description == "http://b.example:8443/x?y" && request.origin?.description == "http://b.example:8443")
        request.head.path = "/z"
        #expect(request.url?.description == "http://b.example:8443/z" && request.url?.path == "/z" && request.url?.query == nil)
        request.head = HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/x?y")
        #expect(request.url == (try HTTPURL("https://a.example/x?y")))
        request.head.authority = nil
        #expect(request.url == nil && request.origin == nil)
        request.head.authority = "u:p@a.example"
        #expect(request.url == nil && request.origin == nil)
    }

    @Test(arguments: [("", "/"), ("?x=1", "/?x=1"), ("/x?y", "/x?y"), ("*", "*"), ("?\u{301}", "/?\u{301}")])
    func aTargetIsWrittenWithASlash(_ path: String, _ written: String) throws {
        var request = try Request(.get, url: "https://a.example/x")
        request.head.path = path
        #expect(request.writtenTarget == written)
        request.head.path = nil
        #expect(request.writtenTarget == "/")
    }

    @Test func aPathHasNoURLUntilItHasAnAuthority() throws {
        var request = try Request(.get, "/x", query: ["y": 1])
        #expect(request.url == nil && request.origin == nil)
        request.head.scheme = "https"
        #expect(request.url == nil && request.origin == nil)
        request.head.authority = "a.example"
        #expect(request.url?.description == "https://a.example/x?y=1")
    }

    struct Writing: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let write: @Sendable (inout Request) -> Void

        static let all: [Writing] = paths.map(path) + authorities.map(authority) + ["ftp", "HTTPS", ""].map(scheme)

        private static let paths = [
            "/a|b", "/%zz", "/%", "/a?b|c", "/a#b", "/a\"b", "x", "*", "/a b", "/a\r\nX: y", "/\u{212A}", "/a\u{37E}b", "/ä",
        ]
        private static let authorities = [
            "a..example", "a.example:99999", "a.example:x", "[::1", "", "a\u{1}b", "a%41", String(repeating: "a", count: 64) + ".example",
        ]

        private static func path(_ text: String) -> Writing {
            Writing(testDescription: "path \(text.debugDescription)") { $0.head.path = text }
        }

        private static func authority(_ text: String) -> Writing {
            Writing(testDescription: "authority \(text.debugDescription)") { $0.head.authority = text }
        }

        private static func scheme(_ text: String) -> Writing {
            Writing(testDescription: "scheme '\(text)'") { $0.head.scheme = text }
        }
    }

    @Test(arguments: Writing.all) func aWrittenHeadIsCheckedAtTheBoundary(_ writing: Writing) async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let writer = TransformMiddleware.request { request in writing.write(&request) }
        for path in ["/K", "/a;b"] {
            let request = try Request(.get, url: "https://a.example\(path)")
            var written = request
            writing.write(&written)
            let sent = written
            await #expect(throws: InvalidURLError.self) { try await HTTPStack(stub).send(sent) }
            await #expect(throws: InvalidURLError.self) { try await stub.wrapped(by: writer).send(request) }
            await #expect(throws: InvalidURLError.self) {
                try await stub.wrapped(by: writer).server("https://a.example").send(Request(.get, PathTemplate(verbatim: path)))
            }
        }
        #expect(stub.requests.isEmpty)
    }

    @Test(arguments: [("/K", "/\u{212A}"), ("/a;b", "/a\u{37E}b")])
    func aCanonicallyEqualPathIsCheckedAgain(_ checked: String, _ written: String) throws {
        #expect(checked == written, "what makes it dangerous")
        var request = try Request(.get, url: "https://a.example\(checked)")
        request.head.path = written
        #expect(request.url == nil)
    }

    @Test func aCustomHeadIsSentUnchanged() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let head = HTTPRequest(method: .get, scheme: "https", authority: "A.example:443", path: "/x?")
        _ = try await HTTPStack(stub).send(Request(head: head))
        #expect(stub.requests.first?.request.head == head)
        #expect(stub.requests.first?.request.url?.description == "https://a.example/x?")
    }

    @Test func aPathThatIsWrittenBeforeItsServerIsCheckedThere() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        var request = try Request(.get, "/x")
        for path in ["//evil.example/x", "https://evil.example/", "/a b", "/a#b", "/%zz"] {
            request.head.path = path
            for stack in [stub.server("https://a.example/v1"), stub.server("https://a.example").server(path: "/v1")] {
                await #expect(throws: InvalidURLError.self) { try await stack.send(request) }
            }
        }
        await #expect(throws: InvalidURLError.self) {
            try await stub.server("https://a.example").server(path: "//b").send(Request(.get, "/x"))
        }
        #expect(stub.requests.isEmpty)
        request.head.path = "/y?z"
        _ = try await stub.server("https://a.example/v1").send(request)
        #expect(stub.requests.first?.request.url?.description == "https://a.example/v1/y?z")
    }

    @Test func aTooLongTargetIsNotSent() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let long = String(repeating: "x", count: 65_500)
        let url = try HTTPURL("https://a.example/v1")
        let requests = [
            Request(.get, url: url, query: ["q": long, "r": "\(long)"]),
            Request(head: HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/\(long)\(long)")),
        ]
        for request in requests {
            let error = await #expect(throws: InvalidURLError.self) { try await HTTPStack(stub).send(request) }
            #expect(error?.code == .tooManyOctets)
        }
        let base = try HTTPURL("https://a.example/\(long)")
        let error = await #expect(throws: InvalidURLError.self) { try await stub.server(base).send(Request(.get, "/\(long)")) }
        #expect(error?.code == .tooManyOctets && stub.requests.isEmpty)
    }

    @Test(arguments: ["/a b", "/a\r\nX: y", "/ä", "x", "/a?b", "/a#b"])
    func anInvalidChangedReferenceMakesNoURL(_ path: String) throws {
        var reference = try URLReference("https://a.example/")
        reference.path = path
        #expect(throws: InvalidURLError.self) { try HTTPURL(reference) }
        reference.path = "/"
        reference.query = "a\r\nb"
        #expect(throws: InvalidURLError.self) { try HTTPURL(reference) }
        reference.query = "a"
        #expect(try HTTPURL(reference).description == "https://a.example/?a")
    }
}
