import Errand
import ErrandConformance
import ErrandTesting
import Synchronization
import TestSupport
import Testing

/// The suite for middleware against middleware with one fault each: it must see the fault.
@Suite(.timeLimit(.minutes(5))) struct MiddlewareMutantTests {
    /// A behavior, and a fault that it catches.
    struct Catch: Sendable, CustomTestStringConvertible {
        let behavior: MiddlewareBehavior
        let mutant: MiddlewareMutant

        var testDescription: String { "\(behavior.name): \(mutant.name)" }

        static let all: [Catch] = MiddlewareBehavior.all.flatMap { behavior in
            MiddlewareMutant.all.filter { $0.caughtBy.contains(behavior.name) }.map { Catch(behavior: behavior, mutant: $0) }
        }
    }

    @Test(arguments: Catch.all) func eachBehaviorCatchesItsFault(_ each: Catch) async throws {
        await withKnownIssue {
            try await each.behavior.check(each.mutant.underTest, patience: each.mutant.patience)
        }
    }

    @Test func everyBehaviorNamesAFault() {
        // The stack itself checks the cancellation first. Therefore, no middleware can do this wrong.
        let seenToByTheStack: Set = ["CancelledBefore"]
        let caught = Set(MiddlewareMutant.all.flatMap(\.caughtBy))
        let names = Set(MiddlewareBehavior.all.map(\.name))
        #expect(names.subtracting(caught) == seenToByTheStack)
        #expect(caught.subtracting(names).isEmpty)
        #expect(names.count == MiddlewareBehavior.all.count, "no name twice")
    }

    /// The control: without a fault nothing is recorded.
    @Test(arguments: MiddlewareBehavior.all) func aMiddlewareWithoutAFaultPasses(_ behavior: MiddlewareBehavior) async throws {
        let plain = MiddlewareUnderTest("plain", switchOff: { $0.options[MutantOptionKey.self] = .off }) {
            $0.wrapped(by: MiddlewareMutant.switchable { try await $1.send($0) })
        }
        try await behavior.check(plain)
    }

    /// If a middleware declares a change, the behaviors accept the change.
    @Test func aDeclaredChangePasses() async throws {
        let changes: [(MiddlewareUnderTest.Changes, MiddlewareMutant.Send)] = [
            (.target, { try await $1.send($0.with { $0.head.path = "/other" }) }),
            (.requestFields, { try await $1.send($0.with { $0.head.headerFields = HTTPFields() }) }),
            (.addedFields, { try await $1.send($0.with { $0.head.headerFields[.mutant] = "added" }) }),
            (.requestBody, { try await $1.send($0.with { $0.body = .empty }) }),
            (
                .status,
                { request, next in
                    var response = try await next.send(request)
                    response.head.status = .ok
                    return response
                }
            ),
            (
                .responseBody,
                { request, next in
                    var response = try await next.send(request)
                    response.body.abandon()
                    response.body = ResponseBody()
                    return response
                }
            ),
            (
                .resends,
                { request, next in
                    do { return try await next.send(request) } catch { return try await next.send(request) }
                }
            ),
        ]
        let names = ["SendsTheWholeRequest", "ReturnsTheWholeResponse", "KeepsStatuses", "DoesNotRepeat"]
        for (change, send) in changes {
            let subject = MiddlewareUnderTest("changes", changes: change, switchOff: { _ in }) {
                $0.wrapped(by: MiddlewareMutant.switchable(send))
            }
            for behavior in MiddlewareBehavior.all where names.contains(behavior.name) { try await behavior.check(subject) }
        }
    }

    @Test(arguments: [
        (
            "gives everybody the first response", "KeepsCallsApart",
            " of 100 concurrent calls got the response of another call"
        ),
        ("acts although it is switched off", "SwitchedOff", "the head of a request was changed although `switchOff` was called"),
        ("makes 503 a 200", "SwitchedOff", "the status of a response was changed although `switchOff` was called"),
        ("keeps the last response", "ReleasesUnread", "the middleware keeps a response, or its body"),
        ("adds a field to each request", "SendsTheWholeRequest", "if the middleware adds fields on purpose, declare `.addedFields`"),
    ])
    func anIssueDescribesTheFault(_ mutant: String, _ name: String, _ words: String) async throws {
        let mutant = try #require(MiddlewareMutant.all.first { $0.name == mutant })
        let behavior = try #require(MiddlewareBehavior.all.first { $0.name == name })
        let issues = Mutex<[String]>([])
        try await withKnownIssue {
            try await behavior.check(mutant.underTest, patience: mutant.patience)
        } matching: { issue in
            issues.withLock { $0.append(issue.comments.map(\.rawValue).joined()) }
            return true
        }
        let texts = issues.withLock { $0 }
        #expect(texts.contains { $0.contains(words) }, "\(texts)")
        #expect(texts.allSatisfy { !$0.isEmpty }, "an issue without words: \(texts)")
        #expect(texts.count < 10, "\(texts)")
    }

    @Test func aHugePatienceIsBounded() async throws {
        let plain = MiddlewareUnderTest("plain", switchOff: { _ in }) { HTTPStack($0) }
        let behavior = try #require(MiddlewareBehavior.all.first { $0.name == "PassesOn" })
        try await behavior.check(plain, patience: .seconds(Int64.max))
    }

    /// If a call never ends, the behavior records an issue, and the test run continues.
    @Test func aCheckOfAHangingMiddlewareEnds() async throws {
        let release = Signal()
        let deaf = MiddlewareUnderTest("deaf", switchOff: { _ in }) { sender in
            sender.wrapped(
                by: MiddlewareMutant.switchable { request, next in
                    await release.waitIgnoringCancellation()
                    return try await next.send(request)
                })
        }
        for behavior in MiddlewareBehavior.all where behavior.name != "CancelledBefore" {
            await withKnownIssue { try await behavior.check(deaf, patience: .milliseconds(20)) }
        }
        release.signal()
    }
}

