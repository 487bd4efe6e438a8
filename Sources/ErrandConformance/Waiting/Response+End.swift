internal import ErrandCore
internal import ErrandTesting

extension Response {
    /// Waits for the end of the exchange, and returns its outcome.
    func end() async throws -> ExchangeLifetime.Outcome {
        let exchange = exchange
        return try await withDeadline("the end of the exchange") {
            let ended = Signal()
            exchange.onEnd { _ in ended.signal() }
            try await ended.wait()
            guard let end = exchange.outcome else { throw CancellationError() }
            return end
        }
    }
}

extension ExchangeLifetime.Outcome {
    var isComplete: Bool { if case .complete = self { true } else { false } }
}
