internal import ErrandCore
internal import ErrandTesting
internal import Synchronization
internal import Testing

@testable internal import ErrandURLSession

/// A task without a session. It counts its calls.
final class ScriptedDriver: SessionDriving {
    struct Calls: Sendable, Equatable {
        var resumes = 0
        var suspends = 0
        var cancels = 0
    }

    private let state = Mutex(Calls())
    private let started = FirstResult<Void>()

    var calls: Calls { state.withLock(\.self) }
    func start() async throws { try await started.wait() }

    func resume() {
        state.withLock { $0.resumes += 1 }
        started.decide(.success(()))
    }

    func suspend() { state.withLock { $0.suspends += 1 } }

    func cancel() {
        state.withLock { $0.cancels += 1 }
        started.decide(.success(()))
    }
}

/// The exchange with real continuations: a checked continuation traps if it is resumed twice.
@Suite struct ExchangeOrderTests {
    /// A weak reference to an exchange.
    private struct Weak { weak var exchange: SessionExchange? }

    private static func head() -> ReceivedHead { ReceivedHead(HTTPResponse(status: .ok), to: .get) }

    /// Runs a call, and applies the steps while the call's task runs. Returns a violation.
    private static func run(_ order: [MachineOrderTests.Step]) async throws -> String? {
        let (driver, forgotten) = (ScriptedDriver(), Counter())
        var rules = SessionExchange.Machine.Rules()
        (rules.marks.readAheadBytes, rules.marks.windowBytes) = (5, 5)
        var weak = Weak()
        do {
            let exchange = SessionExchange(try Request(.get, url: "http://a.example/"), rules: rules) { forgotten.add() }
            weak.exchange = exchange
            let call = Task {
                let response = try await exchange.run(on: driver)
                for try await _ in response.body {}
            }
            try await driver.start()
            for step in order {
                switch step {
                case .response: _ = exchange.receive(head())
                case .data: exchange.receive(Data(count: 4))
                case .suspend: await Task.yield()
                case .cancel: call.cancel()
                case .complete: exchange.complete(nil)
                case .metrics: exchange.collect(ExchangeEvent.Timings())
                case .redirect: exchange.redirect(head())
                }
            }
            _ = await call.result
            exchange.complete(nil)
        }
        let (calls, count) = (driver.calls, forgotten.value)
        if count != 1 { return "ended \(count) times" }
        if calls.cancels > 1 || calls.suspends > calls.resumes { return "\(calls)" }
        return weak.exchange == nil ? nil : "the exchange was not released"
    }

    @Test func everyOrderEndsTheCallOnce() async throws {
        let wrong = try await withThrowingTaskGroup(of: [String].self) { group in
            for part in 0..<8 {
                group.addTask {
                    var wrong: [String] = []
                    for index in stride(from: part, to: MachineOrderTests.orders.count, by: 8) {
                        let order = MachineOrderTests.orders[index]
                        if let violation = try await Self.run(order) { wrong.append("\(order): \(violation)") }
                    }
                    return wrong
                }
            }
            return try await group.reduce(into: [String]()) { $0 += $1 }
        }
        #expect(wrong.isEmpty, "\(wrong.count): \(wrong.prefix(3))")
    }
}
