import Errand
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandCore

/// Bodies that are released or held. Each body is released once, and is held within a limit and completely.
@Suite(.timeLimit(.minutes(10))) struct ReleasedBodyTests {
    private static let silent = ScriptedBodySource(then: .stall)
    private static let still = Response(
        head: HTTPResponse(status: .ok), body: ResponseBody(silent, expectedLength: 2), request: .sample(), exchange: ExchangeLifetime())

    /// Waits until the body is read, and a moment more. The timer beside the read could crash when the timer begins. A timer sends no
    /// signal when it begins, so the moment is real time.
    private static func bodyIsRead() async throws {
        try await silent.reachedEnding.wait()
        try await Task.sleep(for: .milliseconds(50))
    }

    private static func response(_ source: ScriptedBodySource) -> Response {
        Response(
            head: HTTPResponse(status: .ok), body: ResponseBody(source, expectedLength: 2), request: .sample(), exchange: ExchangeLifetime()
        )
    }

    /// The body does not come before the limit, which is a long limit and no crash.
    @Test func aHugeLimitOfReleaseDoesNotCrash() async {
        await #expect(processExitsWith: .success) {
            let work = Task { try await Self.still.release(within: .seconds(Int64.max)) }
            try await Self.bodyIsRead()
            work.cancel()
            _ = try? await work.value
        }
    }

    @Test func aHugeLimitOfHoldDoesNotCrash() async {
        await #expect(processExitsWith: .success) {
            let work = Task {
                var response = Self.still
                try await response.bufferBody(within: .seconds(Int64.max))
            }
            try await Self.bodyIsRead()
            work.cancel()
            _ = try? await work.value
        }
    }

    @Test func aPassedLimitReleasesTheBody() async throws {
        for limit in [Duration.zero, .seconds(-1), .seconds(Int64.min)] {
            let source = ScriptedBodySource(then: .stall)
            try await Self.response(source).release(within: limit)
            #expect(source.abandonCount == 1)
        }
    }

    @Test func aCancelledHoldReleasesTheBody() async throws {
        let source = ScriptedBodySource(["ab"], then: .stall)
        let kept = RecordingList<Response>()
        let holding = Task {
            var response = Response(
                head: HTTPResponse(status: .ok), body: ResponseBody(source), request: .sample(), exchange: ExchangeLifetime())
            kept.record(response)
            try await response.bufferBody(within: .seconds(100))
        }
        await source.reachedEnding.waitIgnoringCancellation()
        holding.cancel()
        await #expect(throws: CancellationError.self) { try await holding.value }
        #expect(source.abandonCount == 1)
        withExtendedLifetime(kept) {}
    }

    @Test func aHugeLimitHoldsTheBody() async throws {
        var held = Response(
            head: HTTPResponse(status: .ok), body: ResponseBody(ScriptedBodySource(["ab"]), expectedLength: 2), request: .sample(),
            exchange: ExchangeLifetime())
        try await held.bufferBody(within: .seconds(100 * 365 * 86_400))
        #expect(try await held.body.collect() == Data("ab".utf8))
    }

    /// Each body is released once, whatever it is.
    @Test func eachBodyIsReleasedOnce() async throws {
        enum How: CaseIterable { case release, discard, hold, holdAndDiscard, followUp, statusError, drop, discardTwice }
        enum Kind: CaseIterable { case short, failing, stalled, huge, lying, unknown }
        for kind in Kind.allCases {
            for how in How.allCases {
                let source: ScriptedBodySource
                let length: Int64?
                switch kind {
                case .short: (source, length) = (ScriptedBodySource(["ab"]), 2)
                case .failing: (source, length) = (ScriptedBodySource(["ab"], then: .failure(TestError())), 4)
                case .stalled: (source, length) = (ScriptedBodySource(["ab"], then: .stall), 4)
                case .huge:
                    (source, length) = (ScriptedBodySource(Array(repeating: String(repeating: "x", count: 40_000), count: 40)), 1_600_000)
                case .lying: (source, length) = (ScriptedBodySource(Array(repeating: String(repeating: "x", count: 40_000), count: 40)), 1)
                case .unknown: (source, length) = (ScriptedBodySource(["ab"]), nil)
                }
                do {
                    var response = Response(
                        head: HTTPResponse(status: .ok), body: ResponseBody(source, expectedLength: length), request: .sample(),
                        exchange: ExchangeLifetime())
                    switch how {
                    case .release: try await response.release(within: .milliseconds(20))
                    case .discard: response.discard()
                    case .discardTwice:
                        response.discard()
                        response.discard()
                        try await response.release(within: .milliseconds(20))
                    case .hold: try await response.bufferBody(within: .milliseconds(20))
                    case .holdAndDiscard:
                        try await response.bufferBody(within: .milliseconds(20))
                        response.discard()
                    case .followUp:
                        var attempts = CallAttempts()
                        _ = try await attempts.followUp(with: .sample(), after: .success(response))
                    case .statusError: if kind != .stalled { _ = try await StatusError(reading: response) }
                    case .drop: break
                    }
                    if [.holdAndDiscard, .discard, .release].contains(how) {
                        await #expect(throws: (any Error).self) { try await response.body.collect() }
                    }
                }
                let readsAll = source.unreadCount == 0 && source.abandonCount == 0
                #expect(source.abandonCount == 1 || readsAll, "\(kind) \(how): abandoned \(source.abandonCount) times")
                #expect(source.abandonCount <= 1, "\(kind) \(how)")
            }
        }
    }

    /// The held body is complete, or ends with an error. A part of a body never looks complete.
    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 131_072]) func aHeldBodyIsWholeOrFails(count: Int) async throws {
        for pieces in [1, 7, 65_536] {
            var texts: [String] = []
            var left = count
            while left > 0 {
                texts.append(String(repeating: "x", count: min(left, max(1, count / pieces))))
                left -= texts.last?.count ?? 1
                if texts.count > 2_000 { break }
            }
            let sent = texts.reduce(0) { $0 + $1.count }
            let source = ScriptedBodySource(texts)
            var response = Response(
                head: HTTPResponse(status: .unauthorized), body: ResponseBody(source), request: .sample(), exchange: ExchangeLifetime())
            try await response.bufferBody(within: .seconds(20))
            let data = try? await response.body.collect()
            #expect(sent <= 65_536 ? data?.count == sent : data == nil, "\(sent) in \(texts.count) pieces: \(data?.count ?? -1)")
        }
    }
}
