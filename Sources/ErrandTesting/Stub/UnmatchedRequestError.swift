public import ErrandCore

/// The error of a request without a matching stub.
public struct UnmatchedRequestError: RequestFailure, NumberedFailure {
    public var request: Request?
    public var attempts: [AttemptRecord] = []
    /// The stub with the most matching criteria, and the criteria that the request does not meet; `nil` if there are no stubs.
    ///
    /// For a field and a query item, the text also has the values of the request, without secrets: `header Accept: a (sent 'b')`.
    public let nearest: String?

    public var phase: ExchangePhase { .request }
    public var delivery: Delivery { attempts.delivery }

    public var description: String {
        "\(shownRequest)no stub matches; " + (nearest.map { "the nearest, \($0)" } ?? "there are none") + shownAttempts
    }

    public var failureNumber: FailureNumber { .unmatchedRequest }
    public var failureReason: String? { (nearest.map { "the nearest stub, \($0)" } ?? "there are no stubs").asSentence }
}

extension UnmatchedRequestError {
    init(_ index: Int, in state: StubTransport.State) {
        let recorded = state.requests[index]
        request = recorded.request
        let scored = zip(state.stubs, state.uses).map { (stub: $0, missed: $0.matcher.missed(by: recorded), used: $1) }
        nearest = scored.min { ($0.missed.count, $1.stub.matcher.count) < ($1.missed.count, $0.stub.matcher.count) }
            .map { nearest in
                if nearest.missed.isEmpty {
                    let used = "its \(nearest.used.counted("response")) \(nearest.used == 1 ? "is" : "are") used up"
                    let why = nearest.stub.script.isEmpty ? "it has no response" : used
                    return "'\(nearest.stub)' matches, but \(why)"
                }
                return "'\(nearest.stub)' differs in \(nearest.missed.joined(separator: ", "))"
            }
    }
}
