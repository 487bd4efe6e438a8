import Errand
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct OptionKeyTests {
    private struct Unequal: Sendable { var text = "" }

    private enum TenantKey: OptionKey { static var defaultValue: String? { nil } }
    private enum UnequalKey: OptionKey { static var defaultValue: Unequal { Unequal() } }
    private enum UnequalOverrideKey: OptionKey { static var defaultValue: OptionOverride<Unequal> { .inherited } }
    private enum NothingKey: OptionKey {
        static var defaultValue: (@Sendable () -> Int)? { nil }
        static var requiredMiddleware: MiddlewarePlace { .hedge }
    }
    private enum OverrideKey: OptionKey { static var defaultValue: OptionOverride<String> { .inherited } }
    private enum SetUnequalKey: OptionKey { static var defaultValue: Unequal? { Unequal() } }
    private enum NumberKey: OptionKey { static var defaultValue: Double { 0 } }
    private enum RequiringKey: OptionKey {
        static var defaultValue: Int { 3 }
        static var requiredMiddleware: MiddlewarePlace { .hedge }
    }
    private enum OutsideKey: OptionKey {
        static var defaultValue: Int { 0 }
        static func identity(of value: Int) -> OptionIdentity { .ignored }
        static var crossesOrigins: Bool { true }
    }

    private func options(_ set: (inout RequestOptions) -> Void) -> RequestOptions {
        var options = RequestOptions()
        set(&options)
        return options
    }

    // MARK: Identity

    @Test func aHashableValueIdentifiesUnlessItIsTheDefault() throws {
        let none = RequestOptions().identity
        #expect(none != nil)
        #expect(options { $0[TenantKey.self] = nil }.identity == none)
        let blue = try #require(options { $0[TenantKey.self] = "blue" }.identity)
        #expect(blue != none && blue == options { $0[TenantKey.self] = "blue" }.identity)
        #expect(blue != options { $0[TenantKey.self] = "red" }.identity)
        #expect(blue.hashValue == options { $0[TenantKey.self] = "blue" }.identity?.hashValue)
        #expect(options { $0[OverrideKey.self] = .use("blue") }.identity != blue, "another key")
    }

    @Test func theOrderInWhichOptionsAreSetDoesNotMatter() {
        let one = options {
            $0[TenantKey.self] = "blue"
            $0[OverrideKey.self] = .off
        }
        let other = options {
            $0[OverrideKey.self] = .off
            $0[OutsideKey.self] = 1
            $0[TenantKey.self] = "red"
            $0[TenantKey.self] = "blue"
        }
        #expect(one.identity != nil && one.identity == other.identity)
    }

    @Test func aValueThatCannotBeComparedMakesARequestUnique() {
        #expect(options { $0[UnequalKey.self] = Unequal() }.identity == nil)
        #expect(options { $0[UnequalOverrideKey.self] = .use(Unequal()) }.identity == nil)
        #expect(options { $0[SetUnequalKey.self] = nil }.identity == nil, "nil is not its default")
        #expect(options { $0[NumberKey.self] = .nan }.identity == nil, "it is not equal to itself")
        #expect(options { $0[NumberKey.self] = 1 }.identity != nil)
    }

    @Test func anInheritedOverrideIsNotSetAndOffEqualsOff() {
        #expect(options { $0[UnequalOverrideKey.self] = .inherited }.identity == RequestOptions().identity)
        let off = options { $0[UnequalOverrideKey.self] = .off }.identity
        #expect(off != nil && off != RequestOptions().identity && off == options { $0[UnequalOverrideKey.self] = .off }.identity)
    }

    @Test func anOptionOutsideTheExchangeDoesNotIdentify() {
        #expect(options { $0[OutsideKey.self] = 1 }.identity == RequestOptions().identity)
    }

    @Test func anIdentityShowsNoValue() throws {
        let identity = try #require(options { $0[TenantKey.self] = "hunter2" }.identity)
        #expect(!"\(identity) \(String(reflecting: identity))".contains("hunter2"))
        var text = ""
        dump(identity, to: &text)
        #expect(!text.contains("hunter2"))
    }

    // MARK: Origins

    @Test func onlyOriginBoundOptionsAreRemoved() {
        var options = options {
            $0[TenantKey.self] = "blue"
            $0[OutsideKey.self] = 1
            $0.urlTemplate = "/x"
        }
        options.removeOriginBoundOptions()
        #expect(options[TenantKey.self] == nil && options[OutsideKey.self] == 1 && options.urlTemplate == "/x")
    }

    // MARK: The required middleware

    private let stub = StubTransport(Stub().responds(.status(.ok)))

    private func request(_ set: (inout RequestOptions) -> Void) -> Request {
        var request = Request.sample()
        set(&request.options)
        return request
    }

    @Test func limitsOfDifferentClocksDiffer() {
        func limits(by clock: any Clock<Duration>) -> RequestOptions.Identity? {
            options { $0.phaseTimeouts = .use(PhaseTimeouts(firstByte: .seconds(1), clock: clock)) }.identity
        }
        #expect(limits(by: ContinuousClock()) == limits(by: ContinuousClock()))
        #expect(limits(by: ContinuousClock()) != limits(by: SuspendingClock()))
    }

    @Test func aDefaultValueNeedsNoMiddleware() async throws {
        #expect(try await HTTPStack(stub).send(request { $0[RequiringKey.self] = 3 }).status == .ok)
        await #expect(throws: UnsupportedOptionError.self) { try await HTTPStack(stub).send(self.request { $0[RequiringKey.self] = 4 }) }
    }

    @Test func anUnsupportedOptionFailsAndNamesTheMissingMiddleware() async throws {
        let request = request { $0.hedge = .use(.standard) }
        let error = await #expect(throws: UnsupportedOptionError.self) { try await stub.retry().send(request) }
        #expect(error?.missingMiddleware == .hedge && error?.delivery == .notSent && error?.phase == .request && stub.requests.isEmpty)
        #expect(
            error?.description
                == "GET https://a.example/: the option 'hedge' needs the middleware 'hedge', which the stack does not have: "
                + "add .hedge to the stack, or do not set the option (not sent)")
        #expect(try await stub.hedge().retry().send(request).status == .ok)
    }

    private enum ConstantKey: OptionKey {
        static let defaultValue = 0
        static let requiredMiddleware = MiddlewarePlace.hedge
    }

    private enum NeedingKey: OptionKey {
        static let defaultValue = 0
        static let requiredCapabilities = TransportCapabilities.networkAccess
    }

    private enum GreedyKey: OptionKey {
        static let defaultValue = 0
        static let requiredMiddleware = MiddlewarePlace.hedge
        static let requiredCapabilities: TransportCapabilities = [.networkAccess, .trailers, .waitsForConnectivity]
    }

    /// The constants that a stack reads are those of the protocol's types, without a type written.
    @Test func aConstantWithoutAWrittenTypeIsRead() async throws {
        let requiring = await #expect(throws: UnsupportedOptionError.self) {
            try await HTTPStack(stub).send(self.request { $0[ConstantKey.self] = 1 })
        }
        #expect(requiring?.missingMiddleware == .hedge && requiring?.missingCapabilities == [])
        let needing = await #expect(throws: UnsupportedOptionError.self) {
            try await HTTPStack(stub).send(self.request { $0[NeedingKey.self] = 1 })
        }
        #expect(needing?.missingMiddleware == .unplaced && needing?.missingCapabilities == .networkAccess)
    }

    @Test func anOptionWhoseCapabilityTheTransportLacksFailsAndNamesIt() async throws {
        let request = request { $0[GreedyKey.self] = 1 }
        // The middleware comes first.
        #expect(
            try #require(await #expect(throws: UnsupportedOptionError.self) { try await HTTPStack(stub).send(request) }).missingMiddleware
                == .hedge)
        let error = await #expect(throws: UnsupportedOptionError.self) { try await stub.hedge().send(request) }
        #expect(error?.missingCapabilities == [.networkAccess, .waitsForConnectivity] && error?.delivery == .notSent)
        #expect(
            error?.description
                == "GET https://a.example/: the option 'greedy' needs a transport with 'waitsForConnectivity, networkAccess', which this "
                + "transport does not have: use a transport that has it, such as URLSessionTransport on Apple's platforms, or do not set the option (not sent)"
        )
        #expect(stub.requests.isEmpty)
        // The default value asks for nothing, and what is below a sender is unknown.
        #expect(try await HTTPStack(stub).send(self.request { $0[GreedyKey.self] = 0 }).status == .ok)
        #expect(try await OpaqueSender(HTTPStack(stub)).hedge().send(self.request { $0[NeedingKey.self] = 1 }).status == .ok)
    }

    @Test func theErrorNamesTheServerOfTheStack() async throws {
        let stack = stub.retry().server("https://a.example/v1", headers: [.authorization: "Bearer s3cr3t"])
        var relative = try Request(.get, "/x")
        relative.options.hedge = .use(.standard)
        relative.options[NeedingKey.self] = 1
        let error = try #require(await #expect(throws: UnsupportedOptionError.self) { try await stack.send(relative) })
        #expect(error.description.hasPrefix("GET https://a.example/v1/x: the option "), "\(error)")
        #expect(error.request?.id == relative.id && error.delivery == .notSent && stub.requests.isEmpty)
    }

    @Test func eachCapabilityThatIsMissingIsNamed() {
        let flags: [TransportCapabilities] = [
            .informationalResponses, .trailers, .upgrades, .decodesContent, .waitsForConnectivity, .networkAccess,
            .serverTrust,
        ]
        for flag in flags {
            let error = UnsupportedOptionError(NeedingKey.self, missing: .capabilities(flag), request: .sample())
            #expect(error.description.contains("a transport with '\(flag)'") && !flag.description.isEmpty)
        }
        #expect(Set(flags.map(\.rawValue)).count == flags.count)
    }

    @Test(arguments: [OptionOverride<RetryPolicy>.off, .inherited]) func anOverrideOfOffNeedsNoMiddleware(
        _ retry: OptionOverride<RetryPolicy>
    )
        async throws
    {
        #expect(try await HTTPStack(stub).send(request { $0.retry = retry }).status == .ok)
    }

    @Test func anOptionSetToItsDefaultNeedsNoMiddleware() async throws {
        let request = request {
            $0.idempotencyKey = nil
            $0.validators = []
        }
        #expect(try await HTTPStack(stub).send(request).status == .ok)
    }

    @Test func aMiddlewareForSomeRequestsSupportsItsOption() async throws {
        let stack = stub.wrapped(by: HedgeMiddleware(), when: .method(.post))
        #expect(try await stack.send(request { $0.hedge = .use(.standard) }).status == .ok)
    }

    @Test func anOpaqueSenderMaySupportEveryOption() async throws {
        let inner = OpaqueSender(stub.hedge())
        #expect(try await inner.retry().send(request { $0.hedge = .use(.standard) }).status == .ok)
        // The outer stack supports an option that the inner stack does not support.
        #expect(try await OpaqueSender(HTTPStack(stub)).retry().send(request { $0.retry = .use(.standard) }).status == .ok)
    }

    @Test func aFallbackIsNotCheckedAgain() async throws {
        let mirror = StubTransport(Stub().responds(.status(.ok)))
        let failing = StubTransport(
            Stub().responds(.failure(TransportError(.connectionLost, phase: .connect, request: nil, delivery: .notSent))))
        let stack = failing.hedge().fallback(to: mirror.number())
        #expect(try await stack.send(request { $0.hedge = .use(HedgePolicy(.fixed(.seconds(60)))) }).metadata.isFallback)
        #expect(mirror.requests.count == 1)
    }

    @Test func anOptionOfALayerIsNotCheckedInAFallback() async throws {
        let failing = StubTransport(
            Stub().responds(.failure(TransportError(.connectionLost, phase: .connect, request: nil, delivery: .notSent))))
        let stack = failing.hedge().fallback(to: HTTPStack(stub)).wrapped(
            by: ClosureMiddleware(changing: { $0.options.hedge = .use(.standard) }))
        #expect(try await stack.send(.sample()).metadata.isFallback)
    }

    @Test func aRequestOfAResponseBeginsAnotherCall() async throws {
        let request = request { $0.retry = .use(.standard) }
        let response = try await stub.retry().send(request)
        await #expect(throws: UnsupportedOptionError.self) { try await HTTPStack(stub).send(response.request) }
    }

    @Test func aStackBelowATransportIsAPartOfTheCall() async throws {
        let below = StubTransport(Stub().responds(.status(.ok))).redirect()
        let transport = StubTransport(Stub().responds(.passThrough(to: below)))
        #expect(try await transport.retry().send(request { $0.retry = .use(.standard) }).status == .ok)
    }

    @Test func aRequestOfAFailureBeginsAnotherCall() async throws {
        let error = await #expect(throws: TransportError.self) {
            let failing = ClosureTransport { throw TransportError(.tls, phase: .connect, request: $0, delivery: .notSent) }
            _ = try await failing.retry().send(request { $0.retry = .use(.standard) })
        }
        let again = try #require(error?.request)
        await #expect(throws: UnsupportedOptionError.self) { try await HTTPStack(stub).send(again) }
    }

    @Test func nilNeedsNoMiddlewareAndDoesNotIdentify() async throws {
        let request = request { $0[NothingKey.self] = nil }
        #expect(request.options.identity != nil && request.options.identity == RequestOptions().identity)
        #expect(try await HTTPStack(stub).send(request).status == .ok)
        await #expect(throws: UnsupportedOptionError.self) { try await HTTPStack(stub).send(self.request { $0[NothingKey.self] = { 1 } }) }
    }

    @Test func theSpanOfACallSupportsTheOptionsOfSpans() async throws {
        #if Telemetry
        let request = request { $0.trace = .use(TraceOptions(recordsBodySizes: true)) }
        #expect(try await stub.traceCall().send(request).status == .ok)
        await #expect(throws: UnsupportedOptionError.self) { try await HTTPStack(stub).send(request) }
        #endif
    }

    // MARK: Timeouts without a layer

    /// Returns a transport, and the deadlines that reach the transport. The first responses have the status 503.
    private func recordingDeadlines(failures: Int = 0) -> (ClosureTransport, RecordingList<Deadline?>) {
        let deadlines = RecordingList<Deadline?>()
        let transport = ClosureTransport(capabilities: .deadlines) { request in
            deadlines.record(request.deadline)
            let status: HTTPResponse.Status = deadlines.all.count > failures ? .ok : .serviceUnavailable
            return Response(head: HTTPResponse(status: status), request: request)
        }
        return (transport, deadlines)
    }

    @Test func aTimeoutAppliesWithoutALayer() async throws {
        let (transport, deadlines) = recordingDeadlines()
        let hour = request { $0.timeout = .use(.seconds(3600)) }
        _ = try await HTTPStack(transport).send(hour)
        _ = try await transport.retry().send(hour)
        _ = try await HTTPStack(transport).send(request { $0.timeout = .off })
        var sooner = hour
        sooner.deadline = Deadline(after: .seconds(60))
        _ = try await HTTPStack(transport).send(sooner)
        let remaining = deadlines.all.map { $0?.remaining }
        for hour in remaining[..<2] { #expect(hour.map { $0 <= .seconds(3600) && $0 > .seconds(3000) } == true) }
        #expect(remaining[2] == nil && (remaining[3] ?? .zero) <= .seconds(60))
        let late = request { $0.timeout = .use(.zero) }
        let error = await #expect(throws: TransportError.self) { try await HTTPStack(transport).send(late) }
        #expect(error?.code == .timedOut && deadlines.all.count == 4)
    }

    @Test func aTimeoutIsLeftToTheLayerThatObeysIt() async throws {
        let (transport, deadlines) = recordingDeadlines()
        let clock = ManualClock()
        let request = request { $0.timeout = .use(.seconds(2)) }
        _ = try await transport.timeout(.seconds(30), clock: clock).send(request)
        #expect(deadlines.all[0]?.remaining == .seconds(2) && deadlines.all[0]?.continuousInstant == nil)
        _ = try await transport.wrapped(by: TimeoutMiddleware(.seconds(30), clock: clock), when: .method(.post)).send(request)
        #expect(deadlines.all[1]?.continuousInstant != nil, "the layer was not for this request")
    }

    @Test func aTimeoutAppliesToTheOtherSenderOfAFallback() async throws {
        let failing = StubTransport(Stub().responds(.status(.serviceUnavailable)))
        let (other, deadlines) = recordingDeadlines()
        let stack = failing.timeout(.seconds(5)).fallback(to: other, statuses: [503])
        _ = try await stack.send(request { $0.timeout = .use(.seconds(3600)) })
        #expect(deadlines.all.first??.remaining ?? .zero > .seconds(3000))
    }

    @Test func aTimeoutIsSetOnceForTheWholeCall() async throws {
        let (transport, deadlines) = recordingDeadlines(failures: 1)
        let stack = OpaqueSender(HTTPStack(transport)).retry(RetryPolicy(backoff: .constant(.zero)))
        _ = try await stack.send(request { $0.timeout = .use(.seconds(3600)) })
        let instants = deadlines.all.map { $0?.continuousInstant }
        #expect(instants.count == 2 && instants[0] != nil && instants[0] == instants[1])
    }

    @Test func eachAttemptHasATimeoutWithoutALayer() async throws {
        let (transport, deadlines) = recordingDeadlines(failures: 1)
        let stack = transport.retry(RetryPolicy(backoff: .constant(.zero)))
        let response = try await stack.send(request { $0.attemptTimeout = .use(.seconds(3600)) })
        let instants = deadlines.all.compactMap { $0?.continuousInstant }
        #expect(instants.count == 2 && instants[0] < instants[1])
        #expect(deadlines.all.allSatisfy { $0.map { $0.remaining <= .seconds(3600) } == true })
        #expect(response.status == .ok)
    }

    @Test func anAttemptsTimeoutIsLeftToTheLayerThatObeysIt() async throws {
        let (transport, deadlines) = recordingDeadlines()
        let clock = ManualClock()
        let request = request { $0.attemptTimeout = .use(.seconds(2)) }
        _ = try await transport.phaseTimeouts(attempt: .seconds(30), clock: clock).send(request)
        #expect(deadlines.all[0]?.remaining == .seconds(2) && deadlines.all[0]?.continuousInstant == nil)
        _ = try await transport.phaseTimeouts(attempt: .seconds(30), clock: clock).send(Self.off(request))
        #expect(deadlines.all[1] == nil)
    }

    private static func off(_ request: Request) -> Request {
        var request = request
        request.options.attemptTimeout = .off
        return request
    }
}
