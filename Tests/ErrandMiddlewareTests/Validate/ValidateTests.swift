import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ValidateMiddlewareTests {
    /// Notes its name, and says always the same.
    private func noting(_ name: String, _ passage: RecordingList<String>, _ verdict: ResponseValidator.Verdict = .next) -> ResponseValidator
    {
        ResponseValidator(name) { _, _, _ in
            passage.record(name)
            return verdict
        }
    }

    // MARK: The chain

    @Test func validatorsRunInOrderUntilADecision() async throws {
        let passage = RecordingList<String>()
        let stub = StubTransport(Stub().responds(.stream(streamed)))
        let accepting = ResponseValidator("b") { _, response, _ in
            passage.record("b")
            return .accept(response)
        }
        let response = try await stub.validate(noting("a", passage), accepting, noting("c", passage)).send(try request())
        #expect(passage.all == ["a", "b"])
        #expect(try await response.body.collect() == Data("onetwothree".utf8), "nobody has read it")
    }

    @Test func anUncontestedResponseIsReturned() async throws {
        let passage = RecordingList<String>()
        let stub = StubTransport(Stub().responds(.stream(streamed, status: .notFound)))
        let response = try await stub.validate(noting("a", passage), noting("b", passage)).send(try request())
        #expect(response.status == .notFound && passage.all == ["a", "b"])
        #expect(try await response.body.collect() == Data("onetwothree".utf8))
    }

    @Test func validatorsOfTheRequestRunFirst() async throws {
        let passage = RecordingList<String>()
        let stack = StubTransport(Stub().responds(.status(.ok))).validate(noting("stack", passage))
        var request = try request()
        request.options.validators = [noting("own 1", passage), noting("own 2", passage)]
        _ = try await stack.send(request)
        #expect(passage.all == ["own 1", "own 2", "stack"])
        request.options.validate = .off
        _ = try await stack.send(request)
        #expect(passage.all.count == 3, "off asks none")
    }

    @Test func aValidatorSeesTheSentRequest() async throws {
        let passage = RecordingList<String>()
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let validator = ResponseValidator("look") { request, response, _ in
            passage.record("\(request.head.path ?? "") \(request.head.headerFields[.acceptLanguage] ?? "") \(response.status.code)")
            return .next
        }
        let stack = stub.transformRequest { $0.head.headerFields[.acceptLanguage] = "de" }.validate(validator).server(
            "https://a.example/v1")
        _ = try await stack.send(try Request(.get, "/users"))
        #expect(passage.all == ["/v1/users de 200"])
    }

    @Test func theDescriptionNamesTheValidators() {
        let passage = RecordingList<String>()
        let stack = StubTransport().validate(noting("signed in", passage), noting("not busy", passage))
        #expect(stack.description == "validate(signed in, not busy) > StubTransport")
    }

    // MARK: Accept and fail

    @Test func aResponseIsAcceptedWithAChangedBody() async throws {
        let stub = StubTransport(Stub().responds(.stream([Data(#"{"ok":true,"#.utf8), Data(#""data":7}"#.utf8)])))
        let unwrapping = ResponseValidator("envelope") { _, response, _ in
            struct Envelope: Decodable { let ok: Bool, data: Int }
            var response = response
            let envelope = try JSONDecoder().decode(Envelope.self, from: try await response.body.collect(upTo: 1_000))
            guard envelope.ok else { return .fail(TestError()) }
            response.body = ResponseBody(Data("\(envelope.data)".utf8))
            return .accept(response)
        }
        let response = try await stub.validate(unwrapping).send(try request())
        #expect(response.body.bufferedData == Data("7".utf8), "it is in memory")
        #expect(try await response.body.collect() == Data("7".utf8))
        #expect(stub.openBodyCount == 0)
    }

    @Test func aReplacementResponseReleasesTheBodyOfTheFirst() async throws {
        let stub = StubTransport(Stub().responds(.stream(streamed, status: .notFound)))
        let response = try await stub.validate(
            ResponseValidator("empty") { request, _, _ in .accept(Response(head: HTTPResponse(status: .ok), request: request)) }
        ).send(try request())
        #expect(response.status == .ok && stub.openBodyCount == 0)
    }

    @Test func aBodyOverTheLimitFailsTheCall() async throws {
        let stub = StubTransport(Stub().responds(.stream(streamed)))
        let error = await #expect(throws: TransportError.self) {
            let reading = ResponseValidator("read") { _, response, _ in
                _ = try await response.body.collect(upTo: 5)
                return .accept(response)
            }
            _ = try await stub.validate(reading).send(try request())
        }
        #expect(error?.code == .bodyTooLarge && stub.openBodyCount == 0)
    }

    @Test func anErrorOfAValidatorIsThrownAndTheBodyReleased() async throws {
        let stub = StubTransport(Stub().responds(.stream(streamed)))
        let validators = [
            ResponseValidator("fail") { _, _, _ in .fail(TestError("a")) },
            ResponseValidator("throw") { _, _, _ in throw TestError("a") },
        ]
        for validator in validators {
            await #expect(throws: TestError("a")) { try await stub.validate(validator).send(try request()) }
            #expect(stub.openBodyCount == 0)
        }
        #expect(stub.requests.count == 2)
    }

    // MARK: Reading

    @Test(arguments: [StubResponse.stream(streamed, headers: [.server: "s"]), .data(Data("onetwothree".utf8))])
    func aBodyReadByOneValidatorIsReadableAgain(_ responds: StubResponse) async throws {
        let passage = RecordingList<String>()
        let stub = StubTransport(Stub().responds(responds))
        func reading(_ name: String, _ read: @escaping @Sendable (Response) async throws -> Data) -> ResponseValidator {
            ResponseValidator(name) { _, response, _ in
                passage.record("\(name) \(String(decoding: try await read(response), as: UTF8.self))")
                return .next
            }
        }
        let stack = stub.validate(
            reading("a") { try await $0.body.collect() }, reading("b") { _ in Data() },
            reading("c") { try await $0.body.collect() })
        let response = try await stack.send(try request())
        #expect(passage.all == ["a onetwothree", "b ", "c onetwothree"])
        #expect(try await response.body.collect() == Data("onetwothree".utf8))
        await #expect(throws: BodyAlreadyUsedError.self) { try await response.body.collect() }
        #expect(stub.openBodyCount == 0)
    }

    @Test func aReadResponseCanBeAccepted() async throws {
        let stub = StubTransport(Stub().responds(.stream(streamed)))
        let accepting = ResponseValidator("a") { _, response, _ in
            _ = try await response.body.collect()
            return .accept(response)
        }
        #expect(try await stub.validate(accepting).send(try request()).body.collect() == Data("onetwothree".utf8))
    }

    @Test func aPartlyReadBodyFailsTheNextReader() async throws {
        let stub = StubTransport(Stub().responds(.stream(streamed)))
        let peeking = ResponseValidator("a") { _, response, _ in
            _ = try await response.body.prefix(limitBytes: 4)
            return .next
        }
        let response = try await stub.validate(peeking).send(try request())
        await #expect(throws: BodyAlreadyUsedError.self) { try await response.body.collect() }
        #expect(stub.openBodyCount == 0)
    }

    // MARK: Retry

    @Test(arguments: [
        (Backoff.constant(.seconds(5)), [5.0, 5, 5, 5]), (.exponential(base: .seconds(1), maxDelay: .seconds(3)), [1, 2, 3, 3]),
        (.fibonacci(unit: .seconds(1)), [1, 1, 2, 3]), (.custom("halves") { .seconds(8.0 / Double(1 << $0)) }, [4, 2, 1, 0.5]),
    ])
    func aRetryWaitsAsItsBackoffDeclares(_ backoff: Backoff, seconds: [Double]) async throws {
        let clock = ManualClock()
        let busy = StubResponse.stream(streamed, status: .serviceUnavailable)
        let stub = StubTransport(Stub().responds(busy, busy, busy, busy, .status(.ok)))
        let stack = stub.validate(again(on: .serviceUnavailable, .retry(backoff, atMost: 4)), clock: clock)
        let task = Task { try await stack.send(try request()) }
        for wait in seconds {
            try await clock.sleepers(atLeast: 1)
            #expect(stub.openBodyCount == 0, "nothing is held during a wait")
            #expect(clock.advanceToNextSleeper() == .seconds(wait))
        }
        let response = try await task.value
        #expect(response.status == .ok)
        #expect(response.metadata.attempts.map(\.number) == [1, 2, 3, 4])
        #expect(response.metadata.attempts.map(\.delay) == seconds.map { .seconds($0) })
    }

    @Test func anImmediateRetryDoesNotWait() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), .status(.ok)))
        let stack = stub.validate(again(on: .serviceUnavailable, .retry(.immediate, atMost: 1)), clock: ManualClock())
        #expect(try await stack.send(try request(.post, body: .text("x"))).status == .ok)
        #expect(stub.requests.map(\.text) == ["x", "x"])
    }

    @Test func eachValidatorCountsItsOwnRetries() async throws {
        let passage = RecordingList<String>()
        let busy = StubResponse.status(.serviceUnavailable)
        let stub = StubTransport(Stub().responds(busy, .status(.badGateway), busy, .status(.ok)))
        func counting(_ status: HTTPResponse.Status) -> ResponseValidator {
            ResponseValidator("\(status.code)") { _, response, retries in
                passage.record("\(status.code):\(retries)")
                return response.status == status ? .retry(.immediate, atMost: 5) : .next
            }
        }
        _ = try await stub.validate(counting(.serviceUnavailable), counting(.badGateway)).send(try request())
        #expect(passage.all == ["503:0", "503:1", "502:0", "503:1", "503:2", "502:1"])
    }

    @Test func usedUpRetriesFailTheCall() async throws {
        let stub = StubTransport(Stub().responds(.stream(streamed, status: .serviceUnavailable, headers: [.retryAfter: "9"])))
        let stack = stub.validate(again(on: .serviceUnavailable, .retry(.immediate, atMost: 2), named: "not busy"))
        var request = try Request(.get, url: "https://a.example/x?token=s3cr3t")
        request.head.headerFields[.authorization] = "Bearer s3cr3t"
        let sent = request
        let error = try #require(await #expect(throws: ResponseValidationError.self) { try await stack.send(sent) })
        #expect(error.name == "not busy" && error.retries == 2 && error.retryStop == .attemptsUsedUp)
        #expect(error.response?.status == .serviceUnavailable && error.response?.headerFields[.retryAfter] == "9")
        #expect(error.request?.id == request.id && error.phase == .response && error.delivery == .sent && error.bodyPrefix.isEmpty)
        #expect(error.attempts.map(\.number) == [1, 2])
        #expect(
            "\(error)"
                == "GET https://a.example/x?token=REDACTED: status 503, refused by 'not busy' after 2 retries; "
                + "attempt 1: 503; attempt 2: 503; no further attempt: all attempts are used up")
        var dumped = ""
        dump(error, to: &dumped)
        #expect(!dumped.contains("s3cr3t"))
        #expect(stub.requests.count == 3 && stub.openBodyCount == 0)
    }

    @Test func aMaximumOfZeroRetriesRefusesImmediately() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable)))
        let error = await #expect(throws: ResponseValidationError.self) {
            try await stub.validate(again(on: .serviceUnavailable, .retry(.immediate, atMost: 0))).send(try request())
        }
        #expect(error?.retries == 0 && error?.attempts.isEmpty == true && stub.requests.count == 1)
        #expect(
            "\(try #require(error))".hasSuffix(
                "status 503, refused by 'again' after 0 retries; no further attempt: all attempts are used up"))
    }

    @Test func aBodyThatCanBeReadOnceIsSentOnce() async throws {
        let stub = StubTransport(Stub().responds(.stream(streamed, status: .serviceUnavailable)))
        let chunks = AsyncThrowingStream<Data, any Error> {
            $0.yield(Data("x".utf8)); $0.finish()
        }
        for verdict: ResponseValidator.Verdict in [
            .retry(.immediate, atMost: 3), .retryAfterRunning { Issue.record("nothing to be done") }, .retryAfterSending(try request()),
        ] {
            let before = stub.requests.count
            let error = await #expect(throws: ResponseValidationError.self) {
                try await stub.validate(again(on: .serviceUnavailable, verdict)).send(try request(.put, body: .stream(chunks)))
            }
            #expect(error?.retryStop == .bodyCannotBeReplayed && error?.retries == 0)
            #expect(stub.requests.count == before + 1 && stub.openBodyCount == 0)
        }
    }

    @Test func aWaitThatWouldPassTheDeadlineIsNotBegun() async throws {
        for (left, sent) in [(Duration.seconds(5), 1), (.seconds(6), 2), (.seconds(11), 3)] {
            let (waits, deadlines) = (ManualClock(), ManualClock())
            let stub = StubTransport(Stub().responds(.stream(streamed, status: .serviceUnavailable)))
            let stack = stub.validate(again(on: .serviceUnavailable, .retry(.constant(.seconds(5)), atMost: 9)), clock: waits)
            let task = Task {
                var request = try request()
                request.deadline = Deadline(after: left, clock: deadlines)
                return try await stack.send(request)
            }
            for _ in 1..<sent {
                try await waits.sleepers(atLeast: 1)
                deadlines.advance(by: .seconds(5))
                waits.advanceToNextSleeper()
            }
            let error = await #expect(throws: ResponseValidationError.self) { try await task.value }
            #expect(error?.retryStop == .deadlineTooNear && error?.retries == sent - 1 && stub.requests.count == sent)
            #expect(stub.openBodyCount == 0 && waits.sleeperCount == 0)
        }
    }

    @Test func eachCallHasItsOwnCounters() async throws {
        let calls = Mutex<[String: Int]>([:])
        let stub = StubTransport(
            Stub().responds(
                .custom { recorded in
                    let count = calls.withLock { calls in
                        calls[recorded.path, default: 0] += 1
                        return calls[recorded.path, default: 0]
                    }
                    return (HTTPResponse(status: count > 3 ? .ok : .serviceUnavailable), Data(recorded.path.utf8))
                }))
        let stack = stub.validate(again(on: .serviceUnavailable, .retry(.immediate, atMost: 3)))
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for call in 0..<50 {
                group.addTask {
                    let response = try await stack.send(Request(.get, url: "https://a.example/\(call)"))
                    let data = try await response.body.collect()
                    return response.status == .ok && response.metadata.attempts.count == 3 && data == Data("/\(call)".utf8)
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
        #expect(stub.requests.count == 200)
    }
}

/// Has each response with `status` sent again.
func again(on status: HTTPResponse.Status, _ verdict: ResponseValidator.Verdict, named name: String = "again")
    -> ResponseValidator
{
    ResponseValidator(name) { _, response, _ in response.status == status ? verdict : .next }
}
