import Errand
import ErrandNIO
import Foundation
import NIOPosix
import Synchronization

/// Many requests to a ``SoakServer``, in ten rounds, and what must hold after each of them.
final class Soak: Sendable {
    private struct State {
        var next = 0
        /// The requests that have not ended.
        var running: [Int: SoakPlan] = [:]
        /// Exchanges whose response has begun, and which have not ended.
        var exchanges = 0
        var ends: [String: Int] = [:]
        var problems: [String] = []
    }

    private static let rounds = 10
    /// How long a round may take without any request ending: every deadline is much shorter.
    private static let longestRest = Duration.seconds(30)

    private let requests: Int
    private let seed: UInt64
    private let concurrency: Int
    private let maxGrowthBytes: Int
    private let state = Mutex(State())

    init(requests: Int, seed: UInt64, concurrency: Int, maxGrowthBytes: Int) {
        (self.requests, self.seed, self.concurrency, self.maxGrowthBytes) = (requests, seed, concurrency, maxGrowthBytes)
    }

    /// Returns what was wrong; nothing if all was well.
    ///
    /// - Parameter show: gets a line after each round.
    func run(_ show: (String) -> Void) async throws -> [String] {
        _ = MultiThreadedEventLoopGroup.singleton
        let before = ProcessUsage().descriptors
        let server = try await SoakServer(count: 4)
        var settings = NIOTransport.Configuration()
        // Fewer than there are tasks, so that some wait for a connection of their origin, and some for one of all.
        settings.maxConnectionsPerOrigin = max(1, concurrency / 5)
        settings.maxConnections = max(1, concurrency / 2)
        let transport = try NIOTransport(settings)
        var halfway = 0
        var last = 0
        let start = ContinuousClock.now
        for round in 1...Self.rounds {
            guard await send(upTo: requests * round / Self.rounds, by: transport, to: server) else { return problems }
            let usage = ProcessUsage()
            last = usage.residentBytes
            if round == Self.rounds / 2 { halfway = last }
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            show(
                "\(round * 100 / Self.rounds) %: \(requests * round / Self.rounds) requests, "
                    + "\(Int(Double(requests * round / Self.rounds) / seconds)) per second, \(last >> 20) MiB resident, "
                    + "\(usage.descriptors) descriptors, \(transport.openConnections.count) connections, \(exchanges) exchanges in progress"
            )
        }
        if last - halfway > maxGrowthBytes {
            note("the memory grew by \((last - halfway) >> 20) MiB in the second half, more than \(maxGrowthBytes >> 20) MiB")
        }
        try await transport.shutdown()
        if !transport.openConnections.isEmpty { note("after the shutdown: \(transport.openConnections.count) connections") }
        if await !settles({ server.connections == 0 }) { note("the server still has \(server.connections) connections") }
        try await server.stop()
        if await !settles({ ProcessUsage().descriptors <= before }) {
            note("\(ProcessUsage().descriptors - before) descriptors were not closed")
        }
        show(state.withLock { $0.ends }.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", "))
        return problems
    }

    private var problems: [String] { state.withLock { $0.problems } }
    private var exchanges: Int { state.withLock { $0.exchanges } }

    /// Keeps the first few.
    private func note(_ problem: String) { state.withLock { if $0.problems.count < 20 { $0.problems.append(problem) } } }

    private func settles(_ condition: () -> Bool) async -> Bool {
        let end = ContinuousClock.now + .seconds(10)
        while !condition() {
            guard ContinuousClock.now < end, (try? await Task.sleep(for: .milliseconds(5))) != nil else { return false }
        }
        return true
    }

    // MARK: - A round

    /// Returns whether every request and every exchange has ended.
    private func send(upTo limit: Int, by transport: NIOTransport, to server: SoakServer) async -> Bool {
        let tasks = (0..<concurrency).map { _ in
            Task { while let plan = take(upTo: limit, servers: server.ports.count) { await perform(plan, by: transport, to: server) } }
        }
        var seen = (done: -1, since: ContinuousClock.now)
        while true {
            let (done, running) = state.withLock { ($0.next - $0.running.count, $0.running) }
            if done == limit { break }
            if done != seen.done { seen = (done, .now) }
            guard ContinuousClock.now - seen.since < Self.longestRest else {
                for plan in running.values.prefix(10) { note("did not end: \(plan)") }
                return false
            }
            try? await Task.sleep(for: .milliseconds(2))
        }
        for task in tasks { await task.value }
        if await settles({ exchanges == 0 }) { return true }
        note("\(exchanges) exchanges have not ended, though nobody has their response")
        return false
    }

    private func take(upTo limit: Int, servers: Int) -> SoakPlan? {
        state.withLock { state in
            guard state.next < limit else { return nil }
            let plan = SoakPlan(state.next, seed: seed, servers: servers)
            state.next += 1
            state.running[plan.number] = plan
            return plan
        }
    }

    // MARK: - A request

    private func perform(_ plan: SoakPlan, by transport: NIOTransport, to server: SoakServer) async {
        let url = "http://127.0.0.1:\(server.ports[plan.server])\(plan.path)"
        let result: Result<Bool, any Error>
        switch plan.client {
        case .isCancelledBefore, .isCancelled:
            let task = Task { try await exchange(plan, url, by: transport) }
            if case .isCancelled(let microseconds) = plan.client { try? await Task.sleep(for: .microseconds(microseconds)) }
            task.cancel()
            result = await task.result
        case .collects, .drops, .leaves, .hasDeadline:
            do {
                result = .success(try await exchange(plan, url, by: transport))
            } catch {
                result = .failure(error)
            }
        }
        let end = judge(plan, result)
        state.withLock { state in
            state.running[plan.number] = nil
            state.ends[end, default: 0] += 1
        }
    }

    /// Returns whether the whole body was read.
    private func exchange(_ plan: SoakPlan, _ url: String, by transport: NIOTransport) async throws -> Bool {
        var request = try Request(plan.upload == .none ? .get : .put, url: url, body: body(plan))
        if case .hasDeadline(let milliseconds) = plan.client { request.deadline = Deadline(after: .milliseconds(milliseconds)) }
        let response = try await transport.send(request)
        state.withLock { $0.exchanges += 1 }
        response.exchange.onEnd { _ in self.state.withLock { $0.exchanges -= 1 } }
        if case .drops = plan.client { return false }
        var count = 0
        for try await chunk in response.body {
            count += chunk.count
            if chunk.first != plan.byte || chunk.last != plan.byte { note("another request's body: \(plan)") }
            if case .leaves = plan.client { return false }
        }
        if plan.reply == .refuses { return response.status.code == 413 }
        let received = HTTPField.Name("X-Received").flatMap { response.headers[$0] }
        if received != "\(plan.uploadBytes)" { note("\(received ?? "no") bytes of the upload arrived: \(plan)") }
        return count == plan.bodyBytes
    }

    private func body(_ plan: SoakPlan) -> RequestBody {
        let data = Data(repeating: plan.byte, count: plan.uploadBytes)
        switch plan.upload {
        case .none: return .empty
        case .data: return .data(data)
        case .stream:
            let half = data.count / 2
            return .stream(
                AsyncThrowingStream<Data, any Error> { stream in
                    stream.yield(data.prefix(half))
                    stream.yield(data.dropFirst(half))
                    stream.finish()
                })
        }
    }

    /// Notes an end that must not be, and returns what kind of end it is.
    private func judge(_ plan: SoakPlan, _ result: Result<Bool, any Error>) -> String {
        switch (plan.client, result) {
        case (.collects, .success(true)) where plan.reply.isBroken: note("a broken response passed for whole: \(plan)")
        case (.collects, .success(false)): note("a part of the body passed for the whole: \(plan)")
        case (.collects, .failure(let error)) where plan.reply.isSound: note("\(plan): \(error)")
        case (_, .failure(let error)) where !(error is TransportError || error is CancellationError): note("\(plan): \(error)")
        default: break
        }
        switch result {
        case .success(true): return "whole"
        case .success(false): return "left unread"
        case .failure(let error as TransportError): return error.code.description
        case .failure(is CancellationError): return "cancelled"
        case .failure: return "other"
        }
    }
}
