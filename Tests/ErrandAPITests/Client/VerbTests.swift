import Errand
import ErrandTesting
import TestSupport
import Testing

private struct User: Codable, Sendable, Equatable {
    var id: Int
    var name: String
}

@Suite(.timeLimit(.minutes(5))) struct VerbTests {
    private let ada = User(id: 7, name: "Ada")

    private func client(_ response: StubResponse) -> (APIClient, StubTransport) {
        let stub = StubTransport(Stub().responds(response, repeatingLast: true))
        return (APIClient(stub.server("https://a.example")), stub)
    }

    @Test func aVerbWithoutAValueNeedsNoType() async throws {
        let (client, stub) = client(.status(.ok, text: "pong"))
        try await client.get("/ping")
        try await client.head("/ping")
        try await client.sendOptions("/ping")
        #expect(stub.requests.map(\.method) == [.get, .head, .options])
        #expect(stub.openBodyCount == 0 && stub.requests.allSatisfy { $0.headers[.accept] == nil })
    }

    @Test func headAndOptionsReturnStatusAndFields() async throws {
        let (client, _) = client(.status(.noContent, headers: [.allow: "GET, PUT", .contentLength: "12"]))
        #expect(try await client.sendOptions("/x").headers[.allow] == "GET, PUT")
        let head = try await client.head("/x")
        #expect(head.status == .noContent && head.headers[.contentLength] == "12")
    }

    @Test func anUnwantedStatusFailsAVerbWithoutAValue() async throws {
        let (client, _) = client(.status(.notFound))
        await #expect(throws: StatusError.self) { try await client.get("/ping") }
        await #expect(throws: StatusError.self) { try await client.head("/ping") }
    }

    @Test func aVerbHasATimeoutAndOtherOptions() async throws {
        let (client, stub) = client(.json(ada))
        let user = try await client.get("/x", timeout: .seconds(2), as: User.self) { $0.tags = ["feature": "list"] }
        #expect(user == ada)
        #expect(try await client.post("/x", body: .json(ada), timeout: .seconds(3), as: User.self) == ada)
        try await client.delete("/x", timeout: .seconds(4))
        #expect(stub.requests.map { $0.request.options.timeout } == [.use(.seconds(2)), .use(.seconds(3)), .use(.seconds(4))])
        #expect(stub.requests[0].request.options.tags == ["feature": "list"])
    }

    @Test func aTimeoutEndsAVerb() async throws {
        let (client, _) = client(.never)
        let error = await #expect(throws: TransportError.self) { try await client.get("/x", timeout: .milliseconds(20)) }
        #expect(error?.code == .timedOut)
    }

    @Test func theTypeOfAnEndpointMayBeNamedInTheFactory() async throws {
        let (client, _) = client(.json(ada))
        #expect(try await client.response(.get("/x", as: User.self)).value == ada)
        #expect(try await client.value(.post("/x", body: .json(ada), as: User.self)) == ada)
        let typed: Endpoint<User> = .get("/x")
        #expect(try await client.value(typed.with { $0.timeout = .seconds(1) }) == ada)
        #expect(try await client.value(typed.with(\.timeout, .seconds(1))) == ada)
    }

    @Test func aCallIsShownBeforeItIsSent() async throws {
        let (client, stub) = client(.json(ada))
        let request = try await client.prepared(.get("/users/\(7, "id")", query: ["a": 1], as: User.self))
        #expect(request.url?.description == "https://a.example/users/7?a=1")
        #expect(try request.curl().contains("https://a.example/users/7?a=1") && stub.requests.isEmpty)
    }

    // MARK: Another value

    @Test func anEndpointIsMappedToAModelOfTheApp() async throws {
        let (client, stub) = client(.json(ada))
        let name = Endpoint<User>.get("/users/\(7, "id")", query: ["a": 1], headers: [.eTag: "x"]).with(\.timeout, .use(.seconds(2)))
            .map(\.name)
        #expect(try await client.value(name) == "Ada")
        let sent = try #require(stub.requests.first)
        #expect(sent.request.head.path == "/users/7?a=1" && sent.request.options.urlTemplate == "/users/{id}")
        #expect(
            sent.request.options.timeout == .use(.seconds(2)) && sent.headers[.eTag] == "x" && sent.headers[.accept] == "application/json")
    }

    @Test func anErrorOfAConversionIsThrownUnchanged() async throws {
        let (client, _) = client(.json(ada))
        await #expect(throws: TestError()) {
            _ = try await client.value(Endpoint<User>.get("/x").map { _ in throw TestError() } as Endpoint<Int>)
        }
        let failing = Endpoint<User>.get("/x").map { user -> Int in
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "\(user.id)"))
        }
        await #expect(throws: ResponseDecodingError.self) { _ = try await client.value(failing) }
    }

    @Test func aDecodingIsMapped() async throws {
        let (client, stub) = client(.json([ada, ada]))
        let count = ResponseDecoding<[User]>.json.map(\.count)
        #expect(try await client.value(Endpoint(.get, "/x", decoding: count)) == 2)
        let nothing = ResponseDecoding<Void>.none.map { "done" }
        #expect(try await client.value(Endpoint(.get, "/x", decoding: nothing)) == "done")
        #expect(stub.openBodyCount == 0)
    }

    // MARK: Bodies

    @Test func formsAreMadeOfLiteralsDictionariesAndValues() async throws {
        struct Login: Encodable {
            var user: String
            var scopes: [String]
            var hint: String?
        }
        let (client, stub) = client(.status(.ok))
        try await client.post("/x", body: .form(["z": "1 2", "a": "ä"]))
        let fields = ["z": "1 2", "a": "ä"]
        try await client.post("/x", body: .form(fields))
        try await client.post("/x", body: .form(Login(user: "joe b", scopes: ["r", "w"], hint: nil)))
        #expect(stub.requests.map(\.text) == ["z=1+2&a=%C3%A4", "a=%C3%A4&z=1+2", "user=joe+b&scopes=r&scopes=w"])
        #expect(stub.requests.allSatisfy { $0.headers[.contentType] == "application/x-www-form-urlencoded" })
        let error = await #expect(throws: RequestEncodingError.self) {
            try await client.post("/x", body: .form(["user": Login(user: "", scopes: [])]))
        }
        #expect(error?.underlying is EncodingError && error?.typeName == "[String: Login]")
        #expect(stub.requests.count == 3, "a value that is no form fails before anything is sent")
    }

    @Test func theErrorOfANegativeTimeoutNamesTheRule() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let client = APIClient(stub.timeout(.seconds(5)).server("https://a.example"))
        let error = await #expect(throws: TransportError.self) { try await client.get("/x", timeout: .seconds(-1)) }
        let text = error?.description ?? ""
        #expect(text.contains("the limit timeout is -1 s, set by request.options.timeout; a limit must be more than zero"), "\(text)")
    }

    // MARK: Any JSON

    @Test func anyJSONIsReadAndSentWithAllItsDigits() async throws {
        let text = #"{"id":123456789012345678901234567890,"price":1234567890123456.789}"#
        let (client, stub) = client(.status(.ok, text: text))
        let json = try await client.get("/x", as: JSONValue.self)
        #expect(json["id"].numberValue?.description == "123456789012345678901234567890" && json["data"]["x"].isNull)
        #expect(json["price"].decimalValue == Decimal(string: "1234567890123456.789"))
        try await client.post("/x", body: .json(json))
        #expect(stub.requests.last?.text == text)
    }

    @Test func anyJSONOfAnEmptyBodyIsNull() async throws {
        let (client, _) = client(.status(.noContent))
        #expect(try await client.get("/x", as: JSONValue.self).isNull)
    }

    @Test func aMediaTypeThatCannotBeSentFailsTheCall() async throws {
        let stub = StubTransport(Stub().responds(.json(["a": 1]), repeatingLast: true))
        let client = APIClient(stub.server("https://a.example"))
        await #expect(throws: InvalidFieldError.self) {
            try await client.post("/x", body: .data(Data("x".utf8), contentType: "a/b\r\nX: y"))
        }
        #expect(stub.requests.isEmpty)
    }
}
