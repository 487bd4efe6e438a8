import Errand
import ErrandConformance
import ErrandTesting
import Synchronization
import Testing

/// The stub transport, by the suite that a third party runs on its own.
@Suite(.timeLimit(.minutes(5))) struct StubTransportConformanceTests {
    static let noCoding = "a stub hands on what it was given; decoding is a transport's or a middleware's work"

    static let leftOut = TransportBehavior.needsWire.merging([
        "Gzip": noCoding, "Deflate": noCoding, "Brotli": noCoding,
        "ETag": "there is no cache yet",
        "ShutdownEndsExchanges": "a stub has no connection to close: its responses go on, and later calls fail",
    ]) { $1 }

    /// The middleware that some of the behaviors need.
    static let middleware: [MiddlewarePlace: @Sendable (HTTPStack) -> HTTPStack] = [
        .redirect: { $0.redirect() }, .cookies: { $0.cookies(CookieJar()) },
    ]

    @Test(arguments: TransportBehavior.all(excluding: leftOut))
    func conforms(to behavior: TransportBehavior) async throws {
        let check = behavior.prepared()
        let stub = StubTransport(check.stubs)
        try await check(TransportUnderTest(stub, at: "http://stub.example", middleware: Self.middleware))
        #expect(stub.openBodyCount == 0)
    }

    /// Without a wire, none of these behaviors passes. Each behavior records an issue.
    @Test(arguments: TransportBehavior.all.filter { TransportBehavior.needsWire[$0.name] != nil })
    func aBehaviorThatNeedsAWireFailsWithoutAWire(_ behavior: TransportBehavior) async throws {
        let check = behavior.prepared()
        await withKnownIssue { try await check(TransportUnderTest(StubTransport(check.stubs), at: "http://stub.example")) }
    }

    @Test func behaviorsThatNeedAWireHaveValidNames() {
        #expect(Set(TransportBehavior.needsWire.keys).subtracting(TransportBehavior.all.map(\.name)).isEmpty)
        #expect(TransportBehavior.needsWire.count == 8)
    }

    @Test(arguments: [
        ("BasicRedirect", MiddlewarePlace.redirect), ("InfiniteRedirect", .redirect), ("BasicCookieSetAndUse", .cookies), ("ETag", .cache),
    ])
    func aMissingMiddlewareIsNamed(_ name: String, _ place: MiddlewarePlace) async throws {
        let check = try #require(TransportBehavior.all.first { $0.name == name }).prepared()
        try await withKnownIssue {
            try await check(TransportUnderTest(StubTransport(check.stubs), at: "http://stub.example"))
        } matching: { issue in
            issue.comments.contains { $0.rawValue.contains("no middleware for `\(place)` was given") }
        }
    }

    @Test func aCacheThatValidatesPasses() async throws {
        let check = try #require(TransportBehavior.all.first { $0.name == "ETag" }).prepared()
        try await check(
            TransportUnderTest(
                StubTransport(check.stubs), at: "http://stub.example",
                middleware: [.cache: { [stored = Stored()] in $0.wrapped(by: OneEntryCache(stored: stored)) }]))
    }

    @Test(arguments: ["DeadlineBeforeHead", "DeadlineInBody"])
    func aDeadlineMayEndWithinThePatience(_ name: String) async throws {
        let behavior = try #require(TransportBehavior.all.first { $0.name == name })
        // A machine with other work may take longer than a second for nothing: not each time.
        for _ in 0..<20 {
            let isRight = Mutex(true)
            try await withKnownIssue(isIntermittent: true) {
                let check = behavior.prepared()
                let subject = TransportUnderTest(StubTransport(check.stubs), at: "http://stub.example")
                try await check(subject, patience: .milliseconds(550))
            } matching: { _ in
                isRight.withLock { $0 = false }
                return true
            }
            if isRight.withLock({ $0 }) { return }
        }
        Issue.record("a deadline of 300 ms that is kept does not pass with a patience of 550 ms")
    }

    @Test func aHugePatienceIsBounded() async throws {
        for name in ["Ok", "DeadlineInBody"] {
            let check = try #require(TransportBehavior.all.first { $0.name == name }).prepared()
            let stub = StubTransport(check.stubs)
            try await check(TransportUnderTest(stub, at: "http://stub.example"), patience: .seconds(Int64.max))
        }
    }

    @Test func theThirtyNineCommonBehaviorsAreCovered() {
        let names = """
            NotHTTP BadHTTPCase NoReason 204WithContentLength 304WithContentLength IncompleteBody NoLengthHint ConflictingContentLength Ok
            EchoString Gzip Deflate Brotli Identity CustomHeader BasicRedirect NotFound StatusOutOfRangeButValid StressTest GetConvenience
            PostConvenience CancelPreHeaders CancelPreBody Echo1MBBody UnderRead DripRead ClientSendsEmptyHeaderValue InfiniteRedirect
            HeadWithContentLength ServerSendsMultiValueHeader ClientSendsMultiValueHeader BasicCookieSetAndUse EchoInterleave SpeakInterleave
            EmptyChunkedBody URLParams ETag TrailerRead TrailerWrite
            """.split(whereSeparator: \.isWhitespace).map(String.init)
        #expect(names.count == 39)
        let covered = TransportBehavior.all.map(\.name)
        #expect(Set(names).subtracting(covered).isEmpty)
        #expect(Set(covered).count == covered.count, "no name twice")
    }
}

private final class Stored: Sendable {
    let response = Mutex<(body: Data, tag: String)?>(nil)
}

/// Keeps the last response that has a validator, and asks whether it still holds.
private struct OneEntryCache: HTTPMiddleware {
    let stored: Stored

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        var request = request
        let known = stored.response.withLock { $0 }
        if let known { request.head.headerFields[.ifNoneMatch] = known.tag }
        let response = try await next.send(request)
        if let known, response.status == .notModified {
            response.body.abandon()
            return Response(head: HTTPResponse(status: .ok), data: known.body, request: request)
        }
        let body = try await response.body.collect()
        if let tag = response.headers[.eTag] { stored.response.withLock { $0 = (body, tag) } }
        return Response(head: response.head, data: body, request: request)
    }
}
