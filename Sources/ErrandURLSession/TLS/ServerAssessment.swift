internal import ErrandCore

/// The judgment of a transport's rules about the certificates of a server.
struct ServerAssessment: Sendable {
    let trust: ServerTrust
    /// The decision of the transport, without a decision of the request.
    let decision: ServerTrustPolicy.Decision
    /// Returns the decision if the request accepts the server. `nil` if a pin refuses the server. No request can change this refusal.
    let acceptance: (@Sendable () -> ServerTrustPolicy.Decision)?

    /// Returns the decision after the closure of a request has decided, or has failed.
    func decision(after result: Result<ServerTrust.Choice, any Error>) -> ServerTrustPolicy.Decision {
        switch result {
        case .success(.systemVerdict): decision
        case .success(.acceptWithoutVerification): acceptance?() ?? decision
        case .success(.refuse(let reason)): .refuse(RefusedServerError(reason: reason))
        case .failure(let error): .refuse(error)
        }
    }
}

/// The error for a certificate that the closure of a request has refused.
struct RefusedServerError: SafelyDescribedError {
    let reason: String
    var description: String { "onServerTrust refused the certificate: \(reason.shownSafely())" }
}
