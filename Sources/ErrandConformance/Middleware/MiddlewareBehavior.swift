public import ErrandBehaviors
public import ErrandCore
internal import ErrandTesting
internal import Synchronization
public import Testing

/// A rule that every middleware must follow, with its check.
///
/// ```swift
/// static let mine = MiddlewareUnderTest("tenant", changes: .addedFields, switchOff: { $0.options.tenant = .off }) { $0.tenant("a") }
///
/// @Test(arguments: MiddlewareBehavior.all)
/// func conforms(to behavior: MiddlewareBehavior) async throws { try await behavior.check(Self.mine) }
/// ```
public struct MiddlewareBehavior: ConformanceBehavior {
    /// The unique name of the behavior.
    public let name: String
    /// The rule, as a sentence.
    public let summary: String
    private let run: @Sendable (MiddlewareUnderTest) async throws -> Void

    init(_ name: String, _ summary: String, _ run: @escaping @Sendable (MiddlewareUnderTest) async throws -> Void) {
        (self.name, self.summary, self.run) = (name, summary, run)
    }

    /// Sends requests through `middleware` to a stub, and records an issue for each violation. Waits at most 20 s for each expected step.
    ///
    /// - Parameter middleware: the middleware to check.
    /// - Throws: an unexpected error of the middleware.
    public func check(_ middleware: MiddlewareUnderTest) async throws { try await check(middleware, patience: .seconds(20)) }

    /// Sends requests through `middleware` to a stub, and records an issue for each violation.
    ///
    /// - Parameters:
    ///   - middleware: the middleware to check.
    ///   - patience: the maximum time to wait for each expected step, such as the end of cancelled work; more than zero. The whole check
    ///     may take twice as long. A step that has not ended after its maximum time fails the check, which does not wait for the step any
    ///     longer.
    /// - Throws: an unexpected error of the middleware.
    public func check(_ middleware: MiddlewareUnderTest, patience: Duration) async throws {
        try await Patience.bounded(name, patience) { [run] in try await run(middleware) }
    }

    /// All behaviors.
    public static let all = passing + whole + ending + failing
}

/// A middleware to check, with closures that add it to a stack and that switch it off for a request.
public struct MiddlewareUnderTest: Sendable, CustomTestStringConvertible {
    /// The changes that a middleware makes on purpose, which the behaviors don't check. Added options, metadata and response header
    /// fields need not be declared.
    public struct Changes: OptionSet, Sendable, Hashable {
        /// The bits of the set.
        public let rawValue: UInt32
        /// Creates a set from its bits.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// The method, scheme, authority, path or query of the request.
        public static let target = Changes(rawValue: 1 << 0)
        /// Request header fields that the caller set.
        public static let requestFields = Changes(rawValue: 1 << 1)
        /// The body of the request.
        public static let requestBody = Changes(rawValue: 1 << 2)
        /// The status of the response.
        public static let status = Changes(rawValue: 1 << 3)
        /// Header fields of the response.
        public static let responseFields = Changes(rawValue: 1 << 4)
        /// The body of the response, including its length and trailers.
        public static let responseBody = Changes(rawValue: 1 << 5)
        /// Resends. The middleware sends a request again with any method, even if the request may have reached the server.
        public static let resends = Changes(rawValue: 1 << 6)
        /// Request header fields that the caller did not set, such as an id or a trace context.
        public static let addedFields = Changes(rawValue: 1 << 7)
    }

    /// The middleware's name, for test reports.
    public let name: String
    let changes: Changes
    let request: @Sendable () throws -> Request
    let switchOff: @Sendable (inout Request) -> Void
    /// Adds the middleware to a sender.
    public let wrap: @Sendable (any HTTPSender) -> HTTPStack

    /// Describes a middleware to check.
    ///
    /// - Parameters:
    ///   - name: the middleware's name, for test reports.
    ///   - changes: the changes that the middleware makes on purpose. Default: none.
    ///   - request: a closure that returns a request on which the middleware acts. If the server responds with the status 200, the
    ///     middleware must send the request once. By default, the closure returns a GET request for `https://a.example/x`.
    ///   - switchOff: a closure that sets the request option that switches the middleware off.
    ///   - wrap: a closure that adds the middleware to a sender.
    public init(
        _ name: String, changes: Changes = [],
        request: @escaping @Sendable () throws -> Request = { try Request(.get, url: "https://a.example/x") },
        switchOff: @escaping @Sendable (inout Request) -> Void, wrap: @escaping @Sendable (any HTTPSender) -> HTTPStack
    ) {
        self.name = name
        self.changes = changes
        self.request = request
        self.switchOff = switchOff
        self.wrap = wrap
    }

