import Errand
import ErrandConformance
import ErrandTesting
import Synchronization
import TestSupport
import Testing

/// The suite for transports against transports with one fault each: it must see the fault.
@Suite(.timeLimit(.minutes(5))) struct TransportMutantTests {
    /// A behavior, and a fault that it catches.
    struct Catch: Sendable, CustomTestStringConvertible {
        let behavior: TransportBehavior
        let mutant: TransportMutant

        var testDescription: String { "\(behavior.name): \(mutant.name)" }

        static let all: [Catch] = TransportBehavior.all.flatMap { behavior in
            TransportMutant.all.filter { $0.caughtBy.contains(behavior.name) }.map { Catch(behavior: behavior, mutant: $0) }
        }
    }

    @Test(arguments: Catch.all) func eachBehaviorCatchesItsFault(_ each: Catch) async throws {
        let check = each.behavior.prepared()
        let transport = MutantTransport(StubTransport(check.stubs), each.mutant)
        await withKnownIssue {
            try await check(
                TransportUnderTest(transport, at: "http://stub.example", middleware: StubTransportConformanceTests.middleware),
                patience: each.mutant.patience)
        }
    }

    /// Those that need a wire, a decoder or a middleware are shown by the suites that have one.
    @Test func everyBehaviorOverAStubNamesAFault() {
        let caught = Set(TransportMutant.all.flatMap(\.caughtBy))
        let names = Set(TransportBehavior.all.map(\.name))
        #expect(caught.subtracting(names).isEmpty)
        let left = names.subtracting(StubTransportConformanceTests.leftOut.keys).subtracting(caught)
        #expect(left == ["BasicCookieSetAndUse", "BasicRedirect", "InfiniteRedirect"], "these three show a middleware, not the transport")
    }

    /// The control: the same wrapper without a fault.
    @Test(arguments: TransportBehavior.all(excluding: StubTransportConformanceTests.leftOut))
    func aTransportWithoutAFaultPasses(_ behavior: TransportBehavior) async throws {
        let check = behavior.prepared()
        let transport = MutantTransport(StubTransport(check.stubs), TransportMutant("none", []) { try await $1.send($0) })
        try await check(TransportUnderTest(transport, at: "http://stub.example", middleware: StubTransportConformanceTests.middleware))
    }

    /// If an exchange never ends, the behavior records an issue, and the test run continues.
    @Test func aCheckOfAHangingTransportEnds() async throws {
        let release = Signal()
        // The transport declares all capabilities that a behavior may check first.
        let deaf = TransportMutant("deaf", []) { request, base in
            await release.waitIgnoringCancellation()
            return try await base.send(request)
        }.declaring(.upgrades)
        for behavior in TransportBehavior.all(excluding: StubTransportConformanceTests.leftOut) {
            let check = behavior.prepared()
            let transport = MutantTransport(StubTransport(check.stubs), deaf)
            await withKnownIssue {
                try await check(TransportUnderTest(transport, at: "http://stub.example"), patience: .milliseconds(20))
            }
        }
        release.signal()
    }
}

/// A transport with one fault, over a stub without.
final class MutantTransport: HTTPTransport {
    private let base: StubTransport
    private let stack: HTTPStack
    private let mutant: TransportMutant
    private let memory = MutantMemory()

    init(_ base: StubTransport, _ mutant: TransportMutant) {
        (self.base, self.mutant) = (base, mutant)
        stack = HTTPStack(base)
    }

    /// It obeys deadlines, as the stack below does so for it.
    var capabilities: TransportCapabilities {
        (mutant.obeysDeadlines ? base.capabilities.union(.deadlines) : base.capabilities).union(mutant.declares)
    }

    func send(_ request: Request) async throws -> Response { try await mutant.send(request, stack, memory) }

    func shutdown() async throws { if mutant.shutsDown { try await base.shutdown() } }
}

