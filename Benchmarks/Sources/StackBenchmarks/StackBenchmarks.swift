import CAllocations
import ErrandCore
import ErrandMiddleware
import Foundation
import SeamCases

/// Measures the cost of the layers: time and allocations of each call, as the median of several rounds, compared with the same call without
/// them.
@main
struct StackBenchmarks {
    static func main() async throws {
        let isCheck = CommandLine.arguments.contains("--check")
        let request = try Request(.get, url: "https://a.example/")
        let bare = HTTPStack(Immediate())

        let idle = bare.wrappedEightTimes(by: Idle())
        // The same eight as nested generic types, without type erasure: the best case for the compiler.
        let nested = HTTPStack(
            Around(Around(Around(Around(Around(Around(Around(Around(Immediate())))))))))
        let off = bare.retry().validateStatus().timeout(.seconds(30)).number().server("https://a.example")
        var offRequest = request
        offRequest.options.retry = .off
        offRequest.options.validateStatus = .off
        offRequest.options.timeout = .off
        offRequest.options.number = .off
        offRequest.options.server = .off

        print("each call: median of 9 rounds of 20,000\n")
        let seam = try await measureSeam()
        if CommandLine.arguments.contains("--seam") { return }
        let base = try await measure("a stack of a transport alone") { _ = try await bare.send(request) }
        let eight = try await measure("  + eight idle middleware") { _ = try await idle.send(request) }
        let generic = try await measure("  + eight idle, as nested generics") { _ = try await nested.send(request) }
        let timeout = bare.timeout(.seconds(30))
        let timed = try await measure("  + timeout") { _ = try await timeout.send(request) }
        _ = try await measure("  + five of the library's, switched off for the request") { [offRequest] in
            _ = try await off.send(offRequest)
        }
        let working = bare.retry().validateStatus().timeout(.seconds(30)).number().server("https://a.example")
        let relative = try Request(.get, "/")
        _ = try await measure("  + the same five at work") { _ = try await working.send(relative) }

        let flow = try await measureFlow(over: bare, request, base)
        let observers = try await measureObservers(over: bare, request, base)
        let cookies = try await measureCookies()
        let hostile = try await measureHostileCookies()
        let cache = try await measureCache()

        print("\na body of 1,000 chunks, each after a turn of the executor: for each chunk\n")
        let streaming = HTTPStack(Streaming(enforcesDeadlines: true))
        let racing = HTTPStack(Streaming(enforcesDeadlines: false))
        let plain = try await measure("no deadline", calls: 10, per: 1000) { try await read(streaming, request) }
        var bounded = request
        bounded.deadline = Deadline(after: .seconds(3600))
        let enforced = try await measure("a deadline that the transport enforces", calls: 10, per: 1000) { [bounded] in
            try await read(streaming, bounded)
        }
        let raced = try await measure("a deadline that is raced for the transport", calls: 10, per: 1000) { [bounded] in
            try await read(racing, bounded)
        }

        let cost = eight.microseconds - base.microseconds
        print(
            """

            eight idle middleware: \(cost.rounded3) µs and \((eight.allocations - base.allocations).rounded3) allocations (budget 0), \
            \((eight.microseconds / generic.microseconds).rounded3) times the nested generics
            timeout: \((timed.microseconds - base.microseconds).rounded3) µs and \((timed.allocations - base.allocations).rounded3) \
            allocations (budget 10)
            observers: metrics, trace and events \(observers.all.microseconds.rounded3) µs and \(observers.all.allocations.rounded3) allocations \
            (budget 30), \((observers.all.microseconds / seam.send.microseconds).rounded3) times a call through the seam, switched off \(observers.off.microseconds.rounded3) µs and \(observers.off.allocations.rounded3) allocations (budget 0)
            the seam: stack.send \(seam.send.microseconds.rounded3) µs and \(seam.send.allocations.rounded3) allocations (budget 2), \
            APIClient.data \(seam.typed.microseconds.rounded3) µs and \(seam.typed.allocations.rounded3) (budget 8)
            cookies: a search without a cookie \(cookies.microseconds.rounded3) µs and \(cookies.allocations.rounded3) allocations (budget 0)
            a million cookies of 10,000 hosts: \(hostile.seconds.rounded3) s, \(hostile.count) cookies (budget 3,000) and \(hostile.bytes) bytes \
            (budget 8,000,000) are kept
            a cache in memory: a hit \(cache.hit.microseconds.rounded3) µs and \(cache.hit.allocations.rounded3) allocations (budget 12), \
            added to a request with no-store \(cache.unstored.microseconds.rounded3) µs and \(cache.unstored.allocations.rounded3) \
            allocations, to a request whose response is stored \(cache.stored.microseconds.rounded3) µs and \
            \(cache.stored.allocations.rounded3) allocations
            flow control, idle: \(flow.map { "\($0) \($1.microseconds.rounded3) µs" }.joined(separator: ", "))
            a deadline over a slow body: \((enforced.microseconds / plain.microseconds).rounded3) times without one where the transport \
            enforces it, \((raced.microseconds / plain.microseconds).rounded3) times where it is raced
            """)
        if isCheck {
            // Time varies on shared machines, and so does the ratio of two times. Only allocations are compared.
            // `Benchmarks/check-instructions` compares the instructions of the same calls.
            guard eight.allocations - base.allocations < 0.01, timed.allocations - base.allocations <= 10,
                seam.send.allocations <= 2.01, seam.typed.allocations <= 8.01, observers.off.allocations < 0.01,
                observers.all.allocations <= 30, cookies.allocations < 0.01,
                hostile.isWithinBudget, cache.hit.allocations <= 12.01
            else {
                print("over budget")
                // An error that is thrown here would end the process before it has written its output.
                exit(1)
            }
        }
    }

