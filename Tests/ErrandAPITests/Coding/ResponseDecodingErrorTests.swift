import Errand
import ErrandTesting
import Foundation
import Testing

@testable import ErrandAPI

private struct User: Decodable, Sendable {
    enum Role: String, Decodable { case admin, member }

    struct Address: Decodable, Sendable {
        var street: String
    }

    var id: Int
    var name: String?
    var role: Role?
    var joined: Date?
    var home: URL?
    var key: UUID?
    var photo: Data?
    var isActive: Bool?
    var addresses: [Address]?
}

@Suite(.timeLimit(.minutes(5))) struct ResponseDecodingErrorTests {
    private func client(_ responses: StubResponse...) -> APIClient {
        let stub = StubTransport()
        for response in responses { stub.add(Stub().responds(response)) }
        return APIClient(stub.server("https://a.example"))
    }

    /// Returns the part of the description after the type, without the status.
    private func problem<Output: Decodable & Sendable>(
        _ type: Output.Type, in body: String, status: HTTPResponse.Status = .ok, contentType: String? = "application/json"
    ) async throws -> String {
        let headers: HTTPFields = contentType.map { [.contentType: $0] } ?? [:]
        let client = client(.data(Data(body.utf8), status: status, headers: headers))
        let failure = try #require(await #expect(throws: ResponseDecodingError.self) { try await client.get("/x", as: type) })
        for text in ["\(failure)", failure.localizedDescription, failure.failureReason ?? ""] {
            #expect(!text.contains("s3cret") && !text.contains("Swift.") && !text.contains("unknown context"), "\(text)")
        }
        let text = try #require(failure.description.split(separator: ": cannot decode ").last)
        #expect(text.hasSuffix(" (status \(status.code))"))
        return String(text.dropLast(" (status \(status.code))".count))
    }

    // MARK: In a debugger

    @Test func aDebuggerShowsTheBeginningOfTheBodyWithoutSecrets() async throws {
        let json: HTTPFields = [.contentType: "application/json"]
        let long = String(repeating: "a", count: 2_000)
        for (body, type, shown) in [
            (#"{"id":"seven","token":"s3cret"}"#, json, #"; body: {"id":"seven","token":"REDACTED"}"#),
            (#"{"id":"seven","pin":"s3cret"}"#, json, #"; body: {"id":"seven","pin":"REDACTED"}"#),
            ("<html>s3cret</html>", [.contentType: "text/html"], "; body: 19 bytes (text/html); see bodyPrefix"),
            ("<html>\(long)", [.contentType: "text/html"], "; body: 1024 or more bytes (text/html); see bodyPrefix"),
            ("", json, ""),
        ] as [(String, HTTPFields, String)] {
            let client = client(.data(Data(body.utf8), headers: type))
            let user = Endpoint<User>.get("/x").with(\.sensitivity, Sensitivity(fields: [], queryNames: ["pin"]))
            let failure = try #require(await #expect(throws: ResponseDecodingError.self) { try await client.value(user) })
            #expect(String(reflecting: failure) == failure.description + shown)
        }
    }

    /// The body of an event is JSON for every media type of the response.
    @Test func aDebuggerShowsTheEventWithoutSecrets() async throws {
        let stream = "data: {\"id\":\"seven\",\"token\":\"s3cret\"}\n\n"
        let client = client(.data(Data(stream.utf8), headers: [.contentType: "text/event-stream"]))
        let failure = try #require(
            await #expect(throws: ResponseDecodingError.self) { for try await _ in client.events("/x", as: User.self) {} })
        #expect(failure.debugDescription.hasSuffix(#"; body: {"id":"seven","token":"REDACTED"}"#), "\(failure.debugDescription)")
    }

    // MARK: After a redirect

    /// The code of the app has only the first URL.
    @Test func theErrorAfterARedirectNamesTheFirstRequest() async throws {
        let stub = StubTransport(
            Stub(.get, "/profile").responds(.redirect(to: "/login")),
            Stub(.get, "/login").responds(.status(.ok, headers: [.contentType: "text/html"], text: "<html>")))
        let client = APIClient(stub.redirect().server("https://a.example"))
        let failure = await #expect(throws: ResponseDecodingError.self) { try await client.get("/profile", as: User.self) }
        let end = "(status 200); redirected from GET https://a.example/profile (1 hop)"
        #expect(failure?.description == "GET https://a.example/login: cannot decode User: the body is text/html, not JSON " + end)
        #expect(failure?.redirects.map(\.to) == ["https://a.example/login"])
        let stream = await #expect(throws: EventStreamError.self) { for try await _ in client.events("/profile") {} }
        #expect(stream?.description.hasSuffix("the Content-Type is text/html, not text/event-stream " + end) == true)
    }

    // MARK: The whole body

    @Test(arguments: [HTTPResponse.Status.ok, .noContent, .resetContent]) func theErrorOfAnEmptyBodyNamesTheRemedy(
        _ status: HTTPResponse.Status
    )
        async throws
    {
        #expect(try await problem(User.self, in: "", status: status) == "User: the body is empty; make the output optional, or Void")
    }

    @Test func aPageInPlaceOfJSONIsNamedByItsContentType() async throws {
        let page = "<html>s3cret</html>"
        #expect(try await problem(User.self, in: page, contentType: "text/html; charset=utf-8") == "User: the body is text/html, not JSON")
        #expect(try await problem([User].self, in: page, contentType: "TEXT/HTML") == "[User]: the body is text/html, not JSON")
        #expect(try await problem(User.self, in: page) == "User: the body is not valid JSON: an invalid value at byte 0")
        #expect(try await problem(User.self, in: page, contentType: nil) == "User: the body is not valid JSON: an invalid value at byte 0")
    }

    @Test func invalidJSONIsDescribedWithItsByte() async throws {
        #expect(
            try await problem(User.self, in: #"{"id": 1, "name": "s3cret"#)
                == "User: the body is not valid JSON: an unterminated string at byte 25")
        #expect(
            try await problem(User.self, in: "\u{FEFF}", contentType: "application/problem+json")
                == "User: the body is not valid JSON: no value at byte 3")
        let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
        #expect(try await problem(User.self, in: deep) == "User: the body is nested deeper than 128")
        let wide = "[" + String(repeating: "1,", count: 600_000) + "1.5]"
        #expect(try await problem([Int].self, in: wide) == "[Int]: the body is not valid JSON, or a number in it does not fit its type")
    }

    @Test func aKeyOfADictionaryIsNotShown() async throws {
        struct Loose: Decodable, Sendable {
            struct Key: CodingKey {
                var stringValue: String
                var intValue: Int? { Int(stringValue) }
                init?(stringValue: String) { self.stringValue = stringValue }
                init?(intValue: Int) { stringValue = "\(intValue)" }
            }
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Key.self)
                for key in container.allKeys { _ = try container.decode(Int.self, forKey: key) }
            }
        }
        #expect(
            try await problem([String: User].self, in: #"{"s3cret": {"id": "x", "name": ""}}"#)
                == "[String: User] at […].id: expected an Int, found a string")
        #expect(try await problem([Int: [Int]].self, in: #"{"12": [1, "x"]}"#) == "[Int: [Int]] at […][1]: expected an Int, found a string")
        #expect(try await problem(Loose.self, in: #"{"s3cret": "x"}"#) == "Loose at […]: expected an Int, found a string")
        #expect(try await problem([[Int]].self, in: "[[1], [2, null]]").hasPrefix("[[Int]] at [1][1]: "))
    }

    // MARK: Values

    @Test func aValueOfTheWrongTypeIsDescribed() async throws {
        #expect(try await problem(User.self, in: #"{"id":"s3cret"}"#) == "User at id: expected an Int, found a string")
        #expect(try await problem(User.self, in: #"{"id":[]}"#) == "User at id: expected an Int, found an array")
        #expect(try await problem(User.self, in: #"{"id":{}}"#) == "User at id: expected an Int, found an object")
        #expect(try await problem(User.self, in: #"{"id":true}"#) == "User at id: expected an Int, found a Boolean")
        #expect(try await problem(User.self, in: #"{"id":1,"isActive":7}"#) == "User at isActive: expected a Bool, found a number")
        #expect(try await problem(User.self, in: #"{"id":null}"#) == "User at id: expected an Int, found null")
        #expect(try await problem(User.self, in: "[]") == "User: expected an object, found an array")
        #expect(try await problem([User].self, in: "{}") == "[User]: expected an array, found an object")
        #expect(try await problem(User.self, in: "{}") == "User at id: no such key")
        let nested = #"[{"id":1,"addresses":[{"street":"a"},{"street":7}]}]"#
        #expect(try await problem([User].self, in: nested) == "[User] at [0].addresses[1].street: expected a String, found a number")
    }

    @Test func theErrorOfADateNamesISO8601() async throws {
        let expected = "User at joined: not an ISO 8601 date, such as 2026-11-21T12:36:00Z"
        #expect(try await problem(User.self, in: #"{"id":1,"joined":"s3cret"}"#) == expected)
        let date = "User at joined: not a date of the form iso8601, but a number; JSONCoding(dates:"
        #expect(try await problem(User.self, in: #"{"id":1,"joined":7}"#) == "\(date) .secondsSince1970) reads such numbers")
        let milliseconds = #"{"id":1,"joined":1795264560000}"#
        #expect(try await problem(User.self, in: milliseconds) == "\(date) .millisecondsSince1970) reads such numbers")
        #expect(try await problem(User.self, in: #"{"id":1,"joined":true}"#) == "User at joined: expected a String, found a Boolean")
    }

    @Test(
        arguments: [
            ("2026-02-30T00:00:00Z", ": its day does not exist"),
            (
                "2026-11-21T12:36:00",
                ": it has no time zone; JSONCoding(dates: .iso8601(assuming: .gmt)) reads it as UTC"
            ),
            ("2026-11-21", ": it has no time"), ("2026-11-21T12:36:00Zs3cret", ": its time zone is invalid"), ("s3cret", ""),
        ]) func aDateIsRefusedWithItsReason(_ date: String, _ reason: String) async throws
    {
        let expected = "User at joined: not an ISO 8601 date, such as 2026-11-21T12:36:00Z\(reason)"
        #expect(try await problem(User.self, in: "{\"id\":1,\"joined\":\"\(date)\"}") == expected)
    }

    @Test func theErrorOfADateNamesItsDeclaredFormat() async throws {
        let stub = StubTransport(Stub().responds(.data(Data(#"["s3cret"]"#.utf8), headers: [.contentType: "application/json"])))
        let client = APIClient(stub, json: JSONCoding(dates: .format("dd.MM.yyyy")))
        let error = await #expect(throws: ResponseDecodingError.self) {
            try await client.value(Endpoint<[Date]>.get(.url("https://a.example/")))
        }
        #expect(error?.description.contains("[Date] at [0]: not a date of the format 'dd.MM.yyyy'") == true)
        #expect(error?.description.contains("s3cret") == false)
    }

    @Test func aValueThatItsTypeRefusesIsNotShown() async throws {
        #expect(try await problem(User.self, in: #"{"id":1,"role":"s3cret"}"#) == "User at role: not a value of Role")
        #expect(try await problem(User.self, in: #"{"id":1,"home":""}"#) == "User at home: not a URL")
        #expect(try await problem(User.self, in: #"{"id":1,"key":"s3cret"}"#) == "User at key: not a UUID")
        #expect(try await problem(User.self, in: #"{"id":1,"photo":"!s3cret!"}"#) == "User at photo: not base64")
        #expect(try await problem(User.self, in: #"{"id":1.5}"#) == "User: a number in the body does not fit its type")
        struct Refusing: Decodable {
            init(from decoder: any Decoder) throws {
                throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "s3cret"))
            }
        }
        #expect(try await problem([String: Refusing].self, in: #"{"a":1}"#) == "[String: Refusing] at […]: invalid value")
    }

    // MARK: Types

    @Test(arguments: [
        (#"{"created_at":"yesterday","all_tags":[{"tag_id":1}]}"#, "created_at: not an ISO 8601 date, such as 2026-11-21T12:36:00Z"),
        (#"{"created_at":"2026-11-21T12:36:00Z","all_tags":[{"tag_id":"x"}]}"#, "all_tags[0].tag_id: expected an Int, found a string"),
        (#"{"all_tags":[]}"#, "created_at: no such key"),
        (#"{"created_at":"2026-11-21T12:36:00Z","all_tags":[{}]}"#, "all_tags[0].tag_id: no such key"),
    ])
    func aKeyHasTheNameThatTheBodyHas(_ body: String, _ problem: String) async throws {
        struct Tag: Decodable { var tagId: Int }
        struct Note: Decodable { var createdAt: Date, allTags: [Tag] }
        let stub = StubTransport(Stub().responds(.data(Data(body.utf8))))
        let client = APIClient(stub.server("https://a.example"), json: JSONCoding(keys: .snakeCase))
        let error = await #expect(throws: ResponseDecodingError.self) { _ = try await client.get("/x", as: Note.self) }
        #expect(error?.description == "GET https://a.example/x: cannot decode Note at \(problem) (status 200)")
    }

    private struct Photo: Decodable, Sendable {
        enum CodingKeys: String, CodingKey {
            case id
            case imageURL
            case noteText
            case fileName = "file_name"
        }
        var id = 0
        var imageURL = ""
        var noteText = ""
        var fileName = ""

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            switch try container.decode(Int.self, forKey: .id) {
            case 1: imageURL = try container.decode(String.self, forKey: .imageURL)
            case 2: noteText = try container.decode(String.self, forKey: .noteText)
            default: fileName = try container.decode(String.self, forKey: .fileName)
            }
        }
    }

    @Test(arguments: [
        (
            JSONCoding.Keys.snakeCase, #"{"id":1,"image_url":""}"#,
            "imageURL: no such key; the body has 'image_url', which is read as 'imageUrl'"
        ),
        (.snakeCase, #"{"id":3,"file_name":""}"#, "file_name: no such key; the body has 'file_name', which is read as 'fileName'"),
        (.snakeCase, #"{"id":1}"#, "image_url: no such key"),
        (
            .asDeclared, #"{"id":2,"note_text":""}"#,
            "noteText: no such key; the body has 'note_text', which JSONCoding(keys: .snakeCase) reads"
        ),
        (.asDeclared, #"{"id":2,"NoteText":""}"#, "noteText: no such key; the body has 'NoteText'"),
        (.asDeclared, #"{"id":2,"note":"s3cret"}"#, "noteText: no such key"),
    ])
    func theErrorOfAMissingKeyNamesASimilarKey(_ keys: JSONCoding.Keys, _ body: String, _ problem: String) async throws {
        let stub = StubTransport(Stub().responds(.data(Data(body.utf8))))
        let client = APIClient(stub.server("https://a.example"), json: JSONCoding(keys: keys))
        let error = await #expect(throws: ResponseDecodingError.self) { _ = try await client.get("/x", as: Photo.self) }
        #expect(error?.description == "GET https://a.example/x: cannot decode Photo at \(problem) (status 200)")
    }

    @Test func attemptsAndARedirectThatWasNotFollowedAreInTheDescription() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), .redirect(to: "/y")))
        let client = APIClient(
            stub.retry(clock: ManualClock(), random: { 0 }).validateStatus(.successfulOrRedirection).server("https://a.example"))
        let error = await #expect(throws: ResponseDecodingError.self) { _ = try await client.get("/x", as: Int.self) }
        #expect(
            error?.description.hasSuffix(
                " (status 302); the redirect was not followed: add .redirect() to the stack, or change its policy; attempt 1: 503"
            )
                == true, "\(error?.description ?? "")")
    }

    @Test func typesAreNamedAsInTheSource() {
        struct Local: Decodable { struct Inner {} }
        let names: [(any Any.Type, String)] = [
            (Int.self, "Int"), ([User].self, "[User]"), (User?.self, "User?"),
            ([String: [User.Address?]].self, "[String: [User.Address?]]"),
            (User.Role.self, "User.Role"), (Date.self, "Date"), (Set<Int>.self, "Set<Int>"),
            (Result<Int, any Error>.self, "Result<Int, Error>"),
            (Local.self, "Local"), (Local.Inner.self, "Local.Inner"), ([Local].self, "[Local]"), ([Int].Page.self, "[Int].Page"),
            (Box<[Int]>.Part.self, "Box<[Int]>.Part"), (Void.self, "()"),
        ]
        for (type, name) in names { #expect(typeName(type) == name) }
    }

    private struct Box<Value> { struct Part {} }

    // MARK: An app's own error

    private struct ServerError: Error, Equatable { let code: Int }

    private struct Envelope: Decodable {
        var code: Int
        var data: Int?
    }

    private static let enveloped = ResponseDecoding<Int>(accept: "application/json") { data, _, json in
        let envelope = try json.decode(Envelope.self, from: data)
        guard envelope.code == 0, let value = envelope.data else { throw ServerError(code: envelope.code) }
        return value
    }

    @Test func anErrorOfTheAppIsThrownUnchanged() async throws {
        let client = client(.data(Data(#"{"code":7}"#.utf8)))
        let error = await #expect(throws: ServerError.self) {
            try await client.value(Endpoint(.get, "/x", decoding: Self.enveloped))
        }
        #expect(error == ServerError(code: 7))
        let response = try await client.stack.send(Request(.get, "/x"))
        await #expect(throws: ServerError(code: 7)) { try await client.decode(response, as: Self.enveloped) }
    }

    @Test func anErrorOfTheDecoderWithinADecodingOfTheAppIsWrapped() async throws {
        let client = client(.data(Data(#"{"code":"x"}"#.utf8)))
        let failure = try #require(
            await #expect(throws: ResponseDecodingError.self) {
                try await client.value(Endpoint(.get, "/x", decoding: Self.enveloped))
            })
        #expect(failure.description.hasSuffix("cannot decode Int at code: expected an Int, found a string (status 200)"))
        #expect(failure.underlying is DecodingError)
    }

    /// A type that takes any key. The key in the failure is therefore text of the body.
    private struct AnyMembers: Decodable {
        struct Key: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            for key in container.allKeys { _ = try container.decode(Int.self, forKey: key) }
        }
    }

    /// The key that failed was compared anew with each key of the body, which took 25 seconds.
    @Test func theWorkIsInProportionToTheBody() async throws {
        var text = #"{"a_\#(String(repeating: "b", count: 100_000))":"x""#
        for index in 0..<10_000 { text += #","k\#(100_000 + index)":1"# }
        let stub = StubTransport(Stub().responds(.data(Data((text + "}").utf8))))
        let client = APIClient(stub.server("https://a.example"), json: JSONCoding(keys: .snakeCase))
        let start = ContinuousClock.now
        await #expect(throws: ResponseDecodingError.self) { let _: AnyMembers = try await client.get("/x") }
        #expect(ContinuousClock.now - start < .seconds(15))
    }
}

extension Array { struct Page {} }