/// A middleware with one fault, and the names of the behaviors that must see it.
struct MiddlewareMutant: Sendable {
    typealias Send = ClosureMiddleware.Handler

    /// A middleware that does nothing if its option is off.
    static func switchable(_ send: @escaping Send) -> ClosureMiddleware {
        ClosureMiddleware { request, next in
            guard !request.options[MutantOptionKey.self].isOff else { return try await next.send(request) }
            return try await send(request, next)
        }
    }

    let name: String
    let caughtBy: [String]
    /// The value is short for mutants that do not end by themselves.
    var patience = Duration.seconds(10)
    let wrap: @Sendable (any HTTPSender, MutantMemory) -> HTTPStack

    init(_ name: String, _ caughtBy: [String], patience: Duration = .seconds(10), _ send: @escaping Send) {
        self.init(name, caughtBy, patience: patience, wrapping: { sender, _ in sender.wrapped(by: Self.switchable(send)) })
    }

    init(
        _ name: String, _ caughtBy: [String], patience: Duration = .seconds(10),
        wrapping wrap: @escaping @Sendable (any HTTPSender, MutantMemory) -> HTTPStack
    ) {
        (self.name, self.caughtBy, self.patience, self.wrap) = (name, caughtBy, patience, wrap)
    }

    /// A middleware that changes the request.
    init(_ name: String, _ caughtBy: [String], request change: @escaping @Sendable (inout Request) -> Void) {
        self.init(name, caughtBy) { try await $1.send($0.with(change)) }
    }

    /// A middleware that changes the response.
    init(_ name: String, _ caughtBy: [String], response change: @escaping @Sendable (inout Response) -> Void) {
        self.init(name, caughtBy) {
            var response = try await $1.send($0)
            change(&response)
            return response
        }
    }

