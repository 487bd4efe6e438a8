import Errand
import ErrandTesting
import TestSupport
import Testing

private struct Order: Codable, Sendable, Equatable {
    var itemName: String
    var placedAt: Date
}

/// The helpers around a client read and write JSON as the client does.
@Suite(.timeLimit(.minutes(5))) struct CodingTests {
    private let order = Order(itemName: "tea", placedAt: Date(timeIntervalSince1970: 1_795_264_560))
    private let snakeCase = JSONCoding(keys: .snakeCase)

    // MARK: Stubs

    @Test func aDefaultClientReadsAStubbedModelWithADate() async throws {
        let stub = StubTransport(Stub().responds(.json(order)))
        let client = APIClient(stub.server("https://a.example"))
        #expect(try await client.post("/orders", body: .json(order), as: Order.self) == order)
        let seen = try #require(stub.requests.first)
        #expect(seen.text.contains("2026-11-21T12:36:00Z"))
        #expect(try seen.json(as: Order.self) == order && seen.json(as: JSONValue.self)["itemName"].stringValue == "tea")
    }

    @Test func aStubTakesTheCodingOfTheClient() async throws {
        let stub = StubTransport(Stub().responds(.json(order, coding: snakeCase)))
        let client = APIClient(stub.server("https://a.example"), json: snakeCase)
        #expect(try await client.post("/orders", body: .json(order), as: Order.self) == order)
        let seen = try #require(stub.requests.first)
        #expect(seen.text.contains(#""item_name":"tea""#))
        #expect(try seen.json(coding: snakeCase) == order)
    }

    /// One endpoint may differ from the rest of the API, in both directions.
    @Test func anEndpointCanHaveItsOwnCoding() async throws {
        let odd = JSONCoding(dates: .secondsSince1970, keys: .snakeCase)
        let stub = StubTransport(Stub().responds(.json(order, coding: odd), repeatingLast: true))
        let client = APIClient(stub.server("https://a.example"))
        let call = Endpoint<Order>(.post, "/orders", body: .json(order, coding: odd), decoding: .json(coding: odd))
        #expect(try await client.value(call) == order)
        #expect(try await client.value(call.map { $0 }) == order)
        #expect(
            stub.requests[0].text == #"{"item_name":"tea","placed_at":1795264560}"#
                && stub.requests[0].headers[.accept] == "application/json")
        #expect(try await client.send(call).decoded(as: call.decoding) == order)
        await #expect(throws: ResponseDecodingError.self) { try await client.post("/orders", body: .json(order), as: Order.self) }
    }

    @Test(
        arguments: [
            ("text/plain", Data("ä€".utf8), "ä€"), ("text/plain; charset=UTF-8", Data("ä".utf8), "ä"),
            ("text/plain; charset=iso-8859-1", Data([0x68, 0xE4]), "hä"),
            ("text/html; charset=\"Windows-1252\"", Data([0x80, 0x81]), "€\u{81}"),
            ("text/plain; charset=utf-16le", Data([0xE4, 0x00]), "ä"), ("text/plain; charset=utf-16", Data([0xFE, 0xFF, 0x00, 0xE4]), "ä"),
            ("text/plain; charset=utf-16be", Data([0x00, 0xE4, 0xD8, 0x00, 0x00]), "ä\u{FFFD}\u{FFFD}"),
            ("text/plain; charset=x-odd", Data("ä".utf8), "ä"), ("text/plain", Data([0x61, 0xFF]), "a\u{FFFD}"),
        ])
    func textHasItsCharset(type: String, body: Data, text: String) async throws {
        let stub = StubTransport(Stub().responds(.custom { _ in (HTTPResponse(status: .ok, headerFields: [.contentType: type]), body) }))
        let client = APIClient(stub.server("https://a.example"))
        #expect(try await client.get("/x", as: String.self) == text)
        #expect(try await client.send(try Request(.get, "/x")).text() == text)
    }

    @Test func aFormIsDecoded() async throws {
        struct Token: Decodable, Sendable, Equatable { var accessToken: String; var scope: [String]? }
        let stub = StubTransport(
            Stub(.post, "/token").responds(.data(Data("access_token=a+b&scope=r&scope=w".utf8))),
            Stub(.get, "/empty").responds(.status(.noContent)),
            Stub(.get, "/other").responds(.data(Data("access_token=s3cret&access_token=x".utf8))))
        let client = APIClient(stub.server("https://a.example"), json: snakeCase)
        let token = Token(accessToken: "a b", scope: ["r", "w"])
        #expect(try await client.value(Endpoint<Token>.post("/token", decoding: .form)) == token)
        #expect(try await client.value(Endpoint<Token?>.post("/token", decoding: .form)) == token)
        #expect(stub.requests[0].headers[.accept] == "application/x-www-form-urlencoded")
        #expect(try await client.value(Endpoint<Token?>.get("/empty", decoding: .form)) == nil)
        let error = await #expect(throws: ResponseDecodingError.self) {
            try await client.value(Endpoint<Token>.get("/other", decoding: .form))
        }
        let text = "GET https://a.example/other: cannot decode Token at accessToken: the name occurs more than once (status 200)"
        #expect("\(error!)" == text)
    }

    // MARK: Forms and queries

    private struct Login: Encodable {
        var userName = "joe"
        var signedInAt = Date(timeIntervalSince1970: 1_795_264_560)
        var lastSeen: [Date?] = [Date(timeIntervalSince1970: 0.5), nil]
        var photo = Data("hi?".utf8)
    }

    @Test func aFormHasTheNamesAndDatesOfItsClient() async throws {
        let coding = JSONCoding(dates: .secondsSince1970, keys: .snakeCase)
        let stub = StubTransport(Stub().responds(.status(.noContent), repeatingLast: true))
        try await APIClient(stub.server("https://a.example"), json: coding).post("/login", body: .form(Login(), arrays: .brackets))
        #expect(stub.requests.last?.text == "user_name=joe&signed_in_at=1795264560&last_seen%5B%5D=0.5&photo=aGk%2F")
        try await APIClient(stub.server("https://a.example")).post("/login", body: .form(Login()))
        #expect(
            stub.requests.last?.text
                == "userName=joe&signedInAt=2026-11-21T12%3A36%3A00Z&lastSeen=1970-01-01T00%3A00%3A00Z&photo=aGk%2F")
        #expect(try URLQuery(encoding: Login(), coding: coding).items.map(\.name) == ["user_name", "signed_in_at", "last_seen", "photo"])
    }

    @Test func anEncoderOfTheAppWritesTheNamesAndDatesOfAForm() throws {
        struct Name: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }
        func coding(_ encodeDate: @escaping @Sendable (Date, any Encoder) throws -> Void) -> JSONCoding {
            JSONCoding(
                encoder: {
                    let encoder = JSONEncoder()
                    encoder.keyEncodingStrategy = .custom { Name(stringValue: "x-" + ($0.last?.stringValue ?? "")) }
                    encoder.dateEncodingStrategy = .custom(encodeDate)
                    return encoder
                }, decoder: { JSONDecoder() })
        }
        let order = Order(itemName: "tea", placedAt: Date(timeIntervalSince1970: 86_400))
        let days = coding { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode("day \(Int(date.timeIntervalSince1970 / 86_400))")
        }
        #expect(try FormURLEncoded.encode(order, coding: days) == "x-itemName=tea&x-placedAt=day+1")
        let nested = coding { date, encoder in
            var container = encoder.unkeyedContainer()
            try container.encode(1)
        }
        #expect(throws: EncodingError.self) { try FormURLEncoded.encode(order, coding: nested) }
        #expect(throws: CancellationError.self) { try FormURLEncoded.encode(order, coding: coding { _, _ in throw CancellationError() }) }
    }

    @Test func equalValuesHaveEqualBytes() throws {
        struct Many: Encodable { var b = 1, c = ["z": 1, "y": 2], a = 3 }
        for coding in [JSONCoding.standard, JSONCoding(dates: .secondsSince2001, keys: .snakeCase)] {
            #expect(String(decoding: try coding.encode(Many()), as: UTF8.self) == #"{"a":3,"b":1,"c":{"y":2,"z":1}}"#)
        }
    }

    // MARK: Errors

    @Test func anErrorIsDecodedByTheCodingOfItsClient() async throws {
        struct Problem: Codable, Equatable {
            var errorCode: Int
            var since: Date
        }
        let text = #"{"error_code":7,"since":"2026-11-21T12:36:00Z"}"#
        let problem = Problem(errorCode: 7, since: order.placedAt)
        let stub = StubTransport(Stub().responds(.status(.conflict, text: text), repeatingLast: true))
        for stack in [
            stub.server("https://a.example"), stub.retry().validateStatus().timeout(.seconds(30)).profile().server("https://a.example"),
        ] {
            let client = APIClient(stack, json: snakeCase)
            let error = try #require(await #expect(throws: StatusError.self) { try await client.get("/x", as: Order.self) })
            #expect(try error.json(as: Problem.self) == problem)
            let sent = try #require(await #expect(throws: StatusError.self) { try await client.send(try Request(.get, "/x")) })
            #expect(try sent.json(as: Problem.self) == problem)
            #expect(throws: DecodingError.self) { try error.json(as: Problem.self, coding: .standard) }
        }
        let alone = try #require(
            await #expect(throws: StatusError.self) {
                try await stub.validateStatus().server("https://a.example").send(Request(.get, "/x"))
            })
        #expect(throws: DecodingError.self) { try alone.json(as: Problem.self) }
        #expect(try alone.json(as: Problem.self, coding: snakeCase) == problem)
    }

    // MARK: Responses

    @Test func aResponseIsReadAsBytesTextOrAValue() async throws {
        let stub = StubTransport(Stub().responds(.json(order), repeatingLast: true))
        let stack = stub.server("https://a.example")
        func response() async throws -> Response { try await stack.send(try Request(.get, "/x")) }
        #expect(try await response().json(as: Order.self) == order)
        let inferred: Order = try await response().json()
        #expect(inferred == order)
        #expect(try JSONCoding.standard.decode(Order.self, from: try await response().data()) == order)
        #expect(try await response().text().contains("tea"))
        #expect(try await response().decoded(as: ResponseDecoding<Order>.json.map(\.itemName)) == "tea")
        let error = await #expect(throws: ResponseDecodingError.self) { try await response().json(as: [Int].self) }
        #expect(error?.head.status == .ok && error?.request?.url?.description == "https://a.example/x")
        let long = await #expect(throws: TransportError.self) { try await response().data(upTo: 3) }
        #expect(long?.code == .bodyTooLarge && stub.openBodyCount == 0)
    }

    @Test func aResponseIsReadByTheCodingOfItsClient() async throws {
        let stub = StubTransport(Stub().responds(.json(order, coding: snakeCase), repeatingLast: true))
        let client = APIClient(stub.redirect().retry().server("https://a.example"), json: snakeCase)
        #expect(try await client.send(try Request(.get, "/x")).json(as: Order.self) == order)
        #expect(try await client.send(Endpoint<Order>.get("/x")).json() == order)
        await #expect(throws: ResponseDecodingError.self) {
            try await client.send(try Request(.get, "/x")).json(as: Order.self, coding: .standard)
        }
    }

    // MARK: Descriptions

    @Test func descriptionsAreShort() async throws {
        let stub = StubTransport(Stub().responds(.json(order)))
        let client = APIClient(stub.retry(3).server("https://a.example"), json: snakeCase)
        #expect("\(client)" == "APIClient(\(client.stack))")
        let endpoint: Endpoint<[Order]> = .get("/orders/\(7, "id")", query: ["page": 1, "token": "s3cret"]).with(
            \.timeout, .use(.seconds(1)))
        #expect("\(endpoint)" == "GET /orders/{id}?page=1&token=REDACTED")
        let response = try await client.response(.get("/orders/7", as: Order.self))
        #expect("\(response)" == "200, Order, to GET https://a.example/orders/7")
        #expect("\(JSONCoding.standard)" == "dates: iso8601, keys: asDeclared")
        for value in [client, endpoint, response, response.metadata, JSONCoding.standard, snakeCase] as [Any] {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped] {
                #expect(!text.contains("ObjectIdentifier") && !text.contains("(Function)") && !text.contains("unknown context"), "\(text)")
                #expect(!text.contains("s3cret"))
            }
        }
    }
}
