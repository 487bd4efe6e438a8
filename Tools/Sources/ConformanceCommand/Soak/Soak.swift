import Errand
import ErrandNIO
import Foundation
import NIOPosix
import Synchronization

/// Sends many requests to faulty servers, in ten rounds, and checks the state after each round.
final class Soak: Sendable {
    struct Settings: Sendable {
        var requests: Int
        var seed: UInt64
        var concurrency: Int
        var usesHTTP2: Bool
        var bounds: Bounds
    }

    struct Bounds: Sendable {
        /// The largest growth of the resident memory in the second half.
        var residentGrowthBytes: Int
        /// The largest growth of the allocated memory after the first tenth.
        var liveGrowthBytes: Int
        /// The longest time of 99.9 % of the ends, and the longest time of all ends.
        var usualEnd, longestEnd: Duration
    }

    private struct State {
        var next = 0
        /// The requests that have not ended.
        var running: [Int: SoakPlan] = [:]
        /// Exchanges whose response has begun and has not ended.
        var exchanges = 0
        var outcomes: [String: Int] = [:]
        var ends = SoakEnds()
        /// The delays with which the machine woke tasks.
        var delays = SoakEnds()
        var mixUps = 0
        /// The number of times that a request was sent again because no server had processed it.
        var repetitions = 0
        var problems: [String] = []
    }

    private static let rounds = 10
    /// The longest time in a round without the end of any request. Every deadline is much shorter.
    private static let longestRest = Duration.seconds(30)
    /// The most attempts of a request that no server has processed.
    private static let mostAttempts = 20

    private let settings: Settings
    private let state = Mutex(State())

    init(_ settings: Settings) { self.settings = settings }

    /// Returns the problems. If the soak found no problem, the result is empty.
    ///
    /// - Parameter show: gets a line after each round.
    func run(_ show: (String) -> Void) async throws -> [String] {
        _ = MultiThreadedEventLoopGroup.singleton
        let destination: any SoakDestination = settings.usesHTTP2 ? try await HTTP2SoakService() : try await SoakServer(count: 4)
        let before = ProcessUsage().descriptors
        let transport = try NIOTransport(transportSettings(for: destination))
        var usages: [ProcessUsage] = []
        let start = ContinuousClock.now
        let watch = Task { await watchDelays() }
        defer { watch.cancel() }
        for round in 1...Self.rounds {
            let count = settings.requests * round / Self.rounds
            guard await send(upTo: count, by: transport, to: destination) else { return problems }
            let usage = ProcessUsage()
            usages.append(usage)
            show(line(round, count, after: ContinuousClock.now - start, usage, transport))
        }
        checkGrowth(usages, connections: destination.origins.count * transportSettings(for: destination).maxConnectionsPerOrigin)
        let asked = ContinuousClock.now
        try await transport.shutdown()
        count(.wholeShutdown, since: asked)
        let left = transport.openConnections.count
        if left > 0 { note("after the shutdown: \(SafeText.counted(left, "connection"))") }
        if !(try await settles { try await destination.openConnections() == 0 }) {
            note("the server still has \(SafeText.counted(try await destination.openConnections(), "connection"))")
        }
        if !(try await settles { ProcessUsage().descriptors <= before }) {
            note("not closed: \(SafeText.counted(ProcessUsage().descriptors - before, "descriptor"))")
        }
        let deeds = try await destination.stop()
        showFigures(show)
        if !deeds.isEmpty { show("the servers: \(deeds)") }
        return problems
    }

    private func transportSettings(for destination: any SoakDestination) -> NIOTransport.Configuration {
        var made = NIOTransport.Configuration()
        if let path = destination.certificatePath {
            made.tls.extraRootsPEMFiles = [path]
            // Each connection takes a hundred requests at a time.
            made.maxConnectionsPerOrigin = 2
        } else {
            // Fewer connections than tasks, so that some tasks wait for a connection of their origin, and others for any connection.
            made.maxConnectionsPerOrigin = max(1, settings.concurrency / 5)
            made.maxConnections = max(1, settings.concurrency / 2)
        }
        return made
    }

    private var problems: [String] { state.withLock { $0.problems } }
    private var exchanges: Int { state.withLock { $0.exchanges } }

    /// Notes a problem. Only the first 20 are kept.
    private func note(_ problem: String) { state.withLock { if $0.problems.count < 20 { $0.problems.append(problem) } } }

    private func noteMixUp(_ plan: SoakPlan) {
        state.withLock { $0.mixUps += 1 }
        note("another request's response: \(plan)")
    }

    private func settles(_ condition: () async throws -> Bool) async throws -> Bool {
        let end = ContinuousClock.now + .seconds(10)
        while !(try await condition()) {
            guard ContinuousClock.now < end, (try? await Task.sleep(for: .milliseconds(5))) != nil else { return false }
        }
        return true
    }

