internal import ErrandCore
internal import ErrandTesting

extension Response {
    /// Waits for the end of the exchange, at most ``Patience/forOne``, and returns its outcome.
    func end() async throws -> ExchangeLifetime.Outcome { try await end(upTo: Patience.forOne) }
}
