#if Telemetry
import Errand
import ErrandTesting
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

/// An observer of an app sees the same end of a call as the log, by the public API alone.
@Suite(.timeLimit(.minutes(5))) struct ReadmeObservedCallTests {
    private struct Refusal: Error {}

    private struct Envelope: ResponseEnvelope {
        var code: Int
        var failure: ServiceError? { code == 0 ? nil : ServiceError(.init(code)) }
    }

    /// One kind of end.
    struct End: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let status: Int?
        /// As the observer says it.
        let problem: String?
        /// As the log says it.
        let errorType: String?
        var count = 1
        /// - Parameter observed: adds the observer and the log to a stack.
        let play: @Sendable (_ observed: (any HTTPSender) -> HTTPStack) async throws -> Void
    }

    private static func get() throws -> Request { try Request(.get, url: "https://a.example/x") }

    private static func client(_ stack: HTTPStack) -> APIClient { APIClient(stack.server("https://a.example"), envelope: Envelope.self) }

    private static func typed(_ stack: HTTPStack) async {
        let _: Int? = try? await APIClient(stack.server("https://a.example")).get("/x")
    }

    /// Sends a request and reads the response.
    private static func raw(_ stack: HTTPStack) async { _ = try? await stack.send(get()).body.collect() }

    /// Cancels `work` as soon as its body is read. If the request has no body, cancels `work` as soon as the request was sent.
    private static func cancelled(
        _ stub: StubTransport, reading body: ScriptedBodySource? = nil, _ work: @escaping @Sendable () async throws -> Void
    ) async throws {
        let task = Task { try await work() }
        try await poll("the request to wait", value: { stub.requests.count }) { $0 == 1 }
        try await body?.reachedEnding.wait()
        task.cancel()
        _ = await task.result
    }

    private static func stub(_ response: StubResponse) -> StubTransport { StubTransport(Stub().responds(response)) }
    private static func lost(_ phase: ExchangePhase) -> TransportError {
        TransportError(.connectionLost, phase: phase, request: nil, delivery: .unknown)
    }

    private static let notFound = StubResponse.status(.notFound, text: "no")
    private static let refused = StubResponse.json(["code": 7] as JSONValue, status: .unauthorized)
    private static let endless = StubResponse.streaming { _, _ in (HTTPResponse(status: .ok), ScriptedBodySource(then: .stall)) }

    static let ends = [
        End(testDescription: "decoded", status: 200, problem: nil, errorType: nil) { await typed($0(stub(.status(.ok, text: "7")))) },
        End(testDescription: "received", status: 200, problem: nil, errorType: nil) { await raw($0(stub(.stream([Data("7".utf8)])))) },
        End(testDescription: "undecodable", status: 200, problem: "ResponseDecodingError", errorType: "ResponseDecodingError") {
            await typed($0(stub(.status(.ok, text: "t0ps3cret"))))
        },
        End(testDescription: "too long", status: 200, problem: "TransportError", errorType: "body_too_large") { observed in
            let client = APIClient(observed(stub(.stream([Data(count: 10)]))).server("https://a.example"), bodyLimitBytes: 4)
            _ = try? await client.data(Endpoint<Int>.get("/x"))
        },
        End(testDescription: "404, validateStatus inside", status: 404, problem: "refused", errorType: "404") {
            await raw($0(stub(notFound).validateStatus()))
        },
        End(testDescription: "404, validateStatus outside", status: 404, problem: "refused", errorType: "404") {
            await raw($0(stub(notFound)).validateStatus())
        },
        End(testDescription: "404, no rule", status: 404, problem: "refused", errorType: "404") { await raw($0(stub(notFound))) },
        End(testDescription: "404 that the rule accepts", status: 404, problem: nil, errorType: nil) {
            await raw($0(stub(notFound)).validateStatus(.statuses([404])))
        },
        End(testDescription: "404 of a typed call", status: 404, problem: "refused", errorType: "404") { await typed($0(stub(notFound))) },
        End(testDescription: "an error in an envelope, validateStatus inside", status: 401, problem: "ServiceError", errorType: "401") {
            _ = try? await client($0(stub(refused).validateStatus())).send(get())
        },
        End(testDescription: "an error in an envelope, validateStatus outside", status: 401, problem: "ServiceError", errorType: "401") {
            _ = try? await client($0(stub(refused))).send(get())
        },
        End(testDescription: "an error in an envelope with 200", status: 200, problem: "ServiceError", errorType: "ServiceError") {
            let _: Int? = try? await client($0(stub(.json(["code": 7] as JSONValue)))).get("/x")
        },
        End(testDescription: "a validator's error", status: 409, problem: "Refusal", errorType: "Refusal") {
            await raw($0(stub(.status(.conflict)).validate(ResponseValidator("own") { _, _, _ in .fail(Refusal()) })))
        },
        End(testDescription: "a middleware's error", status: 503, problem: "MaintenanceError", errorType: "MaintenanceError") {
            await raw($0(stub(.status(.serviceUnavailable)).wrapped(by: MaintenanceErrorMiddleware())))
        },
        End(testDescription: "lost before the head", status: nil, problem: "TransportError", errorType: "connection_lost") {
            await raw($0(stub(.failure(lost(.response)))))
        },
        End(testDescription: "lost in the body", status: 200, problem: "TransportError", errorType: "connection_lost") {
            await raw($0(stub(.stream([Data(count: 5)], failure: lost(.body)))))
        },
        End(testDescription: "lost in the body of a typed call", status: 200, problem: "TransportError", errorType: "connection_lost") {
            await typed($0(stub(.stream([Data(count: 5)], failure: lost(.body)))))
        },
        End(testDescription: "cancelled before the head", status: nil, problem: "cancelled", errorType: nil) { observed in
            let stub = stub(.never)
            let stack = observed(stub)
            try await cancelled(stub) { await raw(stack) }
        },
        End(testDescription: "cancelled in the body of a typed call", status: 200, problem: "cancelled", errorType: nil) { observed in
            let body = ScriptedBodySource(then: .stall)
            let stub = stub(.streaming { _, _ in (HTTPResponse(status: .ok), body) })
            let stack = observed(stub)
            try await cancelled(stub, reading: body) { await typed(stack) }
        },
        End(testDescription: "abandoned", status: 200, problem: nil, errorType: nil) {
            try await $0(stub(endless)).send(get()).body.abandon()
        },
        End(testDescription: "upgraded", status: 101, problem: nil, errorType: nil) {
            let response = try await $0(UpgradingSender()).send(get())
            withExtendedLifetime(response) {}
        },
        End(testDescription: "coalesced", status: 200, problem: nil, errorType: nil, count: 2) { observed in
            let stack = observed(stub(StubResponse.status(.ok, text: "7").delayed(by: .milliseconds(20))).coalesce())
            async let first: Void = raw(stack)
            async let second: Void = raw(stack)
            _ = await (first, second)
        },
    ]

    @Test(arguments: ends) func anObserverAndTheLogSeeTheSame(_ end: End) async throws {
        let entries = Mutex<[AuditEntry]>([])
        let (logger, lines) = recordingLogger()
        try await end.play { stack in
            HTTPStack(stack).wrapped(by: AuditMiddleware { entry in entries.withLock { $0.append(entry) } })
                .log(to: logger, detail: .body(), metadata: .all)
        }
        let expected = Array(repeating: end.status, count: end.count)
        try await poll("the ends", upTo: .seconds(10), value: { entries.withLock { $0.count } }) { $0 >= end.count }
        #expect(entries.withLock { $0.map(\.status?.code) } == expected)
        #expect(entries.withLock { $0.map(\.problem) } == Array(repeating: end.problem, count: end.count))
        #expect(lines.all.map { $0.metadata["http.response.status_code"].flatMap { Int($0) } } == expected, "\(lines.everything)")
        #expect(lines.all.map { $0.metadata["error.type"] } == Array(repeating: end.errorType, count: end.count), "\(lines.everything)")
        let isCancelled = end.problem == "cancelled"
        #expect(lines.all.allSatisfy { $0.text.contains("cancelled after") == isCancelled })
    }

    @Test(arguments: [StubResponse.status(.ok, text: "7"), .stream([Data("7".utf8)]), notFound])
    func aCallEndsOnceAtEveryMomentOfCancellation(_ response: StubResponse) async throws {
        let (begun, ended) = (Watched(0), Watched(0))
        let stack = StubTransport(Stub().responds(response, repeatingLast: true))
            .wrapped(by: AuditMiddleware { _ in ended.change { $0 += 1 } }).transformRequest { _ in begun.change { $0 += 1 } }
        let client = APIClient(stack.server("https://a.example"))
        _ = try await CancellationTorture().run {
            do {
                return try await client.get("/x") as Int
            } catch is StatusError {
                return 7
            }
        } accepts: {
            $0 == 7
        } check: { _ in
            #expect(ended.value == begun.value)
        }
        #expect(ended.value > 1)
    }
}
#endif