    /// Measures the delay that a busy machine adds to each end.
    private func watchDelays() async {
        while true {
            let due = ContinuousClock.now + .milliseconds(10)
            guard (try? await Task.sleep(until: due)) != nil else { return }
            let delay = ContinuousClock.now - due
            state.withLock { $0.delays.add(.deadline, delay) }
        }
    }

    // MARK: - Figures

    private func line(_ round: Int, _ count: Int, after time: Duration, _ usage: ProcessUsage, _ transport: NIOTransport) -> String {
        "\(round * 100 / Self.rounds) %: \(SafeText.counted(count, "request")), \(Int(Double(count) / (time / .seconds(1)))) per second, "
            + "\(usage.liveBytes >> 10) KiB allocated, \(usage.residentBytes >> 20) MiB resident, "
            + "\(SafeText.counted(usage.descriptors, "descriptor")), "
            + "\(SafeText.counted(transport.openConnections.count, "connection")), \(SafeText.counted(exchanges, "exchange")) in progress"
    }

    /// - Parameter connections: the largest allowed difference between the numbers of connections at two times.
    private func checkGrowth(_ usages: [ProcessUsage], connections: Int) {
        guard let first = usages.first, let last = usages.last, usages.count == Self.rounds else { return }
        let resident = last.residentBytes - usages[Self.rounds / 2 - 1].residentBytes
        if resident > settings.bounds.residentGrowthBytes {
            note(
                "the resident memory grew by \(resident >> 20) MiB in the second half, more than \(settings.bounds.residentGrowthBytes >> 20) MiB"
            )
        }
        let live = last.liveBytes - first.liveBytes
        if live > settings.bounds.liveGrowthBytes {
            note(
                "the allocated memory grew by \(live >> 10) KiB after the first tenth, more than \(settings.bounds.liveGrowthBytes >> 10) KiB"
            )
        }
        if last.descriptors - first.descriptors > connections {
            note("the descriptors grew from \(first.descriptors) to \(last.descriptors), more than the connections may")
        }
    }