    var underTest: MiddlewareUnderTest {
        let memory = MutantMemory()
        return MiddlewareUnderTest(name, switchOff: { $0.options[MutantOptionKey.self] = .off }) { [wrap] in wrap($0, memory) }
    }

    /// Long enough for an immediate event, even on a busy machine. A check waits this long for an event that never happens.
    private static let soon = Duration.milliseconds(400)

    static let all: [MiddlewareMutant] = requests + responses + bodies + ends

    private static let requests: [MiddlewareMutant] = [
        MiddlewareMutant("sends under another id", ["PassesOn", "SendsTheWholeRequest"]) {
            let copy = Request(head: $0.head, body: $0.body)
            return try await $1.send(copy)
        },
        MiddlewareMutant("sends twice", ["PassesOn", "SendsTheWholeRequest"]) {
            try await $1.send($0).body.abandon()
            return try await $1.send($0)
        },
        MiddlewareMutant("sends a PUT twice", ["SendsTheWholeRequest"]) {
            if $0.method == .put { try await $1.send($0).body.abandon() }
            return try await $1.send($0)
        },
        MiddlewareMutant("makes HEAD a GET", ["SendsTheWholeRequest"], request: { if $0.method == .head { $0.head.method = .get } }),
        MiddlewareMutant("drops the fallback fields", ["SendsTheWholeRequest"], request: { $0.options.fallbackHeaders = HTTPFields() }),
        MiddlewareMutant("claims that nothing was sent", ["KeepsFailures"]) { request, next in
            do {
                return try await next.send(request)
            } catch var failure as TransportError {
                failure.delivery = .notSent
                throw failure
            }
        },
        MiddlewareMutant("replaces the priority", ["SendsTheWholeRequest"], request: { $0.options.priority = .normal }),
        MiddlewareMutant("adds a field to each request", ["SendsTheWholeRequest"], request: { $0.head.headerFields[.mutant] = "added" }),
        MiddlewareMutant(
            "adds a value to a field of the caller's", ["SendsTheWholeRequest"],
            request: { $0.head.headerFields.append(HTTPField(name: .accept, value: "*/*")) }),
        MiddlewareMutant(
            "gives everybody the first response", ["KeepsCallsApart"],
            wrapping: { sender, _ in
                let first = Mutex<Response?>(nil)
                return sender.wrapped(
                    by: switchable { request, next in
                        if let response = first.withLock({ $0 }) { return response }
                        let response = try await next.send(request)
                        first.withLock { $0 = response }
                        return response
                    })
            }),
        MiddlewareMutant(
            "acts although it is switched off", ["SwitchedOff"],
            wrapping: { sender, _ in
                sender.wrapped(
                    by: TransformMiddleware.request { $0.head.path = "/other" })
            }),
        MiddlewareMutant("drops the request's body", ["SendsTheWholeRequest"], request: { $0.body = .empty }),
        MiddlewareMutant("drops the fields of the request", ["SendsTheWholeRequest"], request: { $0.head.headerFields = HTTPFields() }),
        MiddlewareMutant(
            "drops the query", ["SendsTheWholeRequest"], request: { $0.head.path = $0.head.path.map { String($0.prefix { $0 != "?" }) } }),
        MiddlewareMutant("makes every method GET", ["SendsTheWholeRequest"], request: { $0.head.method = .get }),
        MiddlewareMutant(
            "clears all options", ["SendsTheWholeRequest", "KeepsUpgrades"],
            request: {
                let sink = $0.options.eventSink
                $0.options = RequestOptions()
                $0.options.eventSink = sink
            }),
        MiddlewareMutant("drops the event sink", ["SendsTheWholeRequest"], request: { $0.options.eventSink = nil }),
        MiddlewareMutant(
            "drops the deadline", ["KeepsDeadlines"], patience: soon, { try await $1.send($0.with { $0.deadline = nil }) }),
        MiddlewareMutant("shows credentials in its failure", ["ShowsNoSecret"]) { request, next in
            do { return try await next.send(request) } catch { throw MisleadingFailure(text: "\(request.head.headerFields)") }
        },
    ]

