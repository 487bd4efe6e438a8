internal import ErrandCore
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import ErrandURLSession

/// The decisions of one request, without a session.
@Suite struct RequestTrustTests {
    private func assessment(
        host: String = "a.example", port: Int = 443, _ decision: ServerTrustPolicy.Decision = .useSession, canBeAccepted: Bool = true,
        verdict: ServerTrust.Verdict = .trusted
    ) -> ServerAssessment {
        let accept: @Sendable () -> ServerTrustPolicy.Decision = { .accept }
        return ServerAssessment(
            trust: ServerTrust(host: host, port: port, certificates: [], verdict: verdict), decision: decision,
            acceptance: canBeAccepted ? accept : nil)
    }

    /// Returns the request's decisions after the challenges 1, 2, …, about which the closure must decide.
    private func asked(_ count: Int = 1) -> RequestTrust<Int> {
        var trust = RequestTrust<Int>(about: "https://a.example")
        for challenge in 1...count {
            let step = trust.assess(assessment(), for: challenge)
            #expect(step.isQuestion)
        }
        return trust
    }

    /// The certificates of other hosts and ports, such as proxies, are no question for the request.
    @Test(arguments: [
        ("https://a.example", "a.example", 443, true), ("https://a.example", "A.example", 443, true),
        ("https://a.example", "a.example", 8443, false), ("https://a.example", "b.example", 443, false),
        ("https://a.example:8443", "a.example", 8443, true), ("https://[::1]", "::1", 443, true), ("https://[::1]", "[::1]", 443, true),
        ("https://a.example", "a b", 443, false),
    ])
    func onlyTheServerOfTheRequestIsAQuestion(server: String, host: String, port: Int, isAsked: Bool) throws {
        var trust = RequestTrust<Int>(about: try Origin(server))
        let step = trust.assess(assessment(host: host, port: port), for: 1)
        #expect(step.isQuestion == isAsked && trust.isMissing)
    }

    @Test func aRequestWithoutAClosureIsNotAsked() {
        var trust = RequestTrust<Int>(about: nil)
        let step = trust.assess(assessment(), for: 1)
        #expect(!step.isQuestion && !trust.isMissing)
    }

    @Test func aServerThatAPinRefusesIsNoQuestion() {
        var trust = RequestTrust<Int>(about: "https://a.example")
        let step = trust.assess(assessment(canBeAccepted: false), for: 1)
        #expect(!step.isQuestion && trust.isMissing)
    }

    @Test func decisionsBelongToTheChallengesInTheirOrder() {
        var trust = asked(2)
        let decisions = [ServerTrust.Choice.acceptWithoutVerification, .systemVerdict, .systemVerdict].map { trust.decide(.success($0)) }
        #expect(decisions.map { $0?.0 } == [1, 2, nil] && !trust.isMissing)
        guard case .accept? = decisions[0]?.1, case .useSession? = decisions[1]?.1 else {
            Issue.record("\(decisions)")
            return
        }
    }

    @Test(arguments: [ServerTrust.Choice.systemVerdict, .acceptWithoutVerification, .refuse(because: "unknown")])
    func onlyAnAcceptedCertificateIsEnough(decision: ServerTrust.Choice) {
        var trust = asked()
        #expect(trust.isMissing)
        _ = trust.decide(.success(decision))
        #expect(trust.isMissing == (decision == .refuse(because: "unknown")))
    }

    /// Such a server must not change the list of `hsts`.
    @Test(
        arguments: [
            (.trusted, .useSession, .acceptWithoutVerification, false), (.unchecked, .accept, .systemVerdict, true),
            (.unchecked, .accept, .acceptWithoutVerification, true),
            (.untrusted(reason: "expired"), .useSession, .acceptWithoutVerification, true),
            (.untrusted(reason: "expired"), .useSession, .systemVerdict, false),
            (.untrusted(reason: "expired"), .useSession, .refuse(because: "unknown"), false),
        ] as [(ServerTrust.Verdict, ServerTrustPolicy.Decision, ServerTrust.Choice, Bool)])
    func anAcceptedServerWithoutTrustIsUnverified(
        verdict: ServerTrust.Verdict, transport: ServerTrustPolicy.Decision, request: ServerTrust.Choice, isUnverified: Bool
    ) {
        var trust = RequestTrust<Int>(about: "https://a.example")
        _ = trust.assess(assessment(transport, verdict: verdict), for: 1)
        #expect(!trust.hasPassedUnverified)
        _ = trust.decide(.success(request))
        #expect(trust.hasPassedUnverified == isUnverified)
    }

    @Test func aFailedClosureAcceptsNothing() {
        var trust = asked()
        _ = trust.decide(.failure(CancellationError()))
        #expect(trust.isMissing)
    }

    @Test func takenQuestionsGetNoDecision() {
        var trust = asked()
        let (first, second) = (trust.takeQuestions(), trust.takeQuestions())
        #expect(first.map(\.challenge) == [1] && second.isEmpty)
        let decision = trust.decide(.success(.acceptWithoutVerification))
        #expect(decision == nil && trust.isMissing)
    }

    // MARK: The rules of a request

    @Test(
        arguments: [
            ("https://a.example/x", nil, "https://a.example"), ("https://a.example:8443/x", nil, "https://a.example:8443"),
            // The closure `configure` of the transport has changed the URL.
            ("https://a.example/x", "https://b.example/y", "https://b.example"), ("https://a.example/x", "http://a.example/", nil),
            ("http://a.example/x", nil, nil),
        ] as [(String, String?, String?)])
    func aRequestDecidesAboutTheServerOfItsURL(url: String, sent: String?, server: String?) throws {
        var request = try Request(.get, url: url)
        let sentURL = try #require(URL(string: sent ?? url))
        #expect(SessionExchange.Machine.Rules.decidedServer(of: request, at: sentURL) == nil)
        request.options.onServerTrust = { _ in .systemVerdict }
        var rules = SessionExchange.Machine.Rules(for: request)
        rules.decidedServer = SessionExchange.Machine.Rules.decidedServer(of: request, at: sentURL)
        #expect(rules.decidedServer?.description == server)
        // A connection that another request has opened was not shown to the closure.
        #expect(rules.needsOwnSession == (server != nil))
    }

    // MARK: Requests that need a session of their own

    @Test(arguments: [("POST", true), ("PATCH", true), ("GET", false), ("HEAD", false), ("PUT", false), ("DELETE", false)])
    func aRequestThatMustNotBeRepeatedSharesNoConnection(method: String, needsOwn: Bool) {
        let (linux, apple) = (SessionAbilities.linux, SessionAbilities.apple)
        #expect(linux.needsOwnSession(method, body: .none) == needsOwn && !apple.needsOwnSession(method, body: .none))
        // The session reports the sent bytes of a body.
        #expect(!linux.needsOwnSession(method, body: .inMemory) && !apple.needsOwnSession(method, body: .inMemory))
        #expect(linux.needsOwnSession(method, body: .stream) && !apple.needsOwnSession(method, body: .stream))
    }
}

extension RequestTrust.Step {
    fileprivate var isQuestion: Bool { if case .ask = self { true } else { false } }
}
