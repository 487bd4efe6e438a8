import Errand
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandCore

/// Stacks of unusual layers: conditional, contradictory, nested or very many.
@Suite(.timeLimit(.minutes(10))) struct UnusualStackTests {
    private static let always = RequestCondition.custom("always") { _ in true }
    private static let never = RequestCondition.custom("never") { _ in false }

    private func ok() -> StubTransport {
        StubTransport(Stub().responds(.status(.ok, text: "text"), repeatingLast: true))
    }

    private func labels(_ stack: HTTPStack) -> [String] { stack.layers.dropLast().map(\.label) }

    /// "sort their layers, in whatever order they are written": no layer of the app may be lost.
    @Test func aConditionalLayerSurvivesALaterLayerOfItsPlace() async throws {
        func passed(_ make: (HTTPStack, RecordingList<String>) -> HTTPStack) async throws -> [String] {
            let passed = RecordingList<String>()
            let start = HTTPStack.sorted(around: ok()) { PlacedMiddleware("default", at: .redirect, passed: passed) }
            _ = try await make(start, passed).send(.sample())
            return passed.all
        }
        let first = try await passed {
            $0.wrapped(by: PlacedMiddleware("app's, conditional", at: .redirect, passed: $1), when: Self.always)
                .wrapped(by: PlacedMiddleware("app's", at: .redirect, passed: $1))
        }
        let second = try await passed {
            $0.wrapped(by: PlacedMiddleware("app's", at: .redirect, passed: $1))
                .wrapped(by: PlacedMiddleware("app's, conditional", at: .redirect, passed: $1), when: Self.always)
        }
        #expect(Set(first) == Set(second), "the same two modifiers, in two orders")
    }

    @Test func twoDefaultsOfOnePlaceAreKeptOrReported() {
        let stack = HTTPStack.sorted(around: ok()) {
            TimeoutMiddleware(.seconds(1))
            TimeoutMiddleware(.seconds(2))
        }
        #expect(labels(stack).count == 2 || !stack.orderProblems.isEmpty, "\(stack)")
    }

    @Test func nestedConditionsReplaceADefault() async throws {
        for (outer, inner, expected) in [
            (Self.always, Self.always, "app"), (Self.always, Self.never, "default"), (Self.never, Self.always, "default"),
        ] {
            let passed = RecordingList<String>()
            let stack = HTTPStack.sorted(around: ok()) { PlacedMiddleware("default", at: .redirect, passed: passed) }
                .wrapped(by: PlacedMiddleware("app", at: .redirect, passed: passed), when: outer && inner)
            _ = try await stack.send(.sample())
            #expect(passed.all == [expected])
        }
        let passed = RecordingList<String>()
        let stack = HTTPStack.sorted(around: ok()) { PlacedMiddleware("default", at: .redirect, passed: passed) }
            .wrapped(by: PlacedMiddleware("first", at: .redirect, passed: passed), when: Self.always)
            .wrapped(by: PlacedMiddleware("second", at: .redirect, passed: passed), when: Self.never)
        _ = try await stack.send(.sample())
        #expect(passed.all == ["first"], "\(stack)")
    }

    /// A default that supports what its conditional replacement does not: an option is refused, or supported.
    @Test func anAlternativeSupportsOnlyTheCommonOptions() {
        let twoPlaces = PlacedMiddleware("two places", at: .redirect, supportedPlaces: [.redirect, .timeout])
        let stack = HTTPStack.sorted(around: ok()) { twoPlaces }.wrapped(
            by: PlacedMiddleware("app", at: .redirect), when: Self.always)
        #expect(!stack.obeysTimeout)
    }

    /// A timeout of some requests alone does not excuse the stack from obeying the option for all others.
    @Test func aStackWithAConditionalTimeoutObeysTheOptionOfOtherRequests() async throws {
        let deadlines = RecordingList<Bool>()
        let transport = ClosureTransport { request in
            deadlines.record(request.deadline != nil)
            return Response(head: HTTPResponse(status: .ok), request: request)
        }
        for sorted in [false, true] {
            let base = sorted ? HTTPStack.sorted(around: transport) : HTTPStack(transport)
            let stack = base.wrapped(by: TimeoutMiddleware(.seconds(9)), when: Self.never)
            var request = Request.sample()
            request.options.timeout = .use(.seconds(5))
            _ = try await stack.send(request)
        }
        #expect(deadlines.all == [true, true])
    }

    @Test func aTimeoutByRuleOrInABaseIsNotReportedTwice() {
        let byRule = HTTPStack.sorted(around: ok()).timeout(.seconds(2)).wrapped(by: TimeoutMiddleware(.seconds(1)), inside: .redirect)
        #expect(!byRule.description.contains("another timeout"), "\(byRule)")
        let base = HTTPStack.sorted(around: HTTPStack.sorted(around: ok()).timeout(.seconds(1))).timeout(.seconds(2))
        #expect(!base.description.contains("another timeout"), "\(base)")
    }

    @Test func theOutermostOfSeveralRulesDecides() {
        let rules: [MiddlewareNeighbor] = [.outside(.sign, because: "x"), .outside(.server, because: "x"), .outside(.retry, because: "x")]
        let stack = HTTPStack.sorted(around: ok()).wrapped(by: PlacedMiddleware("own", rules)).wrapped(
            by: PlacedMiddleware("s", at: .server)
        )
        .wrapped(by: PlacedMiddleware("r", at: .retry))
        #expect(labels(stack) == ["own", "s", "r"])
        let moved = HTTPStack.sorted(around: ok()).wrapped(by: PlacedMiddleware("s", at: .server)).wrapped(
            by: PlacedMiddleware("r", at: .retry), outside: .server)
        #expect(labels(moved) == ["r", "s"])
    }

    @Test func contradictoryRulesAreReportedAndTheStackWorks() async throws {
        let odd: [MiddlewareNeighbor] = [
            .inside(.sign, because: "a"), .outside(.server, because: "b"), .inside(.unplaced, because: "c"),
            .outside(.unplaced, because: "d"),
            .inside(MiddlewarePlace("odd"), because: "self"), .once(because: "e"), .onceWhenSorted(because: "f"),
        ]
        var stack = HTTPStack.sorted(around: ok())
        for number in 0..<20 {
            stack = stack.wrapped(
                by: PlacedMiddleware("\(number)", at: number % 2 == 0 ? MiddlewarePlace("odd") : MiddlewarePlace("odd\(number)"), odd)
            )
            .wrapped(by: PlacedMiddleware("s", at: .sign)).wrapped(by: PlacedMiddleware("server", at: .server))
        }
        #expect(!stack.orderProblems.isEmpty)
        #expect(try await stack.send(.sample()).status == .ok)
    }

    private static func stack(of count: Int) -> HTTPStack {
        HTTPStack(StubTransport(Stub().responds(.status(.ok), repeatingLast: true))).wrapped {
            for number in 0..<count { PlacedMiddleware("\(number)") }
        }
    }

    @Test func aThousandLayersAreReleasedOnASmallStack() async {
        await #expect(processExitsWith: .success) {
            final class Box: Sendable {
                let stack = Mutex<HTTPStack?>(nil)
            }
            let box = Box()
            box.stack.withLock { $0 = Self.stack(of: 1_000) }
            await withCheckedContinuation { continuation in
                let thread = Thread {
                    box.stack.withLock { $0 = nil }
                    continuation.resume()
                }
                thread.stackSize = 512 * 1024
                thread.start()
            }
        }
    }

    private enum NeedyKey: OptionKey {
        static var defaultValue: OptionOverride<Int> { .inherited }
        static var requiredCapabilities: TransportCapabilities { [.trailers, .networkAccess] }
    }

    @Test func aMissingCapabilityIsRefusedByNameInEveryForm() async throws {
        let lacking = ClosureTransport(capabilities: [.trailers]) { Response(head: HTTPResponse(status: .ok), request: $0) }
        let having = ClosureTransport(capabilities: [.trailers, .networkAccess]) { Response(head: HTTPResponse(status: .ok), request: $0) }
        func stacks(_ transport: ClosureTransport) -> [HTTPStack] {
            [
                HTTPStack(transport), HTTPStack.sorted(around: transport),
                HTTPStack.sorted(around: HTTPStack(transport).retry()).redirect(),
                HTTPStack.sorted(around: HTTPStack.sorted(around: transport)).unsorted, HTTPStack(HTTPStack(transport)),
            ]
        }
        var request = Request.sample()
        request.options[NeedyKey.self] = .use(1)
        for stack in stacks(lacking) {
            let error = try await failure(UnsupportedOptionError.self) { try await stack.send(request) }
            #expect("\(error)".contains("networkAccess") && !"\(error)".contains("trailers"), "\(error)")
        }
        for stack in stacks(having) { #expect(try await stack.send(request).status == .ok) }
        for unset in [OptionOverride<Int>.inherited, .off] {
            request.options[NeedyKey.self] = unset
            for stack in stacks(lacking) { #expect(try await stack.send(request).status == .ok) }
        }
    }
}