    private static let responses: [MiddlewareMutant] = [
        MiddlewareMutant("drops metadata", ["ReturnsTheWholeResponse"], response: { $0.metadata = ResponseMetadata() }),
        MiddlewareMutant(
            "drops the fields of the response", ["ReturnsTheWholeResponse"], response: { $0.head.headerFields = HTTPFields() }),
        MiddlewareMutant(
            "drops trailers", ["ReturnsTheWholeResponse"],
            response: { $0.replaceBody { WrappedSource($0, keepsTrailers: false) } }),
        MiddlewareMutant(
            "drops the expected length", ["ReturnsTheWholeResponse"], response: { $0.replaceBody(keepsLength: false) { WrappedSource($0) } }
        ),
        MiddlewareMutant("drops the upgrade", ["KeepsUpgrades"], response: { $0.upgrade = nil }),
        MiddlewareMutant("makes 404 a 200", ["KeepsStatuses"], response: { if $0.head.status == .notFound { $0.head.status = .ok } }),
        MiddlewareMutant("makes 302 a 200", ["KeepsStatuses"], response: { if $0.head.status == .found { $0.head.status = .ok } }),
        MiddlewareMutant(
            "makes 503 a 200", ["SwitchedOff"],
            wrapping: { sender, _ in
                sender.wrapped(by: TransformMiddleware.response { $0.head.status = .ok })
            }),
    ]

    private static let bodies: [MiddlewareMutant] = [
        MiddlewareMutant("buffers the response", ["Streams", "ReleasesUnread", "EndsWithTheBody", "CancelsReads"], patience: soon) {
            var response = try await $1.send($0)
            response.body = ResponseBody(try await response.body.collect())
            return response
        },
        MiddlewareMutant(
            "lets a body that breaks off pass for whole", ["BrokenBody"],
            response: { $0.replaceBody { WrappedSource($0, readsOn: { _ in nil }) } }),
        MiddlewareMutant("reads without hearing of cancellation", ["CancelsReads"], patience: soon) {
            var response = try await $1.send($0)
            response.replaceBody { DeafSource($0) }
            return response
        },
        MiddlewareMutant(
            "keeps the last response", ["ReleasesUnread"],
            wrapping: { sender, _ in
                let last = Mutex<Response?>(nil)
                return sender.wrapped(
                    by: switchable { request, next in
                        let response = try await next.send(request)
                        last.withLock { $0 = response }
                        return response
                    })
            }),
        MiddlewareMutant(
            "holds on to the body", ["ReleasesUnread", "ReleasesHalfRead"],
            wrapping: { sender, memory in
                sender.wrapped(
                    by: switchable { request, next in
                        var response = try await next.send(request)
                        let source = WrappedSource(response.body, isAbandoned: false)
                        memory.withLock { $0.held.append(source) }
                        response.body = ResponseBody(source)
                        return response
                    })
            }),
    ]

