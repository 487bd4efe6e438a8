import Errand
import ErrandTesting
import Foundation
import Logging

// The samples of the article "Getting started on a server", unchanged: `ReadmeTests` compares each sample with this file.

func makeTransport() throws -> NIOTransport {
    var configuration = NIOTransport.Configuration()
    configuration.connectTimeout = .seconds(2)
    configuration.maxConnectionsPerOrigin = 32
    return try NIOTransport(configuration)
}

func shutDown(_ transport: NIOTransport) async throws {
    try await transport.shutdown(drainingFor: .seconds(10))
}

// swift-format-ignore
func makeInventory(over transport: some HTTPTransport, logger: Logger) -> APIClient {
    APIClient(
        transport
            .metrics()
            .trace()
            .concurrencyLimit(64)
            .circuitBreaker()
            .decompress()
            .redirect()
            .retry()
            .timeout(.seconds(5))
            .log(to: logger, style: .oneLine, metadata: .all)
            .traceCall()
            .server("https://inventory.internal")
    )
}

func stock(of item: String, from inventory: APIClient, within remaining: Duration) async throws -> Int {
    let stock = Endpoint<[String: Int]>.get("/items/\(item, "item")/stock").with(\.timeout, .use(remaining))
    return try await inventory.value(stock)["count"] ?? 0
}

func guarded(_ transport: some HTTPTransport, logger: Logger) -> HTTPStack {
    let policy = CircuitBreakerPolicy(failureRatio: 0.3, minimumCalls: 50, breakTime: .seconds(10))
    let breaker = CircuitBreaker(policy) { origin, state in
        logger.warning("the circuit of \(origin) is now \(state)")
    }
    return transport.circuitBreaker(breaker).retry().timeout(.seconds(5))
}

func timeout(from settings: [String: Int]) -> Duration {
    .milliseconds(min(max(settings["timeoutMilliseconds"] ?? 5_000, 100), 60_000))
}

// swift-format-ignore
func inventoryIsAskedAgain() async throws {
    let clock = ManualClock()
    let stub = StubTransport(
        Stub(.get, "/items/{item}/stock").responds(.status(.serviceUnavailable), .json(["count": 3])))
    let inventory = APIClient(stub.retry(clock: clock).server("https://inventory.internal"))
    let count = try await clock.advancingToSleepers {
        try await stock(of: "tea", from: inventory, within: .seconds(60))
    }
    assert(count == 3 && stub.requests.count == 2)
}