    private static func read(_ stack: HTTPStack, _ request: Request) async throws {
        for try await chunk in try await stack.send(request).body { precondition(!chunk.isEmpty) }
    }

    struct Figure {
        let microseconds: Double
        let allocations: Double

        static func - (first: Figure, second: Figure) -> Figure {
            Figure(microseconds: first.microseconds - second.microseconds, allocations: first.allocations - second.allocations)
        }
    }

    /// Runs off the main actor, as the code of servers and models does, so that `send` does not change executors.
    @concurrent static func measure(
        _ name: String, calls: Int = 20_000, per units: Int = 1, _ body: @Sendable () async throws -> Void
    ) async throws -> Figure {
        for _ in 0..<max(1, calls / 10) { try await body() }
        var times: [Double] = []
        var allocations: [Double] = []
        for _ in 0..<9 {
            let before = errand_allocation_count()
            let start = ContinuousClock.now
            for _ in 0..<calls { try await body() }
            let elapsed = start.duration(to: .now)
            allocations.append(Double(errand_allocation_count() - before) / Double(calls * units))
            times.append(elapsed / .microseconds(1) / Double(calls * units))
        }
        let figure = Figure(microseconds: times.sorted()[4], allocations: allocations.sorted()[4])
        let padded = name + String(repeating: " ", count: max(1, 60 - name.count))
        print("\(padded)\(figure.microseconds.rounded3) µs   \(figure.allocations.rounded3) allocations")
        return figure
    }
}

extension Double {
    var rounded3: Double { (self * 1000).rounded() / 1000 }
}

/// Responds immediately, from memory.
struct Immediate: HTTPSender {
    static let head = HTTPResponse(status: .ok)
    static let exchange = ExchangeLifetime(outcome: .complete)

    func send(_ request: Request) async throws -> Response {
        Response(head: Self.head, body: ResponseBody(), request: request, exchange: Self.exchange)
    }
}

struct Around<Next: HTTPSender>: HTTPSender {
    let next: Next
    init(_ next: Next) { self.next = next }
    func send(_ request: Request) async throws -> Response { try await next.send(request) }
}

/// A body of 1,000 small chunks.
struct Streaming: HTTPTransport {
    let enforcesDeadlines: Bool
    var capabilities: TransportCapabilities { enforcesDeadlines ? [.deadlines] : [] }
    func shutdown() async throws {}

    func send(_ request: Request) async throws -> Response {
        Response(head: Immediate.head, body: ResponseBody(Chunks()), request: request, exchange: Immediate.exchange)
    }

    actor Chunks: BodySource {
        private var left = 1000
        private let chunk = Data(count: 100)

        func next() async throws -> Data? {
            await Task.yield()
            left -= 1
            return left >= 0 ? chunk : nil
        }

        nonisolated func abandon() {}
    }
}