    private static let ends: [MiddlewareMutant] = [
        MiddlewareMutant("gives the response a lifetime that has ended", ["EndsWithTheBody"]) {
            let response = try await $1.send($0)
            return response.with(ExchangeLifetime(outcome: .complete))
        },
        MiddlewareMutant("gives the response a lifetime that never ends", ["EndsWithTheBody", "ReleasesHalfRead"], patience: soon) {
            let response = try await $1.send($0)
            return response.with(ExchangeLifetime())
        },
        MiddlewareMutant("wraps CancellationError", ["CancelsTheWorkBelow", "KeepsCancellation"]) { request, next in
            do { return try await next.send(request) } catch { throw MisleadingFailure(text: "\(type(of: error))") }
        },
        MiddlewareMutant("wraps every other error", ["KeepsFailures"]) { request, next in
            do { return try await next.send(request) } catch let error as CancellationError { throw error } catch {
                throw MisleadingFailure(text: "\(type(of: error))")
            }
        },
        MiddlewareMutant("works in a task that is not cancelled", ["CancelsTheWorkBelow"], patience: soon) { request, next in
            try await Task { try await next.send(request) }.value
        },
        MiddlewareMutant("works in a detached task", ["KeepsTaskLocals"]) { request, next in
            let task = Task.detached { try await next.send(request) }
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        },
        MiddlewareMutant("sends again, whatever failed", ["DoesNotRepeat"]) { request, next in
            do { return try await next.send(request) } catch { return try await next.send(request) }
        },
        MiddlewareMutant("sends a POST again after a 503", ["DoesNotRepeat"]) { request, next in
            let response = try await next.send(request)
            guard request.method == .post, response.status == .serviceUnavailable else { return response }
            response.body.abandon()
            return try await next.send(request)
        },
        MiddlewareMutant("sends a lost POST again", ["DoesNotRepeat"]) { request, next in
            do { return try await next.send(request) } catch let error as TransportError where error.code == .connectionLost {
                return try await next.send(request)
            }
        },
    ]
}

extension HTTPField.Name {
    fileprivate static let mutant = HTTPField.Name("X-Mutant") ?? .server
}

enum MutantOptionKey: OptionKey { static var defaultValue: OptionOverride<Never> { .inherited } }

/// A failure whose text has too much detail, or no detail.
private struct MisleadingFailure: Error { let text: String }

extension Request {
    func with(_ change: (inout Request) -> Void) -> Request {
        var copy = self
        change(&copy)
        return copy
    }
}

extension Response {
    mutating func replaceBody(keepsLength: Bool = true, _ source: (ResponseBody) -> any BodySource) {
        func made(_ source: some BodySource, _ length: Int64?) -> ResponseBody { ResponseBody(source, expectedLength: length) }
        body = made(source(body), keepsLength ? body.expectedLength : nil)
    }

    func with(_ exchange: ExchangeLifetime) -> Response {
        var copy = Response(head: head, body: body, request: request, exchange: exchange, upgrade: upgrade)
        copy.metadata = metadata
        return copy
    }
}

/// A response's body as a source, with faults on demand.
actor WrappedSource: BodySource {
    private let body: ResponseBody
    private var iterator: ResponseBody.Iterator
    private let keepsTrailers: Bool
    private let isAbandoned: Bool
    private let readsOn: @Sendable (any Error) throws -> Data?

    /// - Parameters:
    ///   - isAbandoned: whether it lets go when nobody reads on.
    ///   - readsOn: what comes in place of an error.
    init(
        _ body: ResponseBody, keepsTrailers: Bool = true, isAbandoned: Bool = true,
        readsOn: @escaping @Sendable (any Error) throws -> Data? = { throw $0 }
    ) {
        (self.body, self.keepsTrailers, self.isAbandoned, self.readsOn) = (body, keepsTrailers, isAbandoned, readsOn)
        iterator = body.makeAsyncIterator()
    }

    nonisolated var trailers: HTTPFields? { keepsTrailers ? body.trailers : nil }

    func next() async throws -> Data? {
        var current = iterator
        do {
            let chunk = try await current.next(isolation: self)
            iterator = current
            return chunk
        } catch {
            return try readsOn(error)
        }
    }

    nonisolated func abandon() { if isAbandoned { body.abandon() } }
}

/// Reads in a task of its own, which nobody cancels.
final class DeafSource: BodySource {
    private let source: WrappedSource

    init(_ body: ResponseBody) { source = WrappedSource(body) }

    var trailers: HTTPFields? { source.trailers }

    func next() async throws -> Data? { try await Task { [source] in try await source.next() }.value }

    func abandon() { source.abandon() }
}