/// A fault of a transport, and the names of the behaviors that must see it.
struct TransportMutant: Sendable {
    typealias Send = @Sendable (_ request: Request, _ base: HTTPStack) async throws -> Response
    typealias RememberingSend = @Sendable (_ request: Request, _ base: HTTPStack, _ memory: MutantMemory) async throws -> Response

    let name: String
    let caughtBy: [String]
    let patience: Duration
    var shutsDown = true
    var obeysDeadlines = true
    /// Capabilities that the transport does not have.
    var declares: TransportCapabilities = []
    let send: RememberingSend

    init(_ name: String, _ caughtBy: [String], patience: Duration = .seconds(10), _ send: @escaping Send) {
        self.init(name, caughtBy, patience: patience, remembering: { request, base, _ in try await send(request, base) })
    }

    init(_ name: String, _ caughtBy: [String], patience: Duration = .seconds(10), remembering send: @escaping RememberingSend) {
        (self.name, self.caughtBy, self.patience, self.send) = (name, caughtBy, patience, send)
    }

    init(
        _ name: String, _ caughtBy: [String], patience: Duration = .seconds(10), request change: @escaping @Sendable (inout Request) -> Void
    ) {
        self.init(name, caughtBy, patience: patience) { try await $1.send($0.with(change)) }
    }

    init(
        _ name: String, _ caughtBy: [String], patience: Duration = .seconds(10),
        response change: @escaping @Sendable (inout Response) -> Void
    ) {
        self.init(name, caughtBy, patience: patience) {
            var response = try await $1.send($0)
            change(&response)
            return response
        }
    }

    func declaring(_ capabilities: TransportCapabilities) -> TransportMutant {
        var copy = self
        copy.declares = capabilities
        return copy
    }

    private func shuttingDownNever() -> TransportMutant {
        var copy = self
        copy.shutsDown = false
        return copy
    }

    /// What obeys no deadlines is raced with them by the stack around it.
    private func leavingDeadlinesToTheStack() -> TransportMutant {
        var copy = self
        copy.obeysDeadlines = false
        return copy
    }

    /// Long enough for an immediate event, even on a busy machine. A check waits this long for an event that never happens.
    private static let soon = Duration.milliseconds(400)

    static let all = requests + resends + responses + bodies + waits + events

