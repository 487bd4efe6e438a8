#if MockServer && SWIFT_NIO
import Errand
import ErrandMockServer
import ErrandTesting
import Synchronization
import TestSupport
import Testing

/// A POST without a key reaches the server at most once, for every fault.
@Suite(.timeLimit(.minutes(5))) struct PostOnceTests {
    @Test func noPostIsProcessedTwiceUnderRandomFaults() async throws {
        var generator = SeededGenerator(seed: 2026)
        let scripts = (0..<300).map { _ in Script(using: &generator) }
        let (received, completed) = try await play(scripts) { stack, _ in stack.phaseTimeouts(attempt: .milliseconds(150)) }
        #expect(received > 150 && (1..<300).contains(completed), "\(received) reached it, \(completed) got a response")
    }

    /// The time of an attempt is up while it waits for a connection, or as it leaves.
    @Test func noPostIsProcessedTwiceIfItsTimeoutPassesDuringSending() async throws {
        var generator = SeededGenerator(seed: 2027)
        let scripts = (0..<600).map { _ in Script(response: .text("fine"), connectionFault: nil, body: .data(.seeded(100))) }
        let microseconds = scripts.map { _ in Int.random(in: 200...6_000, using: &generator) }
        _ = try await play(scripts, atOnce: 30) { stack, number in stack.phaseTimeouts(attempt: .microseconds(microseconds[number])) }
    }

    /// The same, where the limit is one for connecting.
    @Test func noPostIsProcessedTwiceIfItsConnectTimeoutPassesDuringSending() async throws {
        var generator = SeededGenerator(seed: 2028)
        let scripts = (0..<600).map { _ in Script(response: .text("fine"), connectionFault: nil, body: .data(.seeded(100))) }
        let microseconds = scripts.map { _ in Int.random(in: 200...6_000, using: &generator) }
        _ = try await play(scripts, atOnce: 30) { stack, number in stack.phaseTimeouts(connect: .microseconds(microseconds[number])) }
    }

    /// - Returns: the number of requests that reached the server, and the number of requests with a response.
    private func play(
        _ scripts: [Script], atOnce: Int = 10, bounded: @escaping @Sendable (HTTPStack, _ number: Int) -> HTTPStack
    ) async throws -> (received: Int, completed: Int) {
        try await withMockServer { server in
            let seen = Seen()
            server.dispatch { request in
                seen.note(request.path)
                guard let number = Int(request.path.dropFirst()), scripts.indices.contains(number) else { return nil }
                return scripts[number].response
            }
            return try await withTransport(NIOTransport()) { transport in
                let random = SeededRandom(seed: 7)
                let policy = RetryPolicy(maxAttempts: 4, backoff: .constant(.milliseconds(2)))
                var completed = 0
                for start in stride(from: 0, to: scripts.count, by: atOnce) {
                    completed += try await withThrowingTaskGroup(of: Bool.self) { group in
                        for number in start..<start + atOnce {
                            if let fault = scripts[number].connectionFault { server.failConnections(fault) }
                            let request = try Request(.post, url: server.url("/\(number)"), body: scripts[number].body)
                            let stack = bounded(HTTPStack(transport), number).retry(policy, budget: nil, random: random.next)
                            group.addTask {
                                do {
                                    let response = try await stack.send(request)
                                    seen.report("\(response.metadata.attempts)", of: "/\(number)")
                                    _ = try await response.body.collect()
                                    return true
                                } catch let error as TransportError {
                                    seen.report("\(error)", of: "/\(number)")
                                    return false
                                }
                            }
                        }
                        return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                    }
                }
                let counts = seen.counts
                for (path, count) in counts where count > 1 { Issue.record("\(path) came \(count) times; \(seen.told(of: path))") }
                return (counts.count, completed)
            }
        }
    }
}

/// How often each path came, and what the client tells of it.
private final class Seen: Sendable {
    private let state = Mutex((counts: [String: Int](), told: [String: String]()))

    var counts: [String: Int] { state.withLock { $0.counts } }
    func note(_ path: String) { state.withLock { $0.counts[path, default: 0] += 1 } }
    func report(_ text: String, of path: String) { state.withLock { $0.told[path, default: ""] += " " + text } }
    func told(of path: String) -> String { state.withLock { $0.told[path] ?? "" } }
}

/// The fault of one POST.
private struct Script: Sendable {
    let response: MockResponse
    let connectionFault: ConnectionFault?
    let body: RequestBody

    init(response: MockResponse, connectionFault: ConnectionFault?, body: RequestBody) {
        (self.response, self.connectionFault, self.body) = (response, connectionFault, body)
    }

    init(using generator: inout SeededGenerator) {
        let statuses: [HTTPResponse.Status] = [.ok, .ok, .serviceUnavailable, .tooManyRequests, .internalServerError]
        let status = statuses.randomElement(using: &generator) ?? .ok
        var response =
            Bool.random(using: &generator)
            ? MockResponse.text("some text", status: status) : .chunks([Data("some".utf8), Data("text".utf8)], status: status)
        if Int.random(in: 0..<10, using: &generator) < 7 {
            let faults = Fault.all.filter { $0 != .slowDrip } + [.slowDrip(bytes: 8, every: .milliseconds(1))]
            response = response.fault(
                faults.randomElement(using: &generator) ?? .close, at: FaultPoint.all.randomElement(using: &generator) ?? .responseStart)
        }
        response.closesConnection = Int.random(in: 0..<5, using: &generator) == 0
        self.response = response
        connectionFault = Int.random(in: 0..<6, using: &generator) == 0 ? [.close, .reset].randomElement(using: &generator) : nil
        let content = Data.seeded(Int.random(in: 1...100_000, using: &generator))
        body = Bool.random(using: &generator) ? .data(content) : .stream { _ in ScriptedBodySource(content, pieceBytes: 10_000) }
    }
}
#endif
