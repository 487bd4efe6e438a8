import Errand
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

private struct User: Codable, Sendable, Equatable {
    var id: Int
    var name: String
    var joined: Date?
}

private struct Order: Codable, Sendable, Equatable {
    var itemName: String
    var placedAt: Date
}

private enum Users {
    static func one(_ id: String) -> Endpoint<User> { .get("/users/\(id, "id")", query: ["expand": "teams"]) }
    static func maybe(_ id: Int) -> Endpoint<User?> { .get("/users/\(id, "id")") }
    static func create(_ user: User) -> Endpoint<User> { .post("/users", body: .json(user)) }
    static func delete(_ id: Int) -> Endpoint<Void> { .delete("/users/\(id, "id")") }
    static let all: Endpoint<[User]> = .get("/users")
    static let avatar: Endpoint<Data> = .get("/avatar")
    static let motto: Endpoint<String> = .get("/motto")
}

@Suite(.timeLimit(.minutes(5))) struct APIClientTests {
    private let ada = User(id: 7, name: "Ada")

    private func client(_ stubs: Stub..., json: JSONCoding = .standard) -> (APIClient, StubTransport) {
        let transport = StubTransport()
        for stub in stubs { transport.add(stub) }
        return (APIClient(transport.server("https://a.example/v1"), json: json), transport)
    }

    private struct Refusal: Error, Decodable, Equatable { var errorCode: Int }

    @Test func aFailureThatTheAPIDescribesIsTheAppsOwnError() async throws {
        let stub = StubTransport(
            Stub(.get, "/coded").responds(.data(Data(#"{"error_code":7}"#.utf8), status: .conflict)),
            Stub(.get, "/page").responds(.status(.badGateway, text: "<html>")),
            Stub(.get, "/fine").responds(.data(Data(#"{"error_code":7}"#.utf8))))
        let client = APIClient(
            stub.server("https://a.example"), json: JSONCoding(keys: .snakeCase), mapError: { try $0.json(as: Refusal.self) })
        await #expect(throws: Refusal(errorCode: 7)) { let _: Void = try await client.get("/coded") }
        await #expect(throws: Refusal(errorCode: 7)) { try await client.data(Endpoint<Void>.get("/coded")) }
        await #expect(throws: Refusal(errorCode: 7)) { try await client.send(Endpoint<Void>.get("/coded")) }
        await #expect(throws: Refusal(errorCode: 7)) { try await client.send(Request(.get, "/coded")) }
        let other = await #expect(throws: StatusError.self) { let _: Void = try await client.get("/page") }
        #expect(other?.status == .badGateway, "not what the API describes")
        let _: Void = try await client.get("/fine")
        #expect(stub.openBodyCount == 0)
        struct Own: Error {
            let refused: StatusError
        }
        let keeping = APIClient(stub.server("https://a.example")) { Own(refused: $0) }
        let own = await #expect(throws: Own.self) { let _: Void = try await keeping.get("/page") }
        #expect(own?.refused.isServerError == true)
        let plain = APIClient(stub.server("https://a.example"))
        await #expect(throws: StatusError.self) { let _: Void = try await plain.get("/coded") }
    }

    @Test func aCallReturnsItsValue() async throws {
        let (client, stub) = client(Stub(.get, "/v1/users/{id}").query("expand", "teams").responds(.json(ada)))
        #expect(try await client.value(Users.one("a/../b?c")) == ada)
        let seen = try #require(stub.requests.first)
        #expect(seen.request.head.path == "/v1/users/a%2F..%2Fb%3Fc?expand=teams")
        #expect(seen.request.options.urlTemplate == "/users/{id}")
        #expect(seen.request.head.headerFields[.accept] == "application/json")
    }

    @Test func aValueIsReturnedWithItsHead() async throws {
        let (client, _) = client(Stub().responds(.json(ada, status: .created, headers: [.eTag: "\"1\""])))
        let response = try await client.response(Users.one("7"))
        #expect(response.value == ada)
        #expect(response.status == .created)
        #expect(response.headers[.eTag] == "\"1\"")
        #expect(response.request.url?.description == "https://a.example/v1/users/7?expand=teams")
    }

    @Test func theBytesOfABodyNeedNoContentType() async throws {
        let (client, _) = client(Stub().responds(.data(Data([1, 2, 3]))))
        #expect(try await client.data(Users.all) == Data([1, 2, 3]))
    }

    @Test func dataAndTextAreTheBodyItself() async throws {
        let (client, _) = client(
            Stub(.get, "/v1/avatar").responds(.data(Data([0xFF, 0x00]))), Stub(.get, "/v1/motto").responds(.status(.ok, text: "\"plain\"")))
        #expect(try await client.value(Users.avatar) == Data([0xFF, 0x00]))
        #expect(try await client.value(Users.motto) == "\"plain\"")
    }

    @Test func aCallWithoutOutputReadsNoValue() async throws {
        let stream = StubResponse.stream([Data("ignored".utf8)], status: .ok)
        let (client, stub) = client(Stub(.delete, "/v1/users/7").responds(stream))
        try await client.value(Users.delete(7))
        #expect(stub.openBodyCount == 0)
        #expect(stub.requests.first?.request.head.headerFields[.accept] == nil)
    }

    @Test(arguments: [(HTTPResponse.Status.noContent, ""), (.ok, ""), (.resetContent, ""), (.ok, "null")])
    func anOptionalOutputIsNilForAnEmptyBody(status: HTTPResponse.Status, body: String) async throws {
        let (client, _) = client(Stub().responds(.status(status, text: body)))
        #expect(try await client.value(Users.maybe(7)) == nil)
    }

    @Test func anOptionalOutputIsTheValueOfTheBody() async throws {
        let (client, _) = client(Stub().responds(.json(ada)))
        #expect(try await client.value(Users.maybe(7)) == ada)
    }

    @Test func anEmptyBodyIsAnErrorForADeclaredValue() async throws {
        let (client, _) = client(Stub().responds(.status(.noContent)))
        await #expect(throws: ResponseDecodingError.self) { try await client.value(Users.one("7")) }
    }

    @Test func aValueIsSentAsJSON() async throws {
        let (client, stub) = client(Stub(.post, "/v1/users").json(["name": "Ada"]).responds(.json(ada, status: .created)))
        #expect(try await client.value(Users.create(ada)) == ada)
        #expect(stub.requests.first?.request.head.headerFields[.contentType] == "application/json")
    }

    @Test func datesAreISO8601AndKeysAreSnakeCaseOnDemand() async throws {
        let text = #"{"item_name":"tea","placed_at":"2026-11-21T12:36:00Z"}"#
        let (client, stub) = client(Stub().responds(.status(.ok, text: text)), json: JSONCoding(keys: .snakeCase))
        let order = Order(itemName: "tea", placedAt: Date(timeIntervalSince1970: 1_795_264_560))
        #expect(try await client.post("/orders", body: .json(order), as: Order.self) == order)
        #expect(try stub.requests.first?.json(as: [String: String].self) == ["item_name": "tea", "placed_at": "2026-11-21T12:36:00Z"])
    }

    @Test(arguments: [
        ("2026-11-21T12:36:00Z", 0.0), ("2026-11-21T12:36:00.500Z", 0.5), ("2026-11-21T13:36:00+01:00", 0.0),
    ]) func datesWithFractionsAndOffsetsAreRead(text: String, fraction: Double) async throws {
        let (client, _) = client(Stub().responds(.status(.ok, text: #"{"id":1,"name":"x","joined":"\#(text)"}"#)))
        let joined = try await client.value(Users.one("1")).joined?.timeIntervalSince1970
        #expect(abs((joined ?? 0) - 1_795_264_560 - fraction) < 0.001)
    }

    @Test func aBodyOfTheWrongShapeNamesTypePathAndPrefix() async throws {
        let body = #"[{"id":1,"name":"Ada"},{"id":"s3cret","name":"Bob"}]"# + String(repeating: " ", count: 5000)
        let (client, _) = client(Stub().responds(.status(.ok, headers: [.contentType: "application/json"], text: body)))
        let failure = try #require(await #expect(throws: ResponseDecodingError.self) { try await client.value(Users.all) })
        #expect(failure.codingPath == "[1].id")
        #expect(failure.typeName == "[User]")
        #expect(failure.bodyPrefix == Data(body.utf8.prefix(1024)))
        #expect(failure.response?.status == .ok)
        #expect(failure.description.hasPrefix("GET https://a.example/v1/users: cannot decode "))
        #expect(failure.description.hasSuffix(" cannot decode [User] at [1].id: expected an Int, found a string (status 200)"))
        #expect(!"\(failure)\(failure.localizedDescription)".contains("s3cret"))
        // Only the text for developers has the beginning of the body.
        #expect(String(reflecting: failure).hasSuffix(#"; body: [{"id":1,"name":"Ada"},{"id":"s3cret","name":"Bob"}] …"#))
    }

    @Test func aMissingKeyIsNamed() async throws {
        let (client, _) = client(Stub().responds(.status(.ok, text: #"{"id":1}"#)))
        let failure = try #require(await #expect(throws: ResponseDecodingError.self) { try await client.value(Users.one("1")) })
        #expect(failure.codingPath == "name")
        #expect(failure.description.contains("at name: no such key"))
    }

    @Test func anUnwantedStatusIsAnErrorWithoutAMiddleware() async throws {
        let (client, _) = client(Stub().responds(.json(["reason": "no such user"], status: .notFound)))
        let error = await #expect(throws: StatusError.self) { try await client.value(Users.one("7")) }
        #expect(try error?.json(as: [String: String].self)["reason"] == "no such user")
    }

    @Test func aStackKeepsItsOwnStatusRule() async throws {
        let stub = StubTransport(Stub().responds(.json(ada, status: .notFound)))
        let client = APIClient(stub.validateStatus(.statuses([404])).server("https://a.example"))
        #expect(try await client.value(Users.one("7")) == ada)
        #expect(client.stack.layers.filter { $0.place == .validateStatus }.count == 1)
    }

    @Test func aConditionalStatusRuleLeavesOtherRequestsToTheClient() async throws {
        let stub = StubTransport(Stub().responds(.json(ada, status: .notFound), repeatingLast: true))
        func client(_ path: String) -> APIClient {
            APIClient(stub.wrapped(by: ValidateStatusMiddleware(.statuses([404])), when: .path(path)).server("https://a.example"))
        }
        #expect(try await client("/users/{id}").value(Users.one("7")) == ada)
        await #expect(throws: StatusError.self) { try await client("/other").value(Users.one("7")) }
        // What the call itself asks for holds for both.
        #expect(try await client("/other").value(Users.one("7").with(\.validateStatus, .off)) == ada)
        await #expect(throws: StatusError.self) {
            try await client("/users/{id}").value(Users.one("7").with(\.validateStatus, .use(.statuses([200]))))
        }
    }

    @Test func aCallHasItsOwnOptions() async throws {
        let (client, stub) = client(Stub().responds(.json(ada, status: .notFound)))
        #expect(try await client.value(Users.one("7").with(\.validateStatus, .off).with(\.urlTemplate, "mine")) == ada)
        #expect(stub.requests.first?.request.options.urlTemplate == "mine")
    }

    @Test func aBodyOverTheLimitIsRefused() async throws {
        let stub = StubTransport(Stub().responds(.stream([Data(count: 600), Data(count: 600)])))
        let client = APIClient(stub.server("https://a.example"), bodyLimitBytes: 1000)
        let error = await #expect(throws: TransportError.self) { try await client.value(Users.all) }
        #expect(error?.code == .bodyTooLarge)
        #expect(stub.openBodyCount == 0)
    }

    @Test func theStepsOfACallAreSeparable() async throws {
        let (client, _) = client(Stub().responds(.json(ada)))
        let endpoint = Users.one("7")
        var request = try client.request(for: endpoint)
        request.head.headerFields[.userAgent] = "by hand"
        let response = try await client.send(request)
        #expect(response.request.head.headerFields[.userAgent] == "by hand")
        #expect(try await client.decode(response, as: endpoint.decoding) == ada)
    }

    @Test func theStackCanBeUsedUntyped() async throws {
        let (client, _) = client(Stub().responds(.status(.notFound, text: "plain")))
        let response = try await client.stack.send(try Request(.get, "/x"))
        #expect(response.status == .notFound)
        #expect(try await response.body.collect() == Data("plain".utf8))
    }

    @Test func verbsNeedNoEndpoint() async throws {
        let (client, stub) = client(Stub().responds(.json(ada)))
        let id = "a b"
        let read: User = try await client.get("/users/\(id)", query: ["page": 2])
        #expect(try await client.post("/users", body: .json(ada), as: User.self) == read)
        #expect(try await client.put("/users/7", body: .json(ada), as: User.self) == read)
        #expect(try await client.patch("/users/7", body: .form(["name": "A B"]), as: User.self) == read)
        #expect(try await client.delete("/users/7", as: User.self) == read)
        try await client.post("/users", body: .text("x"))
        try await client.put("/users/7", body: .data(Data([1])))
        try await client.patch("/users/7")
        try await client.delete("/users/7")
        #expect(stub.requests.map(\.request.method) == [.get, .post, .put, .patch, .delete, .post, .put, .patch, .delete])
        #expect(stub.requests[0].request.head.path == "/v1/users/a%20b?page=2")
        #expect(stub.requests[3].body == Data("name=A+B".utf8))
        #expect(
            stub.requests.map { $0.request.head.headerFields[.contentType] } == [
                nil, "application/json", "application/json", "application/x-www-form-urlencoded", nil, "text/plain; charset=utf-8",
                "application/octet-stream", nil, nil,
            ])
    }

    @Test func headersOfTheCallReplaceHeadersOfTheBodyAndTheServer() async throws {
        let stub = StubTransport(Stub().responds(.json(ada)))
        let client = APIClient(stub.server("https://a.example", headers: [.accept: "application/vnd.a+json"]))
        _ = try await client.value(Users.one("7"))
        _ = try await client.post("/x", headers: [.contentType: "application/vnd.b+json"], body: .json(ada), as: User.self)
        #expect(stub.requests[0].request.head.headerFields[values: .accept] == ["application/vnd.a+json"])
        #expect(stub.requests[1].request.head.headerFields[values: .contentType] == ["application/vnd.b+json"])
    }

    @Test func aPathThatCannotBeSentFailsBeforeAnythingIsSent() async throws {
        let (client, stub) = client(Stub().responds(.json(ada)))
        for id in ["", ".", ".."] { await #expect(throws: InvalidURLError.self) { try await client.value(Users.one(id)) } }
        #expect(stub.requests.isEmpty)
    }

    @Test func aValueThatCannotBeEncodedFailsBeforeAnythingIsSent() async throws {
        let (client, stub) = client(Stub().responds(.json(ada)))
        let error = await #expect(throws: RequestEncodingError.self) { try await client.post("/x", body: .json(["x": Double.nan])) }
        #expect(error?.underlying is EncodingError)
        #expect(stub.requests.isEmpty)
    }

    @Test func aBodyThatCannotBeEncodedNamesRequestTypeAndPlace() async throws {
        struct Line: Encodable { var price: Double }
        struct Order: Encodable { var lines: [Line] }
        struct Refusing: Encodable {
            func encode(to encoder: any Encoder) throws {
                throw EncodingError.invalidValue("s3cret", .init(codingPath: encoder.codingPath, debugDescription: "s3cret"))
            }
        }
        let (client, stub) = client(Stub().responds(.json(ada)))
        let body = EndpointBody.json(Order(lines: [Line(price: 1), Line(price: .infinity)]))
        let price = "POST /orders: cannot encode Order at lines[1].price: a number that is not finite (not sent)"
        let error = try #require(await #expect(throws: RequestEncodingError.self) { try await client.post("/orders", body: body) })
        #expect(error.description == price && error.codingPath == "lines[1].price")
        #expect(error.phase == .request && error.delivery == .notSent && error.response == nil && error.request?.body.isEmpty == true)
        #expect(error.errorDescription == "The content of the request could not be created." && error.recoverySuggestion == nil)
        let uploaded = await #expect(throws: RequestEncodingError.self) { try await client.upload("/orders", body: body) { _ in } }
        #expect(uploaded?.description == price)
        let own = await #expect(throws: RequestEncodingError.self) { try await client.put("/x", body: .json([Refusing()])) }
        #expect(own?.description == "PUT /x: cannot encode [Refusing] at [0]: invalid value (not sent)")
        #expect(!String(reflecting: own).contains("s3cret") && stub.requests.isEmpty)
    }

    /// Only the form knows its boundary. With another boundary, a server would find no part.
    @Test(arguments: ["multipart/form-data", "multipart/form-data; boundary=abc", "application/json"])
    func aFormWithACustomContentTypeIsRefused(type: String) async throws {
        let (client, stub) = client(Stub().responds(.status(.noContent)))
        let form: MultipartForm = ["title": "Sunset"]
        let error = await #expect(throws: RequestEncodingError.self) {
            try await client.post("/form", headers: [.contentType: type], body: .multipart(form))
        }
        #expect(
            error?.description
                == "POST /form: cannot encode the body: the Content-Type of the request does not have the boundary of the form; "
                + "leave the field out, because the form sets it (not sent)")
        #expect(stub.requests.isEmpty)
        try await client.post("/form", headers: [.contentType: form.contentType], body: .multipart(form))
        #expect(stub.requests.map { $0.headers[.contentType] } == [form.contentType])
    }

    @Test func anEncodedBodyIsNamedInTheError() async throws {
        let (client, _) = client(
            Stub().responds(.data(Data([0x1F, 0x8B, 8, 0, 0, 0]), headers: [.contentType: "application/json", .contentEncoding: "gzip"])))
        let error = await #expect(throws: ResponseDecodingError.self) { try await client.value(Users.all) }
        #expect(
            error?.description
                == "GET https://a.example/v1/users: cannot decode [User]: the body is still encoded (Content-Encoding: gzip): "
                + "decompress() decodes the body, unless the request sets its own Accept-Encoding (status 200)")
    }

    @Test func linesOfAResponseHaveTheCodingOfTheClientAndInvalidOnesCanBeSkipped() async throws {
        let log =
            "{\"item_name\":\"a\",\"placed_at\":\"2026-01-01T00:00:00Z\"}\nno JSON\n{}\n{\"item_name\":\"b\",\"placed_at\":\"2026-01-01T00:00:00Z\"}"
        let (client, _) = client(Stub().responds(.data(Data(log.utf8))), json: JSONCoding(keys: .snakeCase))
        let skipped = Mutex<[String]>([])
        var names: [String] = []
        let lines = try await client.send(Endpoint<Void>.get("/log"))
            .ndjson(as: Order.self, onInvalid: { error in skipped.withLock { $0.append("\(error)") } })
        for try await order in lines { names.append(order.itemName) }
        #expect(names == ["a", "b"])
        let places = skipped.withLock { $0.map { $0.split(separator: ": ").dropLast(2).joined(separator: ": ") } }
        #expect(places == ["GET https://a.example/v1/log: line 2", "GET https://a.example/v1/log: line 3"])

        let sequence = try await client.send(Endpoint<Void>.get("/log")).jsonSequence(as: Order.self, onInvalid: { _ in })
        for try await _ in sequence {}
        let strict = try await client.send(Endpoint<Void>.get("/log")).ndjson(as: Order.self)
        await #expect(throws: JSONTextError.self) { for try await _ in strict {} }
    }

    @Test func aCustomDecodingReadsAnEnvelope() async throws {
        let (client, _) = client(Stub().responds(.json(["data": ada])))
        let enveloped = ResponseDecoding<User> { data, _, json in
            guard let user = try json.decode([String: User].self, from: data)["data"] else { throw CancellationError() }
            return user
        }
        #expect(try await client.value(Endpoint(.get, "/x", decoding: enveloped)) == ada)
    }

    @Test func cancellingACallStopsIt() async throws {
        let (client, stub) = client(Stub().responds(.never))
        let task = Task { try await client.value(Users.all) }
        try await poll("the call to begin", value: { stub.requests.count }) { $0 == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