    private static let requests: [TransportMutant] = [
        TransportMutant(
            "makes PUT, PATCH, DELETE and QUERY a POST", ["MethodsAsTheyAre"],
            request: {
                if ["PUT", "PATCH", "DELETE", "QUERY"].contains($0.method.rawValue) { $0.head.method = .post }
            }),
        TransportMutant(
            "replaces User-Agent and Accept", ["OwnFieldsStay"],
            request: {
                $0.head.headerFields[.userAgent] = "Mutant/1.0"
                $0.head.headerFields[.accept] = "*/*"
            }),
        TransportMutant(
            "drops the fields of the request", ["CustomHeader", "ClientSendsMultiValueHeader"],
            request: {
                $0.head.headerFields = HTTPFields()
            }),
        TransportMutant(
            "drops empty fields", ["ClientSendsEmptyHeaderValue"],
            request: {
                $0.head.headerFields = HTTPFields($0.head.headerFields.filter { !$0.value.isEmpty })
            }),
        TransportMutant("decodes the target", ["URLParams"], request: { $0.head.path = $0.head.path?.replacing("%2F", with: "/") }),
        TransportMutant("drops the request's body", ["EchoString", "Echo1MBBody", "PostConvenience"], request: { $0.body = .empty }),
        TransportMutant("turns every GET to the start page", ["GetConvenience"], request: { if $0.method == .get { $0.head.path = "/" } }),
        TransportMutant(
            "asks for nothing uncoded", ["Identity"],
            response: {
                if $0.request.head.headerFields[.acceptEncoding] == "identity" { $0.body = ResponseBody(Data("coded".utf8)) }
            }),
        TransportMutant("refuses a body without a length and without a byte", ["EmptyChunkedBody"]) { request, base in
            if request.body.length == nil, let source = try? await request.body.open(), try await source.next() == nil {
                throw TransportError(.requestBody, phase: .send, request: request, delivery: .notSent)
            }
            return try await base.send(request)
        },
        TransportMutant(
            "lets a request's body that breaks pass for whole", ["RequestBodyFailure"],
            request: {
                let body = $0.body
                $0.body = .stream { _ in
                    let source = try await body.open()
                    return ClosureBodySource {
                        (try? await source.next()) ?? nil
                    } onAbandon: {
                        source.abandon()
                    }
                }
            }),
        TransportMutant(
            "drops the trailers of the request", ["TrailerWrite"],
            request: {
                let body = $0.body
                guard body.bufferedData == nil else { return }
                $0.body = .stream(length: body.length) { _ in
                    let source = try await body.open()
                    return ClosureBodySource {
                        try await source.next()
                    } onAbandon: {
                        source.abandon()
                    }
                }
            }),
        TransportMutant(
            "sends the credentials of an earlier request", ["CredentialsStayApart"],
            remembering: { request, base, earlier in
                var request = request
                let own = request.head.headerFields
                request.head.headerFields[.authorization] = earlier.withLock { earlier in
                    if let credentials = own[.authorization] { earlier.fields[.authorization] = credentials }
                    return earlier.fields[.authorization]
                }
                return try await base.send(request)
            }),
        TransportMutant(
            "sends the cookies of an earlier request", ["CredentialsStayApart"],
            remembering: { request, base, earlier in
                var request = request
                if let cookie = request.head.headerFields[.cookie] { earlier.withLock { $0.fields[.cookie] = cookie } }
                request.head.headerFields[.cookie] = earlier.withLock { $0.fields[.cookie] }
                return try await base.send(request)
            }),
    ]

    private static let resends: [TransportMutant] = [
        TransportMutant("sends a PUT twice", ["PostIsSentOnce"]) { request, base in
            if request.method == .put { try await base.send(request).body.abandon() }
            return try await base.send(request)
        },
        TransportMutant("sends a GET again after a 503", ["PostIsSentOnce"]) { request, base in
            let response = try await base.send(request)
            guard request.method == .get, response.status == .serviceUnavailable else { return response }
            response.body.abandon()
            return try await base.send(request)
        },
        TransportMutant("sends every POST twice", ["PostIsSentOnce"]) { request, base in
            if request.method == .post { try await base.send(request).body.abandon() }
            return try await base.send(request)
        },
        TransportMutant("sends a POST again whose connection is lost", ["LostPostIsNotRepeated"]) { request, base in
            do { return try await base.send(request) } catch let error as TransportError where error.code == .connectionLost {
                return try await base.send(request)
            }
        },
        TransportMutant(
            "says of lost connections and timeouts that nothing was sent",
            ["LostPostIsNotRepeated", "LostBeforeHead", "DeadlineBeforeHead"]
        ) { request, base in
            do { return try await base.send(request) } catch var error as TransportError {
                if error.code == .connectionLost || error.code == .timedOut { error.delivery = .notSent }
                throw error
            }
        },
        TransportMutant("follows redirects", ["RedirectIsAResponse"]) { try await $1.redirect().send($0) },
    ]

