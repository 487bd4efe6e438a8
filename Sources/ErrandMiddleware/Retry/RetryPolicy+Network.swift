internal import ErrandCore

extension RetryPolicy {
    /// Returns this policy with waits that end early when the network of the device returns.
    ///
    /// ```swift
    /// let gate = NetworkGate(.system)
    /// let stack = HTTPStack.default.retry(.standard.waitingForNetwork(at: gate)).waitForNetwork(upTo: .seconds(30), at: gate)
    /// ```
    ///
    /// If the path is not satisfied at some moment of a wait, and later is satisfied again, the wait ends. Then the call continues by
    /// priority, like the other calls of the gate. A wait ends early only after a failure without a response. After a response, the whole
    /// wait passes, because the server may be overloaded. The number of attempts, the budget and the deadline do not change.
    ///
    /// - Parameter gate: the gate, with the monitor of the network path. Use the gate of `waitForNetwork(upTo:at:clock:)`, if the stack has
    ///   this layer.
    public func waitingForNetwork(at gate: NetworkGate) -> RetryPolicy {
        var policy = self
        policy.gate = gate
        return policy
    }

    /// Returns a closure that waits for the return of the network after a failed attempt; `nil` if the whole wait must pass.
    func wake(for request: Request, after result: Result<Response, any Error>) -> (@Sendable () async throws -> Void)? {
        guard let gate, case .failure(let error) = result, error is TransportError else { return nil }
        return { try await gate.waitForReturn(for: request) }
    }
}
