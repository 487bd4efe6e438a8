#if SWIFT_NIO
internal import Errand
internal import Foundation
internal import TestSupport
internal import Testing

/// Typed calls, as httpbin saw them.
@Suite(.enabled(if: RealServer.httpbin.isHere, Comment(rawValue: RealServer.httpbin.missing)), .timeLimit(.minutes(5)))
struct HTTPBinCallTests {
    // MARK: Requests

    @Test func aGetCarriesItsQueryAndItsFields() async throws {
        try await withClient(of: .httpbin) { client in
            let query: URLQuery = ["name": "Jörg & Söhne", "tag": ["a", "b"], "page": 2]
            let echo = try await client.value(HTTPBin.get(query, headers: [.test: "one, two"]))
            #expect(
                echo.args == [
                    "name": .string("Jörg & Söhne"), "tag": .array([.string("a"), .string("b")]), "page": .string("2"),
                ])
            #expect(echo.headers["X-Test"] == "one, two")
            #expect(echo.headers["Accept"] == "application/json")
            #expect(try echo.headers["Host"] == "127.0.0.1:\(RealServer.httpbin.port())")
        }
    }

    @Test(arguments: ["plain", "a b", "a/b", "ä€😀", "100%", "?#&=+"])
    func aSegmentArrivesUnchanged(name: String) async throws {
        try await withClient(of: .httpbin) { client in
            let url = try await client.value(HTTPBin.anything(name)).url
            let path = try #require(url.firstRange(of: "/anything/")).upperBound
            // It gives the URL half decoded, as its framework does.
            #expect(url[path...].removingPercentEncoding == name || url[path...] == name)
        }
    }

    @Test(arguments: [HTTPRequest.Method.get, .post, .put, .patch, .delete])
    func aMethodArrives(method: HTTPRequest.Method) async throws {
        try await withClient(of: .httpbin) { client in
            let echo = try await client.value(Endpoint<Echo>(method, "/anything", decoding: .json))
            #expect(echo.method == method.rawValue)
            #expect(echo.data == "")
        }
    }

    @Test func aValueIsPostedAsJSON() async throws {
        try await withClient(of: .httpbin) { client in
            let echo: Echo = try await client.post("/post", body: .json(Order.tea))
            #expect(echo.json == Order.teaAsJSON)
            #expect(try JSONDecoder().decode(Order.self, from: Data(try #require(echo.data).utf8)) == .tea)
            #expect(echo.headers["Content-Type"] == "application/json")
        }
    }

    @Test func aFormIsPosted() async throws {
        try await withClient(of: .httpbin) { client in
            let echo: Echo = try await client.post("/post", body: .form(["name": "Jörg & Söhne", "tag": "a", "tag": "b", "empty": ""]))
            #expect(
                echo.form == [
                    "name": .string("Jörg & Söhne"), "tag": .array([.string("a"), .string("b")]), "empty": .string(""),
                ])
            #expect(echo.data == "")
        }
    }

    @Test func putPatchAndDeleteCarryABody() async throws {
        try await withClient(of: .httpbin) { client in
            let put: Echo = try await client.put("/put", body: .json(Order.tea))
            #expect(put.json == Order.teaAsJSON)
            let patch: Echo = try await client.patch("/patch", body: .text("a text, ü"))
            #expect(patch.data == "a text, ü")
            let delete = try await client.value(Endpoint<Echo>.delete("/delete", query: ["hard": true], body: .json(Order.tea)))
            #expect(delete.json == Order.teaAsJSON)
            #expect(delete.args == ["hard": .string("true")])
        }
    }

    @Test func aStreamIsPostedInChunks() async throws {
        try await withClient(of: .httpbin) { client in
            let chunks = AsyncStream<Data> { continuation in
                for index in 0..<50 { continuation.yield(Data("line \(index)\n".utf8)) }
                continuation.finish()
            }
            let echo: Echo = try await client.post("/post", body: .raw(.stream(chunks), contentType: "text/plain"))
            #expect(echo.data == (0..<50).map { "line \($0)\n" }.joined())
            #expect(echo.headers["Content-Length"] == nil)
        }
    }

    @Test func headHasNoBody() async throws {
        try await withClient(of: .httpbin) { client in
            let response = try await client.send(Endpoint<Void>.head("/bytes/1000"))
            #expect(response.headers[.contentLength] == "1000")
            #expect(try await response.body.collect().isEmpty)
        }
    }

    // MARK: Statuses

    @Test(arguments: [200, 201, 202, 203, 204, 206, 299])
    func everySuccessStatusIsAccepted(code: Int) async throws {
        try await withClient(of: .httpbin) { client in
            let response = try await client.response(HTTPBin.status(code))
            #expect(response.status.code == code)
        }
    }

    @Test(arguments: [304, 400, 401, 403, 404, 405, 406, 407, 409, 410, 412, 418, 422, 429, 500, 501, 502, 503, 504, 599])
    func everyOtherStatusIsAnError(code: Int) async throws {
        try await withClient(of: .httpbin) { client in
            let error = try await failure(StatusError.self) { try await client.value(HTTPBin.status(code)) }
            #expect(error.status.code == code)
            #expect(error.retryAfter == nil)
            #expect(error.bodyIsWhole)
            if code == 418 { #expect(String(decoding: error.bodyPrefix, as: UTF8.self).contains("teapot")) }
            if code == 406 { #expect(try error.json(as: [String: JSONValue].self)["message"] != nil) }
        }
    }

    @Test func theErrorOfAnUnfitBodyNamesItsPlace() async throws {
        try await withClient(of: .httpbin) { client in
            let error = try await failure(ResponseDecodingError.self) { try await client.get("/get", as: Order.self) }
            #expect(error.codingPath == "item")
            #expect(error.head.status == .ok)
        }
    }

    // MARK: Credentials

    @Test func basicCredentialsAreAcceptedOrRefused() async throws {
        struct Login: Decodable, Sendable, Equatable {
            let authenticated: Bool
            let user: String
        }
        try await withClient(of: .httpbin) { client in
            func login(_ password: String) -> Endpoint<Login> {
                .get("/basic-auth/joe/pw", headers: [.authorization: basic("joe", password)])
            }
            #expect(try await client.value(login("pw")) == Login(authenticated: true, user: "joe"))
            let error = try await failure(StatusError.self) { try await client.value(login("wrong")) }
            #expect(error.status == .unauthorized)
            #expect(error.head.headerFields[.wwwAuthenticate]?.hasPrefix("Basic") == true)
            #expect(!"\(error)".contains(basic("joe", "wrong")))
        }
    }

    @Test func aBearerTokenIsTakenFromTheServersFields() async throws {
        struct Login: Decodable, Sendable {
            let token: String
        }
        try await withClient(of: .httpbin, layers: { $0.server(headers: [.authorization: "Bearer abc.def"]) }) { client in
            let login = try await client.get("/bearer", as: Login.self)
            #expect(login.token == "abc.def")
        }
        try await withClient(of: .httpbin) { client in
            let error = try await failure(StatusError.self) { try await client.get("/bearer", as: Login.self) }
            #expect(error.status == .unauthorized)
            #expect(error.head.headerFields[.wwwAuthenticate] == "Bearer")
        }
    }

    @Test func concurrentCallsGetTheirOwnResponses() async throws {
        try await withClient(of: .httpbin) { client in
            let numbers = try await withThrowingTaskGroup(of: (Int, JSONValue?).self) { group in
                for number in 0..<100 {
                    group.addTask { (number, try await client.value(HTTPBin.get(["number": number])).args["number"]) }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            #expect(numbers == Dictionary(uniqueKeysWithValues: (0..<100).map { ($0, JSONValue.string("\($0)")) }))
        }
    }
}
#endif
