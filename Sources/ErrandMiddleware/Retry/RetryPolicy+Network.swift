internal import ErrandCore

extension RetryPolicy {
    /// Returns this policy with waits that end early when the network of the device returns.
    ///
    /// ```swift
    /// let gate = NetworkGate(.system)
    /// let stack = HTTPStack.default.retry(.standard.waitingForNetwork(at: gate)).waitForNetwork(upTo: .seconds(30), at: gate)
    /// ```
    ///
    /// If the path is not satisfied at any time of a wait, and then is satisfied again, the wait ends: the call continues by priority, as
    /// the other calls of the gate. The early end is used only after a failure without a response. After a status, the whole wait passes,
    /// because the server may be overloaded. The number of attempts, the budget and the deadline do not change.
    ///
    /// - Parameter gate: the gate, with the monitor of the network path. Use the gate of `waitForNetwork(upTo:at:clock:)`, if the stack has
    ///   this layer.
    public func waitingForNetwork(at gate: NetworkGate) -> RetryPolicy {
        var policy = self
        policy.gate = gate
        return policy
    }

    /// Returns a closure that returns when the network has returned after a failed attempt; `nil` if the whole wait must pass.
    func wake(for request: Request, after result: Result<Response, any Error>) -> (@Sendable () async throws -> Void)? {
        guard let gate, case .failure(let error) = result, error is TransportError else { return nil }
        return { try await gate.waitForReturn(for: request) }
    }
}
