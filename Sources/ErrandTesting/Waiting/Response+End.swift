package import ErrandCore

extension Response {
    /// Waits for the end of the exchange, and returns its outcome.
    ///
    /// - Throws: ``WaitTimeout`` after `limit`; `CancellationError`.
    package func end(upTo limit: Duration = .seconds(30)) async throws -> ExchangeLifetime.Outcome {
        let end = FirstResult<ExchangeLifetime.Outcome>()
        exchange.onEnd { end.decide(.success($0)) }
        let timer = Task {
            try await sleepPatiently(for: limit)
            end.decide(.failure(WaitTimeout(what: "the end of the exchange", limit: limit)))
        }
        defer { timer.cancel() }
        return try await end.wait()
    }
}

/// The error of an expected step that did not happen in time.
package struct WaitTimeout: Error, CustomStringConvertible {
    let what: String
    let limit: Duration

    package init(what: String, limit: Duration) { (self.what, self.limit) = (what, limit) }

    package var description: String { "waited \(limit.inWords) for \(what)" }
}
