internal import ErrandCore

/// The decisions of one request about the certificates of its server.
///
/// `Challenge`: a challenge of the session, which waits for a reply.
struct RequestTrust<Challenge: Sendable>: Sendable {
    /// The next step for a challenge.
    enum Step: Sendable {
        /// The closure of the request decides.
        case ask(ServerTrust)
        case decided(ServerTrustPolicy.Decision)
    }

    struct Question: Sendable {
        let challenge: Challenge
        let assessment: ServerAssessment
    }

    /// The server about which the request decides. `nil` if the request does not decide about a server.
    let server: Origin?
    /// The challenges that wait for the closure, in their order.
    private var questions: [Question] = []
    private var hasPassed = false
    /// Whether a server was accepted although the system does not trust its certificates, or has not judged them.
    private(set) var hasPassedUnverified = false

    init(about server: Origin?) { self.server = server }

    /// Whether the request decides about its server, and has not accepted a certificate yet. As long as the request has accepted no
    /// certificate, a response can't come from an accepted server.
    var isMissing: Bool { server != nil && !hasPassed }

    /// Returns the next step after the transport has judged a server.
    mutating func assess(_ assessment: ServerAssessment, for challenge: Challenge) -> Step {
        // The session may also report the certificates of a proxy. If a pin refuses the server, the closure of the request is not called.
        guard let server, assessment.acceptance != nil,
            Origin(ofChallengeBy: assessment.trust.host, port: assessment.trust.port) == server
        else { return .decided(assessment.decision) }
        questions.append(Question(challenge: challenge, assessment: assessment))
        return .ask(assessment.trust)
    }

    /// Records the decision of the closure about the first waiting challenge. Returns `nil` if no challenge waits.
    mutating func decide(_ result: Result<ServerTrust.Choice, any Error>) -> (Challenge, ServerTrustPolicy.Decision)? {
        guard !questions.isEmpty else { return nil }
        let question = questions.removeFirst()
        let decision = question.assessment.decision(after: result)
        if case .refuse = decision {} else { hasPassed = true }
        if case .accept = decision, question.assessment.trust.verdict != .trusted { hasPassedUnverified = true }
        return (question.challenge, decision)
    }

    /// Returns the waiting challenges, and forgets them.
    mutating func takeQuestions() -> [Question] {
        defer { questions = [] }
        return questions
    }
}
