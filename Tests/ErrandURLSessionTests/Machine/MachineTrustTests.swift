internal import ErrandCore
internal import Synchronization
internal import TestSupport
internal import Testing

@testable internal import ErrandURLSession

/// Challenges with the certificates of servers, in the machine.
@Suite struct MachineTrustTests {
    private struct Refused: Error {}

    /// Returns a task that waits for the head of its response.
    private func begun(decides: Bool = true) -> ScriptedTask {
        var task = ScriptedTask { ($0.checksServerTrust, $0.decidedServer) = (true, decides ? "https://a.example" : nil) }
        task.apply { $0.begin(1) }
        return task
    }

    private func assessment(_ decision: ServerTrustPolicy.Decision, of host: String = "a.example") -> ServerAssessment {
        ServerAssessment(
            trust: ServerTrust(host: host, port: 443, certificates: [], verdict: .trusted), decision: decision, acceptance: { .accept })
    }

    // MARK: Without a closure

    @Test(arguments: [
        (ServerTrustPolicy.Decision.useSession, ScriptedTask.Machine.TrustReply.performDefaultHandling), (.accept, .accept),
    ])
    func theRulesOfTheTransportAreTheReply(decision: ServerTrustPolicy.Decision, reply: ScriptedTask.Machine.TrustReply) {
        var task = begun(decides: false)
        task.apply { $0.assess(assessment(decision), for: 7) }
        #expect(task.replies == [7: [reply]] && task.outcome == nil)
        task.respond()
        #expect(task.count("deliverHead") == 1)
    }

    @Test(arguments: [false, true]) func aServerThatTheTransportDoesNotCheckIsUnverified(isUnchecked: Bool) {
        let task = ScriptedTask { $0.isUncheckedServer = isUnchecked }
        #expect(task.machine.serverIsUnverified == isUnchecked)
    }

    @Test func aRefusedServerFailsTheCallOnce() {
        var task = begun(decides: false)
        task.apply { $0.assess(assessment(.refuse(Refused())), for: 7) }
        // The session reports the cancelled challenge as a cancelled task.
        task.apply { $0.complete(SessionError(number: -999)) }
        #expect(task.failure?.fault == "untrustedServer" && task.heads == [1: 1] && task.count("cancelTask") == 1)
        #expect(task.replies == [7: [.cancel]])
    }

    /// The accepted connection may have carried the request.
    @Test(arguments: [ServerTrustPolicy.Decision.useSession, .accept, .refuse(Refused())])
    func anAcceptedServerMayHaveReceivedTheRequest(decision: ServerTrustPolicy.Decision) {
        let failed = Mutex<[Bool]>([])
        var machine = ScriptedTask.Machine(ScriptedTask.Machine.Rules(checksServerTrust: true)) { _, exchange in
            failed.withLock { $0.append(exchange.hasAcceptedServer) }
            return TestError()
        }
        _ = machine.begin(1)
        _ = machine.assess(assessment(decision), for: 7)
        _ = machine.complete(SessionError(number: -1004))
        var isRefused = false
        if case .refuse = decision { isRefused = true }
        #expect(failed.withLock(\.self) == [!isRefused])
    }

    // MARK: With a closure

    @Test func aRequestWithAClosureChecksTheServerEvenWithoutSettings() {
        var task = ScriptedTask { $0.decidedServer = "https://a.example" }
        task.apply { $0.begin(1) }
        #expect(task.machine.challenge(.serverTrust).0 == .checkServerTrust)
        #expect(task.machine.challenge(.credentials).0 == .performDefaultHandling)
        #expect(task.machine.challenge(.clientCertificate).0 == .performDefaultHandling)
    }

    @Test(arguments: [
        (ServerTrust.Choice.systemVerdict, ScriptedTask.Machine.TrustReply.performDefaultHandling), (.acceptWithoutVerification, .accept),
    ])
    func theReplyWaitsForTheClosure(decision: ServerTrust.Choice, reply: ScriptedTask.Machine.TrustReply) {
        var task = begun()
        task.apply { $0.assess(assessment(.useSession), for: 7) }
        #expect(task.log.last == "ask a.example" && task.replies.isEmpty)
        task.apply { $0.decide(.success(decision)) }
        #expect(task.replies == [7: [reply]] && task.outcome == nil)
        task.respond()
        task.apply { $0.complete(nil) }
        #expect(task.count("deliverHead") == 1 && task.count("end") == 1 && task.replies == [7: [reply]])
    }

    @Test(arguments: [Result<ServerTrust.Choice, any Error>.success(.refuse(because: "unknown")), .failure(Refused())])
    func aRefusalOfTheClosureFailsTheCallOnce(result: Result<ServerTrust.Choice, any Error>) {
        var task = begun()
        task.apply { $0.assess(assessment(.useSession), for: 7) }
        task.apply { $0.decide(result) }
        task.apply { $0.complete(SessionError(number: -999)) }
        #expect(task.failure?.fault == "untrustedServer" && task.heads == [1: 1] && task.count("cancelTask") == 1)
        #expect(task.replies == [7: [.cancel]])
    }

