#if MockServer && SWIFT_NIO
import Errand
import ErrandConformance
import ErrandMockServer
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension IntegrationTests {
    /// Each middleware that controls the flow of requests, over real sockets: under every fault at every point, and cancelled at
    /// every point.
    @Suite
    struct FlowControlFaultTests {
        struct Flow: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let wrap: @Sendable (NIOTransport) -> HTTPStack

            init(_ name: String, _ wrap: @escaping @Sendable (NIOTransport) -> HTTPStack) {
                (testDescription, self.wrap) = (name, wrap)
            }
        }

        static let flows = [
            Flow("concurrencyLimit") { $0.concurrencyLimit(1) },
            Flow("rateLimit") { $0.rateLimit(.perSecond(1_000)) },
            Flow("circuitBreaker") { $0.circuitBreaker() },
            Flow("coalesce") { $0.coalesce() },
            Flow("hedge, late") { $0.hedge(HedgePolicy(.fixed(.seconds(20)))) },
            Flow("hedge, early") { $0.hedge(HedgePolicy(.fixed(.milliseconds(3)), maxAttempts: 3)) },
            Flow("standardResilience") { $0.standardResilience() },
            Flow("all of them") {
                $0.concurrencyLimit(4).rateLimit(.perSecond(1_000)).circuitBreaker().hedge(HedgePolicy(.fixed(.milliseconds(30))))
                    .coalesce()
            },
        ]

        @Test(arguments: flows) func eachFlowControlEndsEveryFaultLikeTheTransport(_ flow: Flow) async throws {
            try await withNIO { transport in
                await FaultRow.checkAll(FaultRow.all(Fault.all), expecting: FaultExpectation.http1) { row, expected in
                    try await withMockServer { server in
                        server.dispatch { request in request.path == "/broken" ? row.response : .data(FaultRow.responseBody) }
                        let stack = flow.wrap(transport)
                        let deadline: Duration = expected.code == .timedOut ? .seconds(3) : .seconds(8)
                        let start = ContinuousClock.now
                        let sink = RecordingEventSink()
                        let outcome = await FaultOutcome.of(
                            try row.request(server.url("/broken"), deadline: deadline), by: stack.events(to: sink))
                        let took = ContinuousClock.now - start
                        #expect(expected.allows(outcome), "\(row): \(outcome)")
                        #expect(took < (expected.code == .timedOut ? deadline + .seconds(20) : deadline), "\(row): \(took)")
                        try await poll("\(row): the end of the call", value: { sink.events.last?.kind }) { $0 == .callEnd }
                        #expect(EventGrammar.violations(sink.events) == [], "\(row)")
                        // What it held is free: the next request gets through, at the latest after the connections that are broken.
                        for attempt in 0... {
                            let next = await FaultOutcome.of(try Request(.get, url: server.url("/fine")).within(.seconds(2)), by: stack)
                            if case .whole = next { break }
                            guard attempt < 5 else {
                                Issue.record("\(row): \(outcome), and then \(next)")
                                return
                            }
                        }
                        if ClientSockets.areKnown {
                            try await poll(
                                "\(row): few connections", value: { try ClientSockets.count(to: server.port) }
                            ) { $0 <= 3 }
                        }
                    }
                }
            }
        }

        @Test(arguments: flows) func eachFlowControlIsCancelledAtEveryPoint(_ flow: Flow) async throws {
            let before = LiveWork.allCases.map(\.count)
            let body = Data.seeded(150_000, seed: 3)
            try await withMockServer { server in
                server.dispatch { _ in .data(body) }
                try await withNIO { transport in
                    let ticks = Ticks()
                    let stack = flow.wrap(transport)
                    let url = server.url("/x")
                    let report = try await CancellationTorture().run {
                        try await ticks.during {
                            var request = try Request(.get, url: url)
                            request.options.eventSink = ticks
                            return try await stack.send(request).body.collect()
                        }
                    } accepts: {
                        $0 == body
                    } check: { run in
                        try await poll("nothing of ours", value: { LiveWork.allCases.map(\.count) }) { zip($0, before).allSatisfy(<=) }
                        let next = try await stack.send(Request(.get, url: url).within(.seconds(5))).body.collect()
                        #expect(next == body, "\(run)")
                    }
                    #expect(report.cancelled > 5, "\(report)")
                }
            }
        }
    }
}
#endif
