#if MockServer && SWIFT_NIO
import Errand
import ErrandConformance
import ErrandMockServer
import ErrandTesting
import Logging
import Synchronization
import TestSupport
import Testing

/// Each middleware of the library over a real socket, against a server that fails it.
@Suite(.timeLimit(.minutes(5))) struct MiddlewareFaultTests {
    /// Half of it is more than a client reads ahead.
    private static let long = String(repeating: "0123456789abcdef", count: 20_000)
    private static let quick = RetryPolicy(backoff: .constant(.milliseconds(1)))

    private func with(
        _ configuration: MockServer.Configuration = MockServer.Configuration(),
        _ body: (MockServer, NIOTransport) async throws -> Void
    ) async throws {
        try await withMockServer(configuration) { server in
            try await withTransport(NIOTransport()) { try await body(server, $0) }
        }
    }

    private func get(_ server: MockServer, _ path: String = "/x") throws -> Request { try Request(.get, url: server.url(path)) }

    private func text(_ stack: HTTPStack, _ request: Request) async throws -> String {
        String(decoding: try await stack.send(request).body.collect(), as: UTF8.self)
    }

    /// The failure that reading the whole response ends with.
    private func failure(
        _ stack: HTTPStack, _ request: Request, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> TransportError {
        let error = await #expect(throws: TransportError.self, sourceLocation: sourceLocation) { _ = try await text(stack, request) }
        return try #require(error, sourceLocation: sourceLocation)
    }

    // MARK: retry

    @Test(arguments: [
        MockResponse.text("busy", status: .serviceUnavailable), .text("x").fault(.reset, at: .responseStart),
        .text("x").fault(.close, at: .requestStart), .text("x").fault(.halfClose, at: .requestBody),
        .text("x").fault(.stall, at: .responseStart),
    ])
    func retrySendsAGETAgain(_ first: MockResponse) async throws {
        try await with { server, transport async throws in
            server.enqueue(first, .text("fine"))
            let stack = transport.phaseTimeouts(attempt: .seconds(1)).retry(Self.quick)
            let response = try await stack.send(get(server))
            #expect(try await response.body.collect() == Data("fine".utf8))
            #expect(response.metadata.attempts.count == 1 && server.requests.count == 2)
        }
    }

    @Test func retryRepeatsEveryMethodWithoutAConnection() async throws {
        try await withMockServer { server in
            let port = try LoopbackPorts.refused()
            let isUp = Mutex(false)
            try await withTransport(NIOTransport()) { transport in
                let good = server.url("/x")
                server.dispatch { _ in .text("fine") }
                let stack = transport.transformRequest { request in
                    guard
                        isUp.withLock({ isUp in
                            defer { isUp = true }; return isUp
                        })
                    else { return }
                    request = try Request(.post, url: good, body: .text("once"))
                }.retry(Self.quick)
                let response = try await stack.send(Request(.post, url: "http://127.0.0.1:\(port)/x", body: .text("once")))
                #expect(response.status == .ok && response.metadata.attempts.count == 1)
                #expect(server.requests.map(\.body) == [Data("once".utf8)])
            }
        }
    }

    @Test(arguments: [Fault.close, .reset, .truncatedChunk, .wrongContentLength])
    func retryEndsWithTheReturnedHead(_ fault: Fault) async throws {
        try await with { server, transport async throws in
            server.enqueue(.text(Self.long).fault(fault, at: .responseBody), .text("never"))
            let response = try await transport.retry(Self.quick).send(get(server))
            #expect(response.status == .ok)
            await #expect(throws: TransportError.self) { try await response.body.collect() }
            #expect(server.requests.count == 1)
        }
    }

    // MARK: redirect

    /// The second hop goes over a reused connection: the transport sends it once more over another one.
    @Test func aConnectionClosedAtTheSecondHopFailsTheCall() async throws {
        try await with { server, transport async throws in
            let closed = MockResponse.text("x").fault(.close, at: .responseStart)
            server.enqueue(.redirect(to: "/b?token=s3cr3t"), closed, closed, .redirect(to: "/b"), .text("there"))
            let error = try await failure(transport.redirect(), get(server, "/a"))
            #expect(error.code == .connectionLost && error.request?.head.path?.hasPrefix("/b") == true)
            #expect(!"\(error)".contains("s3cr3t"))
            #expect(server.requests.map(\.path) == ["/a", "/b", "/b"])
            #expect(try await text(transport.redirect(), get(server, "/a")) == "there", "the next is fine")
        }
    }

    @Test func retryOutsideRedirectBeginsAtTheFirstHop() async throws {
        try await with { server, transport async throws in
            let reset = MockResponse.text("x").fault(.reset, at: .responseStart)
            server.enqueue(.redirect(to: "/b"), reset, reset, .redirect(to: "/b"), .text("there"))
            #expect(try await text(transport.redirect().retry(Self.quick), get(server, "/a")) == "there")
            #expect(server.requests.map(\.path) == ["/a", "/b", "/b", "/a", "/b"])
        }
    }

    // MARK: validateStatus

    @Test(arguments: [Fault.close, .reset, .truncatedChunk, .wrongContentLength])
    func aBrokenErrorBodyDoesNotHideTheStatus(_ fault: Fault) async throws {
        try await with { server, transport async throws in
            server.enqueue(.text("it is all our fault", status: .internalServerError).fault(fault, at: .responseBody))
            let error = await #expect(throws: StatusError.self) { try await transport.validateStatus().send(get(server)) }
            #expect(error?.status == .internalServerError && error?.bodyIsWhole == false)
            let kept = String(decoding: try #require(error).bodyPrefix, as: UTF8.self)
            // A reset may take along what came before it.
            #expect("it is all our fault".hasPrefix(kept) && (fault == .reset || !kept.isEmpty))
        }
    }

    // MARK: timeout and phase timeouts

    /// Each takes the whole time of the timeout.
    @Test func timeoutEndsAStallAtEachPoint() async throws { await concurrently(FaultPoint.all) { try await timeoutEndsAStall(at: $0) } }

    private func timeoutEndsAStall(at point: FaultPoint) async throws {
        try await with { server, transport async throws in
            server.enqueue(.chunks([Data("one".utf8), Data("two".utf8)]).fault(.stall, at: point), .text("fine"))
            let request = try Request(.post, url: server.url("/x"), body: .text("content"))
            let error = try await failure(transport.timeout(.seconds(2)), request)
            let isBehindHead = [.responseBody, .responseEnd].contains(point)
            #expect(error.code == .timedOut && error.phase == (isBehindHead ? .body : .response), "\(point): \(error)")
            #expect(error.delivery == (isBehindHead ? .sent : .unknown), "\(point): \(error)")
            try await server.waitUntil { $0.openConnections == 0 }
            #expect(try await text(transport.timeout(.seconds(30)), get(server)) == "fine")
        }
    }

    @Test func firstByteEndsTheWaitForASilentServer() async throws {
        try await with { server, transport async throws in
            server.enqueue(.text("x").fault(.stall, at: .responseStart), .text("fine").with { $0.chunkPause = .milliseconds(800) })
            let stack = transport.phaseTimeouts(firstByte: .milliseconds(500))
            let error = try await failure(stack, get(server))
            #expect(error.code == .timedOut && error.phase == .response && error.delivery == .unknown)
            #expect(error.elapsed ?? .zero >= .milliseconds(500))
            try await server.waitUntil { $0.openConnections == 0 }
            #expect(try await text(stack, get(server)) == "fine", "a body may be slow")
        }
    }

    @Test func idleReadEndsAStalledBody() async throws {
        try await with { server, transport async throws in
            server.enqueue(.text(Self.long).fault(.stall, at: .responseBody))
            let stack = transport.phaseTimeouts(idleRead: .milliseconds(500))
            let error = try await failure(stack, get(server))
            #expect(error.code == .timedOut && error.phase == .body && error.delivery == .sent)
            try await server.waitUntil { $0.openConnections == 0 }
            let pieces = (0..<8).map { Data("\($0)".utf8) }
            server.enqueue(.chunks(pieces).with { $0.chunkPause = .milliseconds(100) })
            #expect(try await text(stack, get(server)) == "01234567", "slow, but never idle for so long")
        }
    }

    @Test func connectEndsTheWaitForAServerThatDoesNotAccept() async throws {
        var configuration = MockServer.Configuration()
        configuration.neverAccepts = true
        try await withMockServer(configuration) { server in
            var settings = NIOTransport.Configuration()
            settings.connectTimeout = .seconds(3)
            try await withTransport(NIOTransport(settings)) { transport in
                let error = try await failure(transport.phaseTimeouts(connect: .milliseconds(300)), get(server))
                #expect(error.code == .timedOut && error.phase == .connect && error.delivery == .notSent)
                #expect(error.underlying == nil, "the limit of the phase, not the transport's own")
            }
        }
    }

    @Test(arguments: [true, false]) func idleWriteEndsTheUploadToAServerThatReadsNothing(isInMemory: Bool) async throws {
        var configuration = MockServer.Configuration()
        configuration.receiveBufferBytes = 64 * 1024
        try await with(configuration) { server, transport async throws in
            server.enqueue(.text("x").fault(.stall, at: .requestStart))
            let content = Data(count: 50_000_000)
            let body =
                isInMemory
                ? RequestBody.data(content) : .stream(length: 50_000_000) { _ in ScriptedBodySource(content, pieceBytes: 100_000) }
            let request = try Request(.put, url: server.url("/x"), body: body)
            let error = try await failure(transport.phaseTimeouts(idleWrite: .milliseconds(500)), request)
            #expect(error.code == .timedOut && error.phase == .send && error.delivery == .unknown)
            server.enqueue(.text("fine"))
            #expect(try await text(HTTPStack(transport), get(server)) == "fine")
        }
    }

    /// Each piece has its own time, even if the bytes are in memory.
    @Test func idleWriteLetsASlowServerRead() async throws {
        await concurrently([true, false]) { try await idleWriteLetsASlowServerRead(isInMemory: $0) }
    }

    private func idleWriteLetsASlowServerRead(isInMemory: Bool) async throws {
        var configuration = MockServer.Configuration()
        configuration.receiveBufferBytes = 64 * 1024
        try await with(configuration) { server, transport async throws in
            server.dispatch { request in
                var unpaused = 0
                while let chunk = try await request.source.next() {
                    unpaused += chunk.count
                    if unpaused >= 256 * 1024 {
                        unpaused = 0
                        try await Task.sleep(for: .milliseconds(50))  // the limits are times of the event loop
                    }
                }
                return .text("read")
            }
            let content = Data(count: 16_000_000)
            let body =
                isInMemory
                ? RequestBody.data(content) : .stream(length: 16_000_000) { _ in ScriptedBodySource(content, pieceBytes: 4_000_000) }
            let start = ContinuousClock.now
            #expect(
                try await text(transport.phaseTimeouts(idleWrite: .seconds(2)), Request(.put, url: server.url("/x"), body: body))
                    == "read")
            #expect(ContinuousClock.now - start > .seconds(2), "longer than the limit in all")
        }
    }

    // MARK: fallback and validate

    @Test(arguments: [Fault.reset, .close, .garbage]) func aFallbackServerReplacesABrokenServer(_ fault: Fault) async throws {
        try await withMockServer { second in
            try await with { first, transport async throws in
                first.enqueue(.text("x").fault(fault, at: .responseStart))
                second.enqueue(.text("from the second"))
                let (from, to) = (first.url(""), second.url(""))
                let stack = transport.server(from).fallback(to: transport.server(to))
                let response = try await stack.send(Request(.get, "/x"))
                #expect(try await response.body.collect() == Data("from the second".utf8))
                #expect(response.metadata.isFallback && first.requests.count == 1 && second.requests.map(\.path) == ["/x"])
            }
        }
    }

    @Test func aPOSTThatMayHaveBeenProcessedDoesNotReachTheSecondServer() async throws {
        try await withMockServer { second in
            try await with { first, transport async throws in
                first.enqueue(.text("x").fault(.reset, at: .responseStart))
                second.dispatch { _ in .text("twice") }
                let stack = transport.server(first.url("")).fallback(to: transport.server(second.url("")))
                let error = try await failure(stack, Request(.post, "/x", body: .text("order")))
                #expect(error.code == .connectionLost && second.requests.isEmpty)
            }
        }
    }

    @Test func aRefusedCallIsSentAgainWithAFreshToken() async throws {
        try await with { server, transport async throws in
            server.dispatch { request in
                switch (request.path, request.headers[.authorization]) {
                case ("/token", _): .text("fresh")
                case (_, "Bearer fresh"): .text("welcome")
                default: .text(Self.long, status: .unauthorized).fault(.stall, at: .responseBody)
                }
            }
            let token = Mutex("old")
            let url = server.url("/token")
            let signIn = ResponseValidator("signed in") { _, response, _ in
                guard response.status == .unauthorized else { return .next }
                return .retryAfterRunning {
                    let fresh = try await transport.send(Request(.get, url: url)).body.collect()
                    token.withLock { $0 = String(decoding: fresh, as: UTF8.self) }
                }
            }
            let stack = transport.transformRequest { $0.head.headerFields[.authorization] = "Bearer \(token.withLock { $0 })" }
                .validate(signIn)
            #expect(try await text(stack, get(server)) == "welcome")
            #expect(server.requests.filter { $0.path == "/x" }.count == 2)
        }
    }

    /// The refused response is not whole, and holds the one connection that the work before the retry needs.
    @Test func theWorkBeforeARetryGetsTheConnectionOfTheRefusedResponse() async throws {
        try await withMockServer { server in
            var configuration = NIOTransport.Configuration()
            configuration.maxConnectionsPerOrigin = 1
            try await withTransport(NIOTransport(configuration)) { transport in
                server.enqueue(.text(Self.long, status: .unauthorized).fault(.stall, at: .responseBody), .text("signed in"), .text("fine"))
                let wake = try Request(.post, url: server.url("/wake"))
                let stack = transport.validate(
                    ResponseValidator("signed in") { _, response, _ in response.status == .unauthorized ? .retryAfterSending(wake) : .next }
                ).timeout(.seconds(20))
                #expect(try await text(stack, get(server)) == "fine")
                #expect(server.requests.map(\.path) == ["/x", "/wake", "/x"])
            }
        }
    }

    // MARK: transform, delay, log, number, server

    @Test func aTransformThatReadsABrokenBodyFailsTheCall() async throws {
        try await with { server, transport async throws in
            server.enqueue(.text(Self.long).fault(.reset, at: .responseBody), .text("fine"))
            let stack = transport.transformResponse { $0.body = ResponseBody(try await $0.body.collect()) }
            let error = try await failure(stack, get(server))
            #expect(error.code == .connectionLost && error.phase == .body)
            #expect(try await text(stack.retry(Self.quick), get(server)) == "fine")
        }
    }

    @Test func aTransformInsideRetryMakesABrokenBodyAnAttempt() async throws {
        try await with { server, transport async throws in
            server.enqueue(.text(Self.long).fault(.close, at: .responseBody), .text("fine"))
            let stack = transport.transformResponse { $0.body = ResponseBody(try await $0.body.collect()) }.retry(Self.quick)
            let response = try await stack.send(get(server))
            #expect(try await response.body.collect() == Data("fine".utf8))
            #expect(response.metadata.attempts.count == 1)
        }
    }

    @Test func noRequestIsSentDuringADelay() async throws {
        try await with { server, transport async throws in
            server.enqueue(.text("x").fault(.close, at: .responseStart), .text("fine"))
            let clock = ManualClock()
            let stack = transport.delay(by: .seconds(60), clock: clock).retry(Self.quick)
            let request = try get(server)
            let task = Task { try await stack.send(request).body.collect() }
            for requests in 0..<2 {
                try await clock.sleepers(atLeast: 1)
                #expect(server.requests.count == requests)
                clock.advanceToNextSleeper()
            }
            #expect(try await task.value == Data("fine".utf8))
        }
    }

    @Test func aFailureOnTheWireIsLoggedWithoutSecrets() async throws {
        try await with { server, transport async throws in
            server.enqueue(.text("x").fault(.reset, at: .responseStart), .text("fine"))
            let (logger, lines) = recordingLogger()
            let stack = transport.log(to: logger).retry(Self.quick)
            var request = try get(server, "/x?token=s3cr3t")
            request.head.headerFields[.authorization] = "Bearer s3cr3t"
            #expect(try await text(stack, request) == "fine")
            #expect(lines.all.contains { $0.level >= .warning } && lines.all.count >= 2)
            #expect(!lines.everything.contains("s3cr3t"))
        }
    }

    @Test func attemptsOnTheWireShareANumber() async throws {
        try await with { server, transport async throws in
            server.enqueue(.text("x").fault(.reset, at: .responseStart), .text("one"), .text("two"))
            let numbers = Mutex<[Int?]>([])
            let stack = transport.transformRequest { request in numbers.withLock { $0.append(request.options.requestNumber) } }
                .retry(Self.quick).number()
            for number in 1...2 { #expect(try await stack.send(get(server)).metadata.requestNumber == number) }
            #expect(numbers.withLock { $0 } == [1, 1, 2])
        }
    }

    @Test func aServerBelowABaseURLGetsTheWholePathInEachAttempt() async throws {
        try await with { server, transport async throws in
            server.enqueue(.text("x").fault(.close, at: .responseStart), .text("fine"))
            let stack = transport.retry(Self.quick).server(server.url("/v1"), headers: [.userAgent: "errand"])
            #expect(try await text(stack, Request(.get, "/users")) == "fine")
            #expect(server.requests.map(\.path) == ["/v1/users", "/v1/users"])
            #expect(server.requests.allSatisfy { $0.headers[.userAgent] == "errand" })
        }
    }
}
#endif
