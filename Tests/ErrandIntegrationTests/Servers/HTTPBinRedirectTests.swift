#if SWIFT_NIO
internal import Errand
internal import TestSupport
internal import Testing

@Suite(.enabled(if: RealServer.httpbin.isHere, Comment(rawValue: RealServer.httpbin.missing)), .timeLimit(.minutes(5)))
struct HTTPBinRedirectTests {
    @Test(arguments: HTTPBin.RedirectKind.allCases)
    func redirectsAreFollowedToTheirEnd(kind: HTTPBin.RedirectKind) async throws {
        try await withClient(of: .httpbin, layers: { $0.redirect() }) { client in
            let response = try await client.response(HTTPBin.redirect(kind, 3))
            #expect(try response.value.url == RealServer.httpbin.url("/get"))
            #expect(try response.request.url?.description == RealServer.httpbin.url("/get"))
            #expect(response.metadata.redirects.map(\.status) == [.found, .found, .found])
            #expect(try response.metadata.redirects.first?.from == RealServer.httpbin.url("/\(kind.rawValue)/3"))
        }
    }

    @Test func theNumberOfRedirectsIsLimited() async throws {
        try await withClient(of: .httpbin, layers: { $0.redirect(RedirectPolicy(maxHops: 2)) }) { client in
            let error = try await failure(RedirectError.self) { try await client.value(HTTPBin.redirect(.any, 3)) }
            #expect("\(error.code)" == "more than 2 redirects")
            #expect(try await client.response(HTTPBin.redirect(.any, 2)).metadata.redirects.count == 2)
        }
    }

    @Test(arguments: [307, 308], [HTTPRequest.Method.post, .put])
    func methodAndBodyAreKept(status: Int, method: HTTPRequest.Method) async throws {
        try await withClient(of: .httpbin, layers: { $0.redirect() }) { client in
            let call = HTTPBin.redirect(method, to: "/anything", status: status, body: .json(Order.tea))
            let echo = try await client.value(call)
            #expect(echo.method == method.rawValue)
            #expect(echo.json == Order.teaAsJSON)
            #expect(echo.headers["Content-Type"] == "application/json")
        }
    }

    @Test func aPostIsSentAgainAfter307() async throws {
        try await withClient(of: .httpbin, layers: { $0.redirect() }) { client in
            let echo = try await client.value(HTTPBin.redirect(.post, to: "/post", status: 307, body: .form(["a": "b"])))
            #expect(echo.form == ["a": .string("b")])
        }
    }

    @Test(arguments: [(301, HTTPRequest.Method.post), (302, .post), (303, .post), (303, .put), (303, .delete)])
    func methodBecomesGetWithoutABody(status: Int, method: HTTPRequest.Method) async throws {
        try await withClient(of: .httpbin, layers: { $0.redirect() }) { client in
            let call = HTTPBin.redirect(method, to: "/anything", status: status, headers: [.test: "kept"], body: .json(Order.tea))
            let echo = try await client.value(call)
            #expect(echo.method == "GET")
            #expect(echo.data == "")
            #expect(echo.headers["Content-Type"] == nil)
            #expect(echo.headers["Content-Length"].map { $0 == "0" } ?? true)
            #expect(echo.headers["X-Test"] == "kept")
        }
    }

    @Test func credentialsStayWithinTheOrigin() async throws {
        try await withClient(of: .httpbin, layers: { $0.redirect() }) { client in
            let key = try #require(HTTPField.Name("X-Api-Key"))
            let fields: HTTPFields = [.authorization: "Bearer abc", .cookie: "a=b", key: "k", .test: "kept"]
            for (host, remain) in [("127.0.0.1", true), ("localhost", false)] {
                let echo = try await client.value(
                    HTTPBin.redirect(to: try RealServer.httpbin.url("/anything", host: host), status: 302, headers: fields))
                #expect(try echo.headers["Host"] == "\(host):\(RealServer.httpbin.port())")
                #expect(echo.headers["X-Test"] == "kept")
                #expect((echo.headers["Authorization"] != nil) == remain)
                #expect((echo.headers["Cookie"] != nil) == remain)
                #expect((echo.headers["X-Api-Key"] != nil) == remain)
            }
        }
    }

    @Test func aRedirectWithoutTheLayerIsAResponse() async throws {
        try await withClient(of: .httpbin) { client in
            let error = try await failure(StatusError.self) { try await client.value(HTTPBin.redirect(.any, 1)) }
            #expect(error.status == .found)
            #expect(error.head.headerFields[.location] == "/get")
        }
    }

    @Test func everyCookieOfARedirectIsSeen() async throws {
        try await withClient(of: .httpbin) { client in
            let response = try await client.stack.send(Request(.get, "/cookies/set", query: ["a": "1", "b": "2"]))
            #expect(response.status == .found)
            #expect(response.headers[values: .setCookie].map { $0.prefix(3) }.sorted() == ["a=1", "b=2"])
        }
    }

    @Test func aRedirectToAClosedPortIsAFailureToConnect() async throws {
        let port = try LoopbackPorts.refused()
        try await withClient(of: .httpbin, layers: { $0.redirect() }) { client in
            let error = try await failure(TransportError.self) {
                try await client.value(HTTPBin.redirect(to: "http://127.0.0.1:\(port)/", status: 302))
            }
            #expect(error.code == .cannotConnect)
            #expect(error.delivery == .notSent)
        }
    }
}
#endif