    /// The name, for test reports.
    public var testDescription: String { name }
}

extension MiddlewareBehavior {
    private static let chunks = ["one", "two", "three"].map { Data($0.utf8) }

    /// Rules about passing on requests and responses.
    static let passing: [MiddlewareBehavior] = [
        MiddlewareBehavior("PassesOn", "A request is sent once, and its response is returned with status and body.") { subject in
            let stub = StubTransport(Stub().responds(.stream(chunks)))
            let request = try subject.request()
            let response = try await subject.wrap(stub).send(request)
            #expect(response.status == .ok)
            #expect(try await response.body.collect() == Data("onetwothree".utf8))
            #expect(stub.requests.map(\.request.id) == [request.id], "sent once, and under its own id")
            #expect(stub.openBodyCount == 0)
        },
        MiddlewareBehavior("Streams", "The first piece of a body can be read before the second piece is written.") { subject in
            let written = RecordingBodySource()
            let stub = StubTransport(Stub().responds(.streaming { _, _ in (HTTPResponse(status: .ok), written) }))
            let response = try await subject.wrap(stub).send(subject.request())
            var iterator = response.body.makeAsyncIterator()
            written.write("first")
            #expect(try await iterator.next() == Data("first".utf8))
            written.write("second")
            #expect(try await iterator.next() == Data("second".utf8))
            written.finish()
            #expect(try await iterator.next() == nil)
        },
        MiddlewareBehavior("KeepsCallsApart", "A hundred concurrent calls each get their own response.") { subject in
            let stub = StubTransport(Stub().responds(.custom { (HTTPResponse(status: .ok), Data($0.request.id.description.utf8)) }))
            let stack = subject.wrap(stub)
            let wrong = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        let request = try subject.request()
                        do {
                            return try await stack.send(request).body.collect() == Data(request.id.description.utf8)
                        } catch is BodyAlreadyUsedError {
                            return false  // another call got the same response, and has read it
                        }
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 0 : 1) }
            }
            #expect(wrong == 0, "\(wrong) of 100 concurrent calls got the response of another call")
        },
        MiddlewareBehavior("SwitchedOff", "If a request switches the middleware off, the request and its response are not changed.") {
            subject in
            let stub = StubTransport(Stub().responds(.status(.serviceUnavailable, text: "as it is")))
            var request = try subject.request()
            subject.switchOff(&request)
            let before = request
            let response = try await subject.wrap(stub).send(request)
            #expect(response.status == .serviceUnavailable, "the status of a response was changed although `switchOff` was called")
            let body = try await response.body.collect()
            #expect(body == Data("as it is".utf8), "the body of a response was changed although `switchOff` was called")
            let seen = try #require(stub.requests.first, "a request was not sent although `switchOff` was called").request
            #expect(stub.requests.count == 1, "a request was sent \(stub.requests.count) times although `switchOff` was called")
            #expect(seen.head == before.head, "the head of a request was changed although `switchOff` was called")
            #expect(seen.id == before.id, "the id of a request was changed although `switchOff` was called")
            #expect(
                (seen.deadline == nil) == (before.deadline == nil), "the deadline of a request was changed although `switchOff` was called")
        },
        MiddlewareBehavior("ShowsNoSecret", "Descriptions of errors and of the stack contain no secrets of a request.") { subject in
            let stub = StubTransport(Stub().responds(.failure(Refused())))
            var request = try subject.request()
            request.head.headerFields[.authorization] = "Bearer s3cr3t-token"
            request.head.headerFields[.cookie] = "id=s3cr3t-cookie"
            let stack = subject.wrap(stub)
            do {
                _ = try await stack.send(request)
            } catch {
                var text = "\(error)"
                dump(error, to: &text)
                #expect(!text.contains("s3cr3t"))
            }
            #expect(!stack.description.contains("s3cr3t"))
        },
    ]

    /// Rules about cancellation, failures and the end of an exchange.
    static let ending: [MiddlewareBehavior] = [
        MiddlewareBehavior("CancelsTheWorkBelow", "Cancelling the caller stops the inner sender, and the caller gets CancellationError.") {
            subject in
            let (isBelow, hasStopped, release) = (Signal(), Signal(), Signal())
            defer { release.signal() }
            let stack = subject.wrap(
                StubSender { _ in
                    defer { hasStopped.signal() }
                    isBelow.signal()
                    try await release.wait()
                    throw Refused()
                })
            let request = try subject.request()
            try await expectCancellation(when: isBelow) { _ = try await stack.send(request) }
            try await withPatience("the inner sender to stop") { try await hasStopped.wait() }
        },
        MiddlewareBehavior("CancelledBefore", "A caller that was already cancelled sends nothing.") { subject in
            let stub = StubTransport(Stub().responds(.status(.ok)))
            let (stack, request) = (subject.wrap(stub), try subject.request())
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                _ = try await stack.send(request)
            }
            await #expect(throws: CancellationError.self) {
                try await value(of: task, within: Patience.forOne, "the end of a call whose task was already cancelled")
            }
            #expect(stub.requests.isEmpty)
        },
        MiddlewareBehavior("KeepsCancellation", "A CancellationError of the inner sender stays a CancellationError.") { subject in
            let stack = subject.wrap(StubTransport(Stub().responds(.failure(CancellationError()))))
            await #expect(throws: CancellationError.self) { () async throws -> Void in _ = try await stack.send(subject.request()) }
        },
        MiddlewareBehavior("KeepsFailures", "An error that the middleware does not handle is passed on unchanged.") { subject in
            let stack = subject.wrap(StubTransport(Stub().responds(.failure(Refused()))))
            await #expect(throws: Refused.self) { () async throws -> Void in _ = try await stack.send(subject.request()) }
            let lost = TransportError(.connectionLost, phase: .send, request: nil, delivery: .unknown)
            let failure = await #expect(throws: TransportError.self) { () async throws -> Void in
                var request = try subject.request()
                // The request is a POST, so that no middleware may send it again.
                request.head.method = .post
                _ = try await subject.wrap(StubTransport(Stub().responds(.failure(lost)))).send(request)
            }
            #expect(failure?.code == .connectionLost && failure?.phase == .send, "what failed, and where")
            #expect(failure?.delivery == .unknown, "delivery must stay .unknown: a request reported as not sent is sent again")
        },
        MiddlewareBehavior("ReleasesUnread", "A body that is discarded without being read is released.") { subject in
            let stub = StubTransport(Stub().responds(.stream(chunks)))
            // The stack outlives the response. Therefore the end of the stack can't release a response that the stack keeps.
            let stack = subject.wrap(stub)
            func sendAndDrop() async throws {
                let response = try await stack.send(subject.request())
                #expect(response.status == .ok && stub.openBodyCount == 1)
            }
            try await sendAndDrop()
            #expect(stub.openBodyCount == 0, "the middleware keeps a response, or its body")
            #expect(try await stack.send(subject.request()).body.collect() == Data("onetwothree".utf8), "the next request")
        },
        MiddlewareBehavior("ReleasesHalfRead", "A body that is read in part is released.") { subject in
            let stub = StubTransport(Stub().responds(.stream(chunks)))
            let response = try await subject.wrap(stub).send(subject.request())
            for try await _ in response.body { break }
            #expect(stub.openBodyCount == 0)
            #expect(response.exchange.outcome != nil)
        },
        MiddlewareBehavior("CancelsReads", "Cancelling the reader of a body ends the read with CancellationError.") { subject in
            let (hasFirst, release) = (Signal(), Signal())
            defer { release.signal() }
            let isFirst = Mutex(true)
            let source = ClosureBodySource {
                let isNow = isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                if isNow { return Data("first".utf8) }
                try await release.wait()
                return nil
            }
            let stub = StubTransport(Stub().responds(.streaming { _, _ in (HTTPResponse(status: .ok), source) }))
            let (stack, request) = (subject.wrap(stub), try subject.request())
            try await expectCancellation(when: hasFirst) {
                let response = try await stack.send(request)
                var iterator = response.body.makeAsyncIterator()
                _ = try await iterator.next()
                hasFirst.signal()
                _ = try await iterator.next()
            }
        },
        MiddlewareBehavior("KeepsDeadlines", "A deadline ends the inner sender's work in time.") { subject in
            let clock = ManualClock()
            var request = try subject.request()
            request.deadline = Deadline(after: .seconds(1), clock: clock)
            let (stack, bounded) = (subject.wrap(StubTransport(Stub().responds(.never))), request)
            let call = Task { _ = try await stack.send(bounded) }
            defer { call.cancel() }
            try await withPatience("a task to sleep on the deadline's clock") { try await clock.sleepers(atLeast: 1) }
            clock.advance(by: .seconds(1))
            let failure = await #expect(throws: TransportError.self) {
                try await value(of: call, within: Patience.forOne, "the deadline to end the call")
            }
            #expect(failure?.code == .timedOut)
        },
    ]
}

/// An error that no middleware knows.
struct Refused: Error {}