    private static let responses: [TransportMutant] = [
        TransportMutant("makes every body empty", ["Ok"], response: { $0.body = ResponseBody() }),
        TransportMutant("throws for a refusal", ["NotFound"]) { request, base in
            let response = try await base.send(request)
            guard response.status.code < 400 else {
                throw TransportError(.invalidResponse, phase: .response, request: request, delivery: .sent)
            }
            return response
        },
        TransportMutant(
            "knows the statuses up to 599", ["StatusOutOfRangeButValid"],
            response: {
                if $0.head.status.code > 599 { $0.head.status = .internalServerError }
            }),
        TransportMutant(
            "drops the length of a response to HEAD", ["HeadWithContentLength"],
            response: {
                if $0.request.method == .head { $0.head.headerFields[.contentLength] = nil }
            }),
        TransportMutant(
            "joins several Set-Cookie fields", ["ServerSendsMultiValueHeader"],
            response: {
                let cookies = $0.head.headerFields[values: .setCookie]
                if !cookies.isEmpty { $0.head.headerFields[.setCookie] = cookies.joined(separator: ", ") }
            }),
        TransportMutant(
            "drops the expected length", ["ExpectedLength"],
            response: {
                $0.replaceBody(keepsLength: false) { WrappedSource($0) }
            }),
        TransportMutant(
            "drops the trailers of the response", ["TrailerRead", "DeclaredCapabilities"],
            response: {
                $0.replaceBody { WrappedSource($0, keepsTrailers: false) }
            }),
        TransportMutant(
            "gives one of many the body of another", ["StressTest"],
            remembering: { request, base, last in
                var response = try await base.send(request)
                let own = try await response.body.collect()
                let other = last.withLock { last in
                    defer { last.data = own }
                    return last.data
                }
                response.body = ResponseBody(other ?? own)
                return response
            }),
    ]

    private static let bodies: [TransportMutant] = [
        TransportMutant(
            "lets a body that breaks off pass for whole", ["BrokenStream"],
            response: {
                $0.replaceBody { WrappedSource($0, readsOn: { _ in nil }) }
            }),
        TransportMutant(
            "lets a body past its deadline pass for whole", ["DeadlineInBody"],
            response: {
                $0.replaceBody {
                    WrappedSource($0, readsOn: { if ($0 as? TransportError)?.code == .timedOut { return nil } else { throw $0 } })
                }
            }),
        TransportMutant(
            "loses the last byte of what comes slowly", ["DripRead"],
            response: {
                $0.replaceBody { ShortenedSource($0) }
            }),
        TransportMutant("reads ahead without bound", ["ReadsAheadBounded"], response: { $0.replaceBody { HurriedSource($0) } }),
        TransportMutant(
            "holds on to what nobody reads", ["UnderRead", "DroppedUnread"], patience: soon,
            remembering: { request, base, held in
                var response = try await base.send(request)
                guard response.body.bufferedData == nil else { return response }
                let source = WrappedSource(response.body, isAbandoned: false)
                held.withLock { $0.held.append(source) }
                response.replaceBody { _ in source }
                return response
            }),
        TransportMutant("ends an exchange with the last reader", ["SmallUnreadEnds"], patience: soon) { request, base in
            try await base.send(request).with(ExchangeLifetime())
        },
        TransportMutant("ends an exchange with its head", ["EndComesWithTheBody"]) { request, base in
            try await base.send(request).with(ExchangeLifetime(outcome: .complete))
        },
    ]

