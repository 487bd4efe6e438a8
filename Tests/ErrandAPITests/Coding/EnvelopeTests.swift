import Errand
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

/// A back end that wraps each body.
@Suite(.timeLimit(.minutes(5))) struct EnvelopeTests {
    struct Wrapper: ResponseEnvelope {
        var code: Int
        var message: String?
        var requestId: String?

        var failure: ServiceError? { code == 0 ? nil : ServiceError(.init(code), message: message ?? "", requestID: requestId) }
    }

    struct User: Codable, Sendable, Equatable {
        var userName: String
    }

    private func client(_ stub: StubTransport, mapError: (@Sendable (StatusError) throws -> any Error)? = nil) -> APIClient {
        APIClient(stub.server("https://a.example"), json: JSONCoding(keys: .snakeCase), envelope: Wrapper.self, mapError: mapError)
    }

    private func stub(_ json: JSONValue, status: HTTPResponse.Status = .ok) -> StubTransport {
        StubTransport(Stub().responds(.json(json, status: status)))
    }

    private let balanceTooLow: JSONValue = ["code": 40_012, "message": "the balance\nis too low", "request_id": "r-17", "data": nil]

    @Test func aCallReturnsTheValueInTheEnvelope() async throws {
        let one = stub(["code": 0, "data": ["user_name": "Ada"]])
        #expect(try await client(one).get("/users/7", as: User.self) == User(userName: "Ada"))
        #expect(try await client(one).value(Endpoint<User>.get("/users/7").map(\.userName)) == "Ada")
        let list = stub(["data": [["user_name": "Ada"]], "code": 0, "message": "ok"])
        #expect(try await client(list).get("/users", as: [User].self).count == 1)
        #expect(try await client(stub(["code": 0, "data": 7])).get("/count", as: Int.self) == 7)
        #expect(one.openBodyCount == 0 && list.openBodyCount == 0)
    }

    @Test func aFailureIsAServiceErrorForEveryStatus() async throws {
        for status in [HTTPResponse.Status.ok, .unauthorized, .internalServerError] {
            let stub = stub(balanceTooLow, status: status)
            for call in 0..<3 {
                let error = await #expect(throws: ServiceError.self) {
                    switch call {
                    case 0: _ = try await client(stub).post("/orders", as: User.self)
                    case 1: _ = try await client(stub).post("/orders", as: User?.self)
                    default: try await client(stub).post("/orders")
                    }
                }
                #expect(error?.code == 40_012 && error?.code.number == 40_012 && error?.requestID == "r-17" && error?.status == status)
                #expect("\(error!)".hasPrefix("POST https://a.example/orders: service error 40012: the balance"), "\(error!)")
                #expect("\(error!)".contains("is too low (request ID r-17, status \(status.code))"), "\(error!)")
                #expect(error?.localizedDescription.hasPrefix("the balance") == true && !"\(error!)".contains("\n"))
                #expect(error?.isUnauthorized == (status == .unauthorized) && error?.isServerError == (status == .internalServerError))
            }
            #expect(stub.openBodyCount == 0)
        }
    }

    @Test func missingDataIsDecidedByTheOutput() async throws {
        for json: JSONValue in [["code": 0], ["code": 0, "data": nil]] {
            let client = client(stub(json))
            #expect(try await client.get("/x", as: User?.self) == nil)
            try await client.delete("/x")
            let error = await #expect(throws: ResponseDecodingError.self) { try await client.get("/x", as: User.self) }
            #expect("\(error!)".hasPrefix("GET https://a.example/x: cannot decode EnvelopeTests.User: the envelope has no '"), "\(error!)")
            #expect("\(error!)".hasSuffix("; if this is not an error, make the output optional (status 200)"), "\(error!)")
        }
        // The response has no body, as with 204.
        let empty = client(StubTransport(Stub().responds(.status(.noContent))))
        #expect(try await empty.get("/x", as: User?.self) == nil)
        try await empty.delete("/x")
    }

    @Test func aBodyWithoutAnEnvelopeIsAnError() async throws {
        await #expect(throws: ResponseDecodingError.self) { try await client(stub(["user_name": "Ada"])).get("/x", as: User.self) }
        let text = StubTransport(Stub().responds(.status(.badGateway, text: "<html>")))
        await #expect(throws: StatusError.self) { try await client(text).get("/x", as: User.self) }
        // Also for a call without an output: it may have failed.
        for json: JSONValue in [["code": "E42"], ["user_name": "Ada"], []] {
            await #expect(throws: ResponseDecodingError.self) { try await client(stub(json)).delete("/x") }
        }
        await #expect(throws: TestError.self) { try await client(text, mapError: { _ in TestError() }).get("/x", as: User.self) }
        await #expect(throws: ServiceError.self) {
            try await client(stub(balanceTooLow, status: .badRequest), mapError: { _ in TestError() }).get("/x", as: User.self)
        }
    }

    @Test func aCallMayHaveNoEnvelope() async throws {
        let client = client(stub(["user_name": "Ada"]))
        #expect(try await client.value(Endpoint<User>(.get, "/x", decoding: .json.withoutEnvelope)).userName == "Ada")
        #expect(try await client.json(Endpoint<User>(.get, "/x", decoding: .json.withoutEnvelope)) == ["user_name": "Ada"])
        // Nor has its refused response.
        let refusing = self.client(stub(balanceTooLow, status: .badRequest), mapError: { _ in TestError() })
        let call = Endpoint<User>(.get, "/x", decoding: .json.map { $0 }.withoutEnvelope)
        await #expect(throws: TestError.self) { try await refusing.value(call.map { $0 }) }
        await #expect(throws: TestError.self) { try await refusing.poll(call) }
        #expect(try await client.value(Endpoint<Data>.get("/x")).isEmpty == false)
        await #expect(throws: ResponseDecodingError.self, "any JSON is that in the envelope") { try await client.json("/x") }
        let other = self.client(stub(["code": 0, "data": ["a": [1]]]))
        #expect(try await other.json("/x") == ["a": [1]])
        #expect(try await other.json(Endpoint<Void>.delete("/x")).a[0] == 1)
        for empty: JSONValue in [["code": 0], ["code": 0, "data": nil]] {
            #expect(try await self.client(stub(empty)).json("/x") == .null)
            #expect(try await self.client(stub(empty)).get("/x", as: JSONValue.self) == .null)
            #expect(try await self.client(stub(empty)).get("/x", as: JSONValue?.self) == .none)
        }
    }

    /// A text is that in the envelope, with and without a question mark.
    @Test func aTextIsInTheEnvelope() async throws {
        let client = client(stub(["code": 0, "data": "https://a.example/upload"]))
        #expect(try await client.get("/x", as: String.self) == "https://a.example/upload")
        #expect(try await client.get("/x", as: String?.self) == "https://a.example/upload")
        #expect(try await client.value(Endpoint<String>(.get, "/x", decoding: .json.withoutEnvelope)).hasPrefix("{"))
        let error = await #expect(throws: ResponseDecodingError.self) {
            try await self.client(StubTransport(Stub().responds(.status(.ok, text: "plain")))).get("/x", as: String.self)
        }
        #expect("\(error!)".contains("the body is not valid JSON"), "\(error!)")
    }

    /// No call takes the error of a back end for its data.
    @Test func noCallReturnsAServiceErrorAsData() async throws {
        let failing = client(stub(balanceTooLow))
        let file = FileManager.default.temporaryDirectory.appending(path: "envelope-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        for call in 0..<5 {
            let error = await #expect(throws: ServiceError.self) {
                switch call {
                case 0: _ = try await failing.get("/x", as: String.self)
                case 1: _ = try await failing.get("/x", as: Data.self)
                case 2: _ = try await failing.data(Endpoint<User>.get("/x"))
                case 3: _ = try await failing.json("/x")
                default: try await failing.download("/x", to: file)
                }
            }
            #expect(error?.code == 40_012 && error?.response?.status == .ok && error?.request?.url?.path == "/x", "\(call)")
        }
        #expect(!FileManager.default.fileExists(atPath: file.path))
        // Other data is returned completely, whatever its length and type are.
        let long: JSONValue = ["code": 40_012, "data": .string(String(repeating: "x", count: 200_000))]
        for (json, type) in [(long, "application/json"), (balanceTooLow, "text/plain"), (["code": 0, "data": [1]], "application/json")] {
            let body = Data("\(json)".utf8)
            let stub = StubTransport(Stub().responds(.status(.ok, headers: [.contentType: type], text: "\(json)")))
            let client = client(stub)
            #expect(try await client.download("/x", to: file).bytes == body.count)
            #expect(try Data(contentsOf: file) == body && stub.openBodyCount == 0)
            #expect(try await client.get("/x", as: Data.self) == body)
            #expect(try await client.data(Endpoint<User>.get("/x")) == body)
            let call = Endpoint<Data>(.get, "/x", decoding: .json.withoutEnvelope)
            #expect(try await client.value(call) == body)
            #expect(try await client.data(call) == body)
            #expect(try await client.download(call, to: file).bytes == body.count)
        }
    }

    @Test func jsonInAnEnvelopeIsExact() async throws {
        let text = #"{"code":0,"data":{"id":123456789012345678901234567890,"small":1e-400}}"#
        for coding in [JSONCoding.standard, JSONCoding(keys: .snakeCase)] {
            let stack = StubTransport(Stub().responds(.status(.ok, headers: [.contentType: "application/json"], text: text)))
                .server("https://a.example")
            let client = APIClient(stack, json: coding, envelope: Wrapper.self)
            #expect(try await client.json("/x").id.numberValue?.description == "123456789012345678901234567890")
            #expect(try await client.get("/x", as: JSONValue.self).small.numberValue?.description == "1e-400")
            #expect(try await client.get("/x", as: JSONValue?.self)?.id.isNull == false)
        }
    }

    @Test func theErrorOfAMissingEnvelopeNamesThePlace() async throws {
        func description(_ json: JSONValue, of call: @Sendable (APIClient) async throws -> Void) async -> String {
            let error = await #expect(throws: ResponseDecodingError.self) { try await call(client(stub(json))) }
            return error.map { "\($0)" } ?? ""
        }
        let name = " in the envelope EnvelopeTests.Wrapper; if the body has no envelope, use decoding: .json.withoutEnvelope (status 200)"
        #expect(
            await description(["user_name": "Ada"]) { _ = try await $0.get("/x", as: User.self) }
                == "GET https://a.example/x: cannot decode EnvelopeTests.User at code: no such key" + name)
        #expect(
            await description(["code": "x"]) { try await $0.delete("/x") }
                == "DELETE https://a.example/x: cannot decode Void at code: expected an Int, found a string" + name)
        #expect(
            await description(["code": 0, "data": ["user_name": 7]]) { _ = try await $0.get("/x", as: User.self) }.contains(
                "at data.user_name: "))
    }

    /// The beginning of a body is no envelope, although it may be JSON.
    /// All bodies of an endpoint with a coding of its own have the envelope of that coding.
    @Test func theEnvelopeHasTheCodingOfTheEndpoint() async throws {
        for status in [HTTPResponse.Status.ok, .badRequest] {
            let client = APIClient(stub(balanceTooLow, status: status).server("https://a.example"), envelope: Wrapper.self)
            let call = Endpoint<User>.get("/x", decoding: .json(coding: JSONCoding(keys: .snakeCase)))
            for error in [
                await #expect(throws: ServiceError.self) { try await client.value(call) },
                await #expect(throws: ServiceError.self) { _ = try await client.data(call) },
                await #expect(throws: ServiceError.self) { _ = try await client.json(call) },
            ] { #expect(error?.requestID == "r-17") }
        }
    }

    private struct CountedWrapper: ResponseEnvelope {
        static let count = Mutex(0)
        var code: Int
        var failure: ServiceError? { ServiceError(.init(code), message: "") }

        private enum CodingKeys: String, CodingKey { case code }

        init(from decoder: any Decoder) throws {
            Self.count.withLock { $0 += 1 }
            code = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .code)
        }
    }

    @Test func theBodyOfARefusedResponseIsDecodedOnce() async throws {
        let stub = stub(["code": 7], status: .notFound)
        let client = APIClient(stub.server("https://a.example"), envelope: CountedWrapper.self)
        let error = await #expect(throws: ServiceError.self) { try await client.get("/users/7", as: User.self) }
        #expect(error?.code == 7 && error?.status == .notFound && error?.request?.url?.target == "/users/7")
        #expect(CountedWrapper.count.withLock { $0 } == 1)
    }

    @Test func aRefusedBodyMustBeWhole() async throws {
        let text = "\(balanceTooLow)" + String(repeating: " ", count: 70_000)
        let stub = StubTransport(Stub().responds(.status(.badRequest, headers: [.contentType: "application/json"], text: text)))
        await #expect(throws: StatusError.self) { try await client(stub).get("/x", as: User.self) }
    }

    @Test func theRefusedResponseOfAnotherRequestIsNotMapped() async throws {
        // The layer acts like a middleware that signs in.
        let detour = ClosureMiddleware { _, next in
            let response = try await next.send(Request(.get, url: "https://other.example/token"))
            throw try await StatusError(reading: response)
        }
        let stack = HTTPStack(stub(balanceTooLow, status: .badRequest)).wrapped(by: detour)
        let client = APIClient(stack.server("https://a.example"), json: JSONCoding(keys: .snakeCase), envelope: Wrapper.self) { _ in
            TestError()
        }
        await #expect(throws: StatusError.self) { try await client.get("/x", as: User.self) }
    }

    struct Detailed: ResponseEnvelope {
        var code: Int
        var errors: JSONValue?
        var failure: ServiceError? {
            code == 0 ? nil : ServiceError(.init(code), details: errors ?? nil, equivalentStatus: code == 1_401 ? .unauthorized : nil)
        }
    }

    @Test func anErrorHasDetailsAndAStatus() async throws {
        let stack = stub(["code": 1_401, "errors": ["name": ["too short"]]]).server("https://a.example")
        let error = await #expect(throws: ServiceError.self) {
            try await APIClient(stack, envelope: Detailed.self).get("/x", as: User.self)
        }
        #expect(error?.isUnauthorized == true && error?.isClientError == true && error?.status == .ok)
        #expect(error?.details.name[0] == "too short" && error.map { "\($0)" }?.contains("short") == false)
    }

    /// An output can also ask for members beside the data, such as a cursor.
    @Test func anErrorHasTheWaitThatTheServerAsksFor() async throws {
        let stub = StubTransport(
            Stub().responds(
                .json(balanceTooLow, status: .serviceUnavailable, headers: [.retryAfter: "7"]),
                .json(balanceTooLow, headers: [.retryAfter: "7"]), .json(balanceTooLow)))
        let error = try #require(await #expect(throws: ServiceError.self) { try await client(stub).get("/x", as: User.self) })
        #expect(error.retryAfter == .seconds(7) && error.recoverySuggestion == "Try again in 7 seconds.")
        #expect("\(error)".hasSuffix("(request ID r-17, status 503); the server asks to wait for 7 s"), "\(error)")
        for suggestion in ["Try again in 7 seconds.", nil] {
            let error = await #expect(throws: ServiceError.self) { try await client(stub).get("/x", as: User.self) }
            #expect(error?.status == .ok && error?.recoverySuggestion == suggestion)
        }
        let signedOut = ServiceError(1, equivalentStatus: .unauthorized)
        #expect(signedOut.needsSignIn && signedOut.recoverySuggestion == "Sign in again, then try again.")
    }

    @Test func anOutputMayHaveTheWholeEnvelope() async throws {
        struct List: Decodable, Sendable {
            var data: [User]
            var nextCursor: String?
        }
        let json: JSONValue = ["code": 0, "data": [["user_name": "Ada"]], "next_cursor": "c2"]
        let call = Endpoint<List>(.get, "/users", decoding: .json.includingEnvelope)
        #expect(try await client(stub(json)).value(call).nextCursor == "c2")
        #expect(try await client(stub(json)).value(call.map(\.data.count)) == 1)
        let error = await #expect(throws: ServiceError.self) { try await client(stub(balanceTooLow)).value(call) }
        #expect(error?.code == 40_012 && error?.status == .ok)
        let whole = try await client(stub(json)).json(call)
        #expect(whole.next_cursor == "c2")
        // The cursor of each page leads to the next page.
        let pages = StubTransport(
            Stub().query("cursor", "c2").responds(.json(["code": 0, "data": []] as JSONValue)), Stub().responds(.json(json)))
        var names: [String] = []
        for try await user in client(pages).pages(call, next: .cursor(\.nextCursor)).elements(\.data) { names.append(user.userName) }
        #expect(names == ["Ada"] && pages.requests.count == 2)
    }

    struct Flat: ResponseEnvelope {
        var error: String?
        var failure: ServiceError? { error.map { ServiceError(.init($0)) } }
        static var dataPath: [String] { [] }
    }

    struct Deep: ResponseEnvelope {
        var status: String
        var failure: ServiceError? { status == "ok" ? nil : ServiceError("odd") }
        static var dataPath: [String] { ["result", "data"] }
    }

    struct Snake: ResponseEnvelope {
        var failure: ServiceError? { nil }
        static var dataPath: [String] { ["responseData"] }
    }

    @Test func envelopesHaveAnyShape() async throws {
        let flat = APIClient(stub(["userName": "Ada"]).server("https://a.example"), envelope: Flat.self)
        #expect(try await flat.get("/x", as: User.self).userName == "Ada")
        let failed = APIClient(stub(["error": "not_found"]).server("https://a.example"), envelope: Flat.self)
        let error = await #expect(throws: ServiceError.self) { try await failed.get("/x", as: User.self) }
        #expect(error?.code == "not_found" && error?.code.number == nil)
        #expect(error?.localizedDescription == "The server reported an error.")
        let deep = APIClient(
            stub(["status": "ok", "result": ["data": ["userName": "Ada"]]]).server("https://a.example"), envelope: Deep.self)
        #expect(try await deep.get("/x", as: User.self).userName == "Ada")
        // The names of a path are those that the coding reads.
        let snake = APIClient(
            stub(["response_data": ["user_name": "Ada"]]).server("https://a.example"), json: JSONCoding(keys: .snakeCase),
            envelope: Snake.self)
        #expect(try await snake.get("/x", as: User?.self)?.userName == "Ada")
        let none = APIClient(stub(["status": "ok", "result": nil]).server("https://a.example"), envelope: Deep.self)
        #expect(try await none.get("/x", as: User?.self) == nil)
    }

    /// The call has failed for its observers too, with the status 200.
    @Test func theLogShowsTheFailure() async throws {
        let (logger, lines) = recordingLogger()
        let stack = stub(balanceTooLow).log(to: logger).server("https://a.example")
        await #expect(throws: ServiceError.self) {
            try await APIClient(stack, json: JSONCoding(keys: .snakeCase), envelope: Wrapper.self).get("/x", as: User.self)
        }
        #expect(lines.everything.contains("service error 40012"), "\(lines.everything)")
    }
}
