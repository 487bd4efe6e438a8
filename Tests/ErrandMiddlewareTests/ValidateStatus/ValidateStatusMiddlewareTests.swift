import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ValidateStatusMiddlewareTests {
    private func error(_ response: StubResponse, rule: StatusRule = .successful) async throws -> StatusError? {
        let stack = StubTransport(Stub().responds(response)).validateStatus(rule)
        return await #expect(throws: StatusError.self) { try await stack.send(try request()) }
    }

    @Test(arguments: [
        (200, true), (204, true), (299, true), (300, false), (304, false), (400, false), (404, false), (500, false), (599, false),
    ]) func statuses2xxAreAcceptedByDefault(code: Int, isAccepted: Bool) async throws {
        let stack = StubTransport(Stub().responds(.status(.init(code: code)))).validateStatus()
        if isAccepted {
            #expect(try await stack.send(try request()).status.code == code)
        } else {
            await #expect(throws: StatusError.self) { try await stack.send(try request()) }
        }
    }

    @Test func theErrorCarriesTheHeadAndTheBody() async throws {
        let error = try await error(.json(["reason": "gone"], status: .notFound, headers: [.retryAfter: "7"]))
        #expect(error?.status == .notFound)
        #expect(error?.response?.headerFields[.contentType] == "application/json")
        #expect(try error?.json(as: [String: String].self) == ["reason": "gone"])
        #expect(error?.bodyIsWhole == true)
        #expect(error?.retryAfter == .seconds(7))
        #expect(error?.delivery == .sent)
        #expect(error?.problem == nil)
    }

    @Test func theBodyIsBoundedAndTheRestAbandoned() async throws {
        let chunk = Data(repeating: 0x61, count: 40 * 1024)
        let stub = StubTransport(Stub().responds(.stream([chunk, chunk, chunk], status: .internalServerError)))
        let error = await #expect(throws: StatusError.self) { try await stub.validateStatus().send(try request()) }
        #expect(error?.bodyPrefix.count == 64 * 1024)
        #expect(error?.bodyIsWhole == false)
        #expect(stub.openBodyCount == 0)
    }

    @Test func aBrokenBodyDoesNotHideTheStatus() async throws {
        let failure = TransportError(.connectionLost, phase: .body, request: nil, delivery: .sent)
        let error = try await error(.stream(streamed, status: .badGateway, failure: failure))
        #expect(error?.status == .badGateway)
        #expect(error?.bodyPrefix == Data("onetwothree".utf8) && error?.bodyIsWhole == false, "kept as far as it came")
    }

    /// Its front may be valid JSON by chance.
    @Test func aBodyThatIsNotWholeIsNotDecoded() async throws {
        let front = Data(#"{"reason":"gone"}"#.utf8)
        let spaces = Data(repeating: 0x20, count: StatusError.bodyLimitBytes)
        let lost = TransportError(.connectionLost, phase: .body, request: nil, delivery: .sent)
        let responses = [StubResponse.stream([front, spaces], status: .conflict), .stream([front], status: .conflict, failure: lost)]
        for response in responses {
            let error = try await error(response)
            #expect(error?.bodyPrefix.prefix(front.count) == front)
            #expect(throws: DecodingError.self) { try error?.json(as: [String: String].self) }
        }
        let limited = try await error(.stream([front, spaces.dropFirst(front.count)], status: .conflict))
        #expect(try limited?.json(as: [String: String].self) == ["reason": "gone"])
    }

    @Test func problemDetailsAreRead() async throws {
        let body = #"{"type":"https://a.example/out-of-credit","title":"You do not have enough credit.","status":403,"balance":30}"#
        let error = try await error(
            .data(Data(body.utf8), status: .forbidden, headers: [.contentType: "application/problem+json; charset=utf-8"]))
        #expect(error?.problem?.title == "You do not have enough credit.")
        #expect(error?.problem?.extensions == ["balance": 30])
        #expect(
            error?.description
                == "GET https://a.example/x: status 403 Forbidden (You do not have enough credit. https://a.example/out-of-credit)")
    }

    @Test(arguments: ["", "{", "[1]", "\"x\"", "null"]) func aBrokenProblemIsNil(body: String) async throws {
        let error = try await error(
            .data(Data(body.utf8), status: .badRequest, headers: [.contentType: "application/problem+json"]))
        #expect(error?.problem == nil)
        #expect(error?.bodyPrefix == Data(body.utf8))
    }

    @Test func hostileTextHasNoLineBreak() async throws {
        let body = #"{"title":"a\nfatal: forged\u001b[2J"}"#
        let error = try await error(
            .data(Data(body.utf8), status: .badRequest, headers: [.contentType: "application/problem+json"]))
        let text = try #require(error?.description)
        #expect(!text.contains("\n") && !text.contains("\u{1b}"))
    }

    @Test func anErrorAlwaysHasARequest() async throws {
        var refused = try #require(try await error(.status(.notFound)))
        let other = try Request(.get, url: "https://b.example/other")
        refused.request = other
        #expect(refused.request?.id == other.id)
        #expect(refused.description.hasPrefix("GET https://b.example/other: status 404"))
        refused.request = nil
        #expect(refused.request?.id == other.id)
    }

    @Test func noSecretIsShown() async throws {
        let stub = StubTransport(
            Stub().responds(.data(Data(#"{"password":"s3cret"}"#.utf8), status: .unauthorized, headers: [.setCookie: "id=s3cret"])))
        let request = try Request(.get, url: "https://a.example/?token=s3cret", headers: [.authorization: "Bearer s3cret"])
        let error = await #expect(throws: StatusError.self) { try await stub.validateStatus().send(request) }
        var dumped = ""
        if let error { dump(error, to: &dumped) }
        #expect(!"\(String(describing: error))\(String(reflecting: error))\(dumped)".contains("s3cret"))
    }

    @Test func aRequestReplacesTheRule() async throws {
        let stack = StubTransport(Stub().responds(.status(.notFound))).validateStatus()
        var request = try request()
        request.options.validateStatus = .use(.statuses([200, 404]))
        #expect(try await stack.send(request).status == .notFound)
    }

    @Test func theDeadlineHoldsWhileTheErrorsBodyIsRead() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.stream([Data("x".utf8)], status: .badRequest)))
        let stallingBody = ClosureMiddleware { request, next in
            let response = try await next.send(request)
            let source = ClosureBodySource {
                try await request.deadline?.wait()
                throw TransportError(.timedOut, phase: .body, request: request, delivery: .sent)
            }
            let body = ResponseBody(source, request: request)
            return Response(head: response.head, body: body, request: request, exchange: ExchangeLifetime())
        }
        let stalling = stub.wrapped(by: stallingBody).validateStatus()
        var request = try request()
        request.deadline = Deadline(after: .seconds(5), clock: clock)
        let response = Task { try await stalling.send(request) }
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(5))
        // The stub's own body is bounded by the boundary; one that a middleware makes stalls until it is cancelled.
        let error = await #expect(throws: (any Error).self) { try await response.value }
        #expect(error is TransportError || error is StatusError)
    }
}