    private static let waits: [TransportMutant] = [
        TransportMutant(
            "waits for the whole body of the response", ["EchoInterleave", "SpeakInterleave", "CancelPreBody", "EndComesWithTheBody"],
            patience: soon
        ) { request, base in
            var response = try await base.send(request)
            response.body = ResponseBody(try await response.body.collect())
            return response
        },
        TransportMutant("reads the whole body of the request first", ["EchoInterleave", "SpeakInterleave"], patience: soon) {
            request, base in
            var request = request
            let source = try await request.body.open()
            var all = Data()
            while let chunk = try await source.next() { all.append(chunk) }
            request.body = .data(all)
            return try await base.send(request)
        },
        TransportMutant("hears of no cancellation", ["CancelPreHeaders", "CancelInUpload"], patience: soon) { request, base in
            try await Task { try await base.send(request) }.value
        },
        TransportMutant("turns a cancellation into a lost connection", ["CancelPreHeaders", "CancelInUpload"]) { request, base in
            try Task.checkCancellation()
            do { return try await base.send(request) } catch is CancellationError {
                throw TransportError(.connectionLost, phase: .response, request: request, delivery: .unknown)
            }
        }.leavingDeadlinesToTheStack(),
        TransportMutant(
            "turns a cancelled read into a lost connection", ["CancelPreBody"],
            response: {
                $0.replaceBody {
                    WrappedSource(
                        $0,
                        readsOn: {
                            guard $0 is CancellationError else { throw $0 }
                            throw TransportError(.connectionLost, phase: .body, request: nil, delivery: .sent)
                        })
                }
            }
        ).leavingDeadlinesToTheStack(),
        TransportMutant("sends although it is cancelled", ["CancelledBefore"]) { request, base in
            _ = await Task { try await base.send(request.with { $0.deadline = Deadline(after: .milliseconds(50)) }) }.result
            throw CancellationError()
        },
        TransportMutant(
            "never lets go of an upload", ["CancelInUpload"], patience: soon,
            request: {
                let body = $0.body
                guard body.bufferedData == nil else { return }
                $0.body = .stream(length: body.length) { _ in
                    let source = try await body.open()
                    return ClosureBodySource { try await source.next() }
                }
            }),
        TransportMutant("says that it decodes", ["DeclaredCapabilities"]) { try await $1.send($0) }.declaring(.decodesContent),
        TransportMutant("says that it changes protocols", ["DeclaredUpgrades"]) { try await $1.send($0) }.declaring(.upgrades),
        TransportMutant("goes on after its shutdown", ["SendAfterShutdown"]) { try await $1.send($0) }.shuttingDownNever(),
    ]

    private static let events: [TransportMutant] = [
        TransportMutant(
            "reports no events", ["EventsInOrder", "Informational", "FailedExchangeEnds"], patience: soon,
            request: {
                $0.options.eventSink = nil
            }),
        TransportMutant(
            "reports no end of what fails", ["FailedExchangeEnds"], patience: soon,
            request: {
                $0.options.eventSink = $0.options.eventSink.map { sink in
                    ClosureEventSink { if $0.kind != .end || $0.failure == nil { sink.record($0) } }
                }
            }),
        TransportMutant(
            "reports no informational responses", ["Informational", "DeclaredCapabilities"],
            request: {
                $0.options.eventSink = $0.options.eventSink.map { sink in
                    ClosureEventSink { if $0.kind != .informationalResponse { sink.record($0) } }
                }
            }),
    ]
}

/// The state that a transport with a fault keeps from one request to the next.
final class MutantMemory: Sendable {
    struct State {
        var fields = HTTPFields()
        var data: Data?
        var held: [any BodySource] = []
    }

    private let state = Mutex(State())

    func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result { state.withLock { body(&$0) } }
}

/// Reads the whole body in a separate task, even if nobody reads the body.
private final class HurriedSource: BodySource {
    private let chunks: AsyncThrowingStream<Data, any Error>
    private let reader: Task<Void, Never>
    private let turn = OneAtATime()

    init(_ body: ResponseBody) {
        let (chunks, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
        self.chunks = chunks
        reader = Task {
            do {
                for try await chunk in body { continuation.yield(chunk) }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
    }

    func next() async throws -> Data? { try await turn.next(of: chunks) }
    func abandon() { reader.cancel() }
}

private actor OneAtATime {
    private var iterator: AsyncThrowingStream<Data, any Error>.Iterator?

    func next(of chunks: AsyncThrowingStream<Data, any Error>) async throws -> Data? {
        var current = iterator ?? chunks.makeAsyncIterator()
        let chunk = try await current.next(isolation: self)
        iterator = current
        return chunk
    }
}

/// A body of several chunks without the last byte of each.
private actor ShortenedSource: BodySource {
    private let source: WrappedSource

    init(_ body: ResponseBody) { source = WrappedSource(body) }

    func next() async throws -> Data? {
        while let chunk = try await source.next() {
            if chunk.count > 1 { return chunk.dropLast() }
        }
        return nil
    }

    nonisolated func abandon() { source.abandon() }
}
