#if MockServer && SWIFT_NIO
import Errand
import ErrandConformance
import ErrandMockServer
import ErrandTesting
import Synchronization
import TestSupport
import Testing

/// Shared exchanges over a real socket, against a server that fails them and callers that leave.
@Suite(.timeLimit(.minutes(5)), .leavesNothingBehind(inParallelRuns: false)) struct CoalesceFaultTests {
    /// More than a client reads ahead.
    private static let content = Data.seeded(400_000)

    private struct Parts {
        let stack: HTTPStack
        let coalesce: CoalesceMiddleware
        let limit: ConcurrencyLimitMiddleware

        init(_ transport: NIOTransport, viewLimitBytes: Int = CoalesceMiddleware.defaultViewLimitBytes) {
            coalesce = CoalesceMiddleware(viewLimitBytes: viewLimitBytes)
            limit = ConcurrencyLimitMiddleware(.fixed(1), per: .all)
            stack = transport.wrapped(by: limit).wrapped(by: coalesce)
        }

        func callers(_ count: Int) async throws {
            try await poll("callers", value: { coalesce.state.callers }) { $0 == count }
        }

        /// Returns when no caller shares an exchange, and no slot is in use.
        func areIdle() async throws {
            try await poll("the exchanges to be over", value: { (coalesce.state, limit.state) }) {
                $0.inFlight == 0 && $0.callers == 0 && $1.inFlight == 0 && $1.queued == 0
            }
        }
    }

    private func with(_ body: (MockServer, NIOTransport) async throws -> Void) async throws {
        try await withMockServer { server in
            try await withTransport(NIOTransport()) { try await body(server, $0) }
        }
    }

    private enum Outcome: Equatable {
        case whole
        case failed
        case cancelled
        case wrong
    }

    /// Reads the whole response, in the time of the request.
    private func outcome(_ stack: HTTPStack, _ request: Request, pace: Int = 0) async -> Outcome {
        do {
            let response = try await stack.send(request)
            var read = Data()
            for try await chunk in response.body {
                read += chunk
                for _ in 0..<pace { await Task.yield() }
            }
            return read == Self.content ? .whole : .wrong
        } catch is CancellationError {
            return .cancelled
        } catch is TransportError {
            return .failed
        } catch {
            return .wrong
        }
    }

    private func outcomes(_ count: Int, _ stack: HTTPStack, _ request: @escaping @Sendable () throws -> Request) async throws -> [Outcome] {
        try await withThrowingTaskGroup(of: Outcome.self) { group in
            for index in 0..<count {
                group.addTask { await outcome(stack, try request(), pace: index) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func callersShareOneExchange() async throws {
        try await with { server, transport in
            let parts = Parts(transport)
            server.dispatch { _ in
                try await parts.callers(20)
                return .data(Self.content)
            }
            let url = server.url("/x")
            let outcomes = try await outcomes(20, parts.stack) { try Request(.get, url: url) }
            #expect(outcomes == Array(repeating: .whole, count: 20) && server.requests.count == 1)
            try await parts.areIdle()
        }
    }

    /// All callers of the shared exchange get its result, and the next exchange succeeds.
    @Test(arguments: Fault.all, FaultPoint.all) func everyFaultReachesAllCallersAndLeavesNothing(_ fault: Fault, at point: FaultPoint)
        async throws
    {
        try await with { server, transport in
            let parts = Parts(transport)
            let isFirst = Mutex(true)
            server.dispatch { _ in
                let breaks = isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                guard breaks else { return .data(Self.content) }
                try await parts.callers(5)
                return .data(Self.content).fault(fault, at: point)
            }
            let url = server.url("/x")
            let deadline = Deadline(after: .milliseconds(500))
            let outcomes = try await outcomes(5, parts.stack) {
                var request = try Request(.get, url: url)
                request.deadline = deadline
                return request
            }
            #expect([.whole, .failed].contains(outcomes[0]) && Set(outcomes).count == 1, "\(outcomes)")
            // What the broken exchange left on its connection may fail the next one as well.
            let bounded = parts.stack.phaseTimeouts(attempt: .seconds(1))
            var next = Outcome.failed
            for _ in 0..<5 where next == .failed { next = await outcome(bounded, try Request(.get, url: url)) }
            #expect(next == .whole)
            try await parts.areIdle()
        }
    }

    @Test(arguments: [Fault.close, .reset, .truncatedChunk, .wrongContentLength])
    func aBrokenBodyReachesEachReader(_ fault: Fault) async throws {
        try await with { server, transport in
            let parts = Parts(transport)
            server.dispatch { _ in
                try await parts.callers(4)
                return .data(Self.content).fault(fault, at: .responseBody)
            }
            let responses = try await responses(4, parts, server)
            #expect(server.requests.count == 1)
            for response in responses {
                let error = await #expect(throws: TransportError.self) { try await response.body.collect() }
                #expect(error?.phase == .body && error?.request?.id == response.request.id)
                guard case .failed? = response.exchange.outcome else { return #expect(Bool(false), "failed") }
            }
            try await parts.areIdle()
        }
    }

    /// Responses of one exchange. No byte of them has been read.
    private func responses(_ count: Int, _ parts: Parts, _ server: MockServer) async throws -> [Response] {
        let request = try Request(.get, url: server.url("/x"))
        return try await withThrowingTaskGroup(of: Response.self) { group in
            for _ in 0..<count { group.addTask { try await parts.stack.send(request) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func aSlowReaderFailsAndTheConnectionIsReused() async throws {
        try await with { server, transport in
            server.dispatch { _ in .data(Self.content) }
            let parts = Parts(transport, viewLimitBytes: 100_000)
            let responses = try await responses(3, parts, server)
            let read = try await responses[0].body.collect() == Self.content
            #expect(read)
            for slow in responses[1...] {
                await #expect(throws: SlowReaderError.self) { try await slow.body.collect() }
            }
            #expect(await outcome(parts.stack, try Request(.get, url: server.url("/x"))) == .whole)
            try await parts.areIdle()
        }
    }

    @Test func theLastReaderOfAPartialBodyFreesTheSlot() async throws {
        // More than a transport takes before it is read.
        let large = Data.seeded(4 * 1024 * 1024)
        try await with { server, transport in
            let bodies = Mutex([large])
            server.dispatch { _ in .data(bodies.withLock { $0.popLast() } ?? Self.content) }
            let parts = Parts(transport)
            let responses = try await responses(3, parts, server)
            for response in responses {
                #expect(parts.limit.state.inFlight == 1)
                for try await _ in response.body { break }
            }
            try await parts.areIdle()
            #expect(await outcome(parts.stack, try Request(.get, url: server.url("/x"))) == .whole)
        }
    }

    /// Callers that are cancelled at any moment: whoever is not gets every byte, and nothing stays behind.
    @Test(arguments: 1...8) func callersAreCancelledAtAnyMoment(seed: UInt64) async throws {
        try await with { server, transport in
            server.dispatch { _ in .data(Self.content) }
            let parts = Parts(transport)
            var random = SeededGenerator(seed: seed)
            for round in 0..<15 {
                let waits = (0..<8).map { _ in Int.random(in: -40...120, using: &random) }
                let url = server.url("/\(round)")
                let isRight = await withTaskGroup(of: Bool.self) { group in
                    for (pace, wait) in waits.enumerated() {
                        group.addTask {
                            let task = Task { await outcome(parts.stack, try Request(.get, url: url), pace: pace) }
                            guard wait >= 0 else { return (try? await task.value) == .whole }
                            try? await Task.sleep(for: .microseconds(wait * 100))
                            task.cancel()
                            return [.whole, .cancelled].contains(try? await task.value)
                        }
                    }
                    return await group.reduce(true) { $0 && $1 }
                }
                #expect(isRight, "round \(round)")
                try await parts.areIdle()
            }
        }
    }
}
#endif