    @Test func aServerWithoutAnAcceptedCertificateGivesNoResponse() {
        var task = begun()
        let (reply, actions) = task.machine.receive(ReceivedHead(HTTPResponse(status: .ok), to: .get))
        task.apply { _ in actions }
        #expect(reply == .cancel && task.failure?.fault == "undecidedServer" && task.count("responseHead") == 0)
        #expect(task.heads == [1: 1] && task.count("cancelTask") == 1)
    }

    @Test func aServerWithoutAnAcceptedCertificateGivesNoInformationalResponse() {
        var task = begun()
        task.respond(status: 103)
        #expect(task.failure?.fault == "undecidedServer" && task.count("informationalResponse") == 0)
    }

    @Test func aServerWithoutAnAcceptedCertificateGivesNoRedirect() {
        var task = begun()
        task.apply { machine in
            machine.redirect(ReceivedHead(HTTPResponse(status: .found), to: .get))
            return []
        }
        task.apply { $0.complete(nil) }
        #expect(task.failure?.fault == "undecidedServer" && task.count("deliverHead") == 0)
    }

    /// The certificate of a proxy is judged by the transport, and is not the certificate of the server.
    @Test func anotherServerIsNoQuestion() {
        var task = begun()
        task.apply { $0.assess(assessment(.accept, of: "proxy.example"), for: 7) }
        #expect(task.replies == [7: [.accept]] && task.count("ask proxy.example") == 0)
        task.respond()
        #expect(task.failure?.fault == "undecidedServer")
    }

    @Test func severalConnectionsAreDecidedInTheirOrder() {
        var task = begun()
        for challenge in [7, 8] { task.apply { $0.assess(assessment(.useSession), for: challenge) } }
        #expect(task.count("ask a.example") == 2)
        task.apply { $0.decide(.success(.acceptWithoutVerification)) }
        #expect(task.replies == [7: [.accept]])
        task.apply { $0.decide(.success(.systemVerdict)) }
        #expect(task.replies == [7: [.accept], 8: [.performDefaultHandling]])
        task.apply { $0.decide(.success(.acceptWithoutVerification)) }
        #expect(task.replies.values.allSatisfy { $0.count == 1 })
    }

    /// The response has come from a connection whose certificate was accepted. The request does not need the other connection.
    @Test func aResponseLeavesOtherConnectionsToTheTransport() {
        var task = begun()
        let decisions: [(Int, ServerTrustPolicy.Decision)] = [(7, .useSession), (8, .accept), (9, .refuse(Refused())), (10, .useSession)]
        for (challenge, decision) in decisions { task.apply { $0.assess(assessment(decision), for: challenge) } }
        task.apply { $0.decide(.success(.systemVerdict)) }
        task.respond()
        #expect(task.replies == [7: [.performDefaultHandling], 8: [.accept], 9: [.cancel], 10: [.performDefaultHandling]])
        task.apply { $0.decide(.success(.refuse(because: "late"))) }
        task.apply { $0.complete(nil) }
        #expect(task.count("deliverHead") == 1 && task.count("end") == 1 && task.replies.values.allSatisfy { $0.count == 1 })
    }

    enum Ending: CaseIterable { case cancel, shutDown, abandon, complete, failBody }

    @Test(arguments: Ending.allCases, [false, true])
    func everyEndRepliesToWaitingChallenges(ending: Ending, begins: Bool) {
        var task = ScriptedTask { $0.decidedServer = "https://a.example" }
        if begins { task.apply { $0.begin(1) } }
        for challenge in [7, 8] { task.apply { $0.assess(assessment(.useSession), for: challenge) } }
        task.apply { machine in
            switch ending {
            case .cancel: machine.cancel()
            case .shutDown: machine.shutDown()
            case .abandon: machine.abandon()
            case .complete: machine.complete(.unknown)
            case .failBody: machine.failBody(Refused())
            }
        }
        #expect(task.replies == [7: [.cancel], 8: [.cancel]])
        let before = task.log
        task.apply { $0.decide(.success(.acceptWithoutVerification)) }
        #expect(task.log == before && task.count("forget") == 1)
        // A challenge after the end is cancelled.
        task.apply { $0.assess(assessment(.accept), for: 9) }
        #expect(task.replies[9] == [.cancel])
    }

    @Test func aChallengeAfterTheResponseIsCancelled() {
        var task = begun(decides: false)
        task.respond()
        task.apply { $0.assess(assessment(.accept), for: 7) }
        #expect(task.replies == [7: [.cancel]] && task.outcome == nil)
    }
}
