internal import ErrandCore

extension RetryPolicy {
    /// Returns this policy with waits that can end early. A wait ends when the device's network is available again.
    ///
    /// ```swift
    /// let gate = NetworkGate(.system)
    /// let stack = HTTPStack.default.retry(.standard.waitingForNetwork(at: gate)).waitForNetwork(upTo: .seconds(30), at: gate)
    /// ```
    ///
    /// A wait ends early if the path is not satisfied during the wait, and then becomes satisfied again. The calls at the gate, including
    /// this call, then continue in the order of their priorities. A wait can end early only if the failed attempt got no response. If there
    /// was a response, the wait has its full length, because the server may be overloaded. The number of attempts, the budget and the
    /// deadline do not change.
    ///
    /// - Parameter gate: the gate, with the monitor of the network path. Use the gate of `waitForNetwork(upTo:at:clock:)`, if the stack has
    ///   this layer.
    public func waitingForNetwork(at gate: NetworkGate) -> RetryPolicy {
        var policy = self
        policy.gate = gate
        return policy
    }

    /// Returns a closure that waits until the network is available again; `nil` if the wait after the failed attempt must have
    /// its full length.
    func wake(for request: Request, after result: Result<Response, any Error>) -> (@Sendable () async throws -> Void)? {
        guard let gate, case .failure(let error) = result, error is TransportError else { return nil }
        return { try await gate.waitForReturn(for: request) }
    }
}