    /// Shows the outcomes and the times of the ends, and notes ends that took too long.
    private func showFigures(_ show: (String) -> Void) {
        let state = state.withLock { $0 }
        show(state.outcomes.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", "))
        let repetitions = SafeText.counted(state.repetitions, "request")
        show("\(SafeText.counted(state.mixUps, "mix-up")), \(repetitions) sent again that no server had processed")
        for kind in SoakEnds.Kind.allCases where state.ends.figures(kind).count > 0 {
            show("\(kind.rawValue): \(state.ends.figures(kind).text)")
        }
        let all = state.ends.figures()
        show("all: \(all.text)")
        show("for comparison, sleeps of 10 ms were late: \(state.delays.figures().text)")
        let bounds = settings.bounds
        if all.nearlyAll > bounds.usualEnd {
            note(
                "99.9 % of the ends took up to \(SoakEnds.milliseconds(all.nearlyAll)), more than \(SoakEnds.milliseconds(bounds.usualEnd))"
            )
        }
        if all.longest > bounds.longestEnd {
            note("an end took \(SoakEnds.milliseconds(all.longest)), more than \(SoakEnds.milliseconds(bounds.longestEnd))")
        }
    }

    /// Counts an end, unless the call ended before its end was requested.
    private func count(_ kind: SoakEnds.Kind, since asked: ContinuousClock.Instant, at end: ContinuousClock.Instant = .now) {
        if end > asked { state.withLock { $0.ends.add(kind, end - asked) } }
    }

    // MARK: - A round

    /// Returns whether every request and every exchange has ended.
    private func send(upTo limit: Int, by transport: NIOTransport, to destination: any SoakDestination) async -> Bool {
        let tasks = (0..<settings.concurrency).map { _ in
            Task {
                while let plan = take(upTo: limit, servers: destination.origins.count) {
                    await perform(plan, by: transport, to: destination)
                }
            }
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
        if (try? await settles { exchanges == 0 }) == true { return true }
        note("without an end, though nobody has the response: \(SafeText.counted(exchanges, "exchange"))")
        return false
    }

    private func take(upTo limit: Int, servers: Int) -> SoakPlan? {
        state.withLock { state in
            guard state.next < limit else { return nil }
            let plan =
                settings.usesHTTP2
                ? SoakPlan(http2: state.next, seed: settings.seed) : SoakPlan(state.next, seed: settings.seed, servers: servers)
            state.next += 1
            state.running[plan.number] = plan
            return plan
        }
    }

    // MARK: - A request

    private func perform(_ plan: SoakPlan, by transport: NIOTransport, to destination: any SoakDestination) async {
        let url = destination.origins[plan.server] + plan.path
        let result: Result<Bool, any Error>
        switch plan.client {
        case .isCancelledBefore, .isCancelled:
            let call = start(plan, url, by: transport)
            if case .isCancelled(let microseconds) = plan.client { try? await Task.sleep(for: .microseconds(microseconds)) }
            let asked = ContinuousClock.now
            call.cancel()
            let end = await call.value
            count(.cancel, since: asked, at: end.instant)
            result = end.result
        case .hasDeadline(let milliseconds):
            let due = ContinuousClock.now + .milliseconds(milliseconds)
            result = await Result { try await exchange(plan, url, by: transport, deadline: Deadline(due)) }
            count(.deadline, since: due)
        case .isShutDown(let microseconds):
            result = await Result { try await shutDown(plan, url, transportSettings(for: destination), after: .microseconds(microseconds)) }
        case .collects, .drops, .leaves: result = await Result { try await collect(plan, url, by: transport) }
        }
        let outcome = judge(plan, result)
        state.withLock { state in
            state.running[plan.number] = nil
            state.outcomes[outcome, default: 0] += 1
        }
    }

    private struct End: Sendable {
        var result: Result<Bool, any Error>
        var instant: ContinuousClock.Instant
    }

    private func start(_ plan: SoakPlan, _ url: String, by transport: NIOTransport) -> Task<End, Never> {
        Task {
            let result = await Result { try await exchange(plan, url, by: transport) }
            return End(result: result, instant: .now)
        }
    }

    /// Sends the request again while the server says that it was not processed, if the response must arrive.
    private func collect(_ plan: SoakPlan, _ url: String, by transport: NIOTransport) async throws -> Bool {
        for _ in 1..<Self.mostAttempts {
            do {
                return try await exchange(plan, url, by: transport)
            } catch let error as TransportError where settings.usesHTTP2 && plan.reply.isSound && error.delivery == .notSent {
                state.withLock { $0.repetitions += 1 }
            }
        }
        return try await exchange(plan, url, by: transport)
    }

    /// Sends some requests over a separate transport, which is shut down while they are in progress.
    private func shutDown(
        _ plan: SoakPlan, _ url: String, _ settings: NIOTransport.Configuration, after time: Duration
    ) async throws -> Bool {
        let transport = try NIOTransport(settings)
        let calls = (0..<3).map { _ in start(plan, url, by: transport) }
        try? await Task.sleep(for: time)
        let asked = ContinuousClock.now
        try await transport.shutdown()
        count(.wholeShutdown, since: asked)
        var isWhole = true
        for call in calls {
            let end = await call.value
            count(.shutdown, since: asked, at: end.instant)
            isWhole = try end.result.get() && isWhole
        }
        return isWhole
    }

    /// Returns whether the whole body was read.
    private func exchange(_ plan: SoakPlan, _ url: String, by transport: NIOTransport, deadline: Deadline? = nil) async throws -> Bool {
        var request = try Request(plan.upload == .none ? .get : .put, url: url, body: body(plan))
        request.deadline = deadline
        let response = try await transport.send(request)
        state.withLock { $0.exchanges += 1 }
        response.exchange.onEnd { _ in self.state.withLock { $0.exchanges -= 1 } }
        let isRefused = plan.reply == .refuses && response.status.code == 413
        if !isRefused || settings.usesHTTP2, field("X-Number", response) != "\(plan.number)" { noteMixUp(plan) }
        if case .drops = plan.client { return false }
        var count = 0
        for try await chunk in response.body {
            count += chunk.count
            if !chunk.allSatisfy({ $0 == plan.byte }) { noteMixUp(plan) }
            if case .leaves = plan.client { return false }
        }
        if plan.reply == .refuses { return isRefused }
        if plan.reply != .echoes, field("X-Received", response) != "\(plan.uploadBytes)" {
            note("\(field("X-Received", response) ?? "no") bytes of the upload arrived: \(plan)")
        }
        return count == plan.bodyBytes
    }

    private func field(_ name: String, _ response: Response) -> String? { HTTPField.Name(name).flatMap { response.headers[$0] } }

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

    /// Notes an end that is not allowed, and returns the kind of the end.
    private func judge(_ plan: SoakPlan, _ result: Result<Bool, any Error>) -> String {
        switch (plan.client, result) {
        case (.collects, .success(true)) where plan.reply.isBroken: note("a broken response passed for whole: \(plan)")
        case (.collects, .success(false)): note("a part of the body passed for the whole: \(plan)")
        case (.collects, .failure(let error)) where plan.reply.isSound && !plan.mayBeLost: note("\(plan): \(error)")
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

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
