internal import ErrandCore
internal import ErrandTesting
internal import Foundation
internal import Synchronization
internal import TestSupport
internal import Testing

@testable internal import ErrandURLSession

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Calls whose request decides about the certificates of its server, without a session.
@Suite(.timeLimit(.minutes(5))) struct ServerTrustCallTests {
    @TaskLocal static var mark = ""

    private struct Unknown: Error {}

    /// A transport whose exchanges have no session. Each exchange gets one challenge.
    private struct ChallengingTransport: HTTPTransport {
        let replies = RecordingList<URLSession.AuthChallengeDisposition>()
        var pins: CertificatePins?
        var capabilities: TransportCapabilities { .serverTrust }

        func send(_ request: Request) async throws -> Response {
            let driver = ScriptedDriver()
            var rules = SessionExchange.Machine.Rules(for: request)
            rules.decidedServer = SessionExchange.Machine.Rules.decidedServer(of: request, at: nil)
            let exchange = SessionExchange(request, rules: rules)
            async let response = exchange.run(on: driver)
            try await driver.start()
            let trust = ScriptedTrust(refusal: "expired", certificates: [ScriptedTrust.certificate(20)])
            let assessment = ServerTrustPolicy(pins: pins).assessment(of: trust, at: "a.example", port: 443)
            exchange.assess(
                assessment,
                for: TrustChallenge(credential: URLCredential(user: "", password: "", persistence: .none)) { disposition, _ in
                    replies.record(disposition)
                    switch disposition {
                    case .cancelAuthenticationChallenge: exchange.complete(SessionError(number: -999))
                    case .useCredential: _ = exchange.receive(ReceivedHead(HTTPResponse(status: .ok), to: .get))
                    default: exchange.complete(SessionError(number: -1202))
                    }
                })
            let received = try await response
            exchange.complete(nil)
            return received
        }

        func shutdown() async throws {}
    }

    private func request(_ decide: ServerTrustHandler?) throws -> Request {
        var request = try Request(.get, url: "https://a.example/")
        request.options.onServerTrust = decide
        return request
    }

    @Test func anAcceptedServerResponds() async throws {
        let transport = ChallengingTransport()
        let response = try await HTTPStack(transport).send(
            request { server in
                #expect(server.verdict == .untrusted(reason: "expired") && server.certificates == [ScriptedTrust.certificate(20)])
                return .acceptWithoutVerification
            })
        #expect(response.status == .ok && transport.replies.all == [.useCredential] && response.metadata.serverIsUnverified)
    }

    @Test func theVerdictOfTheSystemIsTheErrorOfTheSession() async throws {
        let transport = ChallengingTransport()
        let failure = try await transportError { try await HTTPStack(transport).send(request { _ in .systemVerdict }) }
        #expect(failure.code == .tls && failure.delivery == .notSent && transport.replies.all == [.performDefaultHandling])
    }

    @Test func aRefusedServerIsSentNothing() async throws {
        let transport = ChallengingTransport()
        let failure = try await transportError { try await HTTPStack(transport).send(request { _ in .refuse(because: "unknown") }) }
        #expect(failure.code == .tls && failure.delivery == .notSent && failure.phase == .connect)
        #expect(failure.message == "onServerTrust refused the certificate: unknown")
        #expect(transport.replies.all == [.cancelAuthenticationChallenge])
    }

    @Test func theErrorOfTheClosureIsTheUnderlyingError() async throws {
        let transport = ChallengingTransport()
        let failure = try await transportError { try await HTTPStack(transport).send(request { _ in throw Unknown() }) }
        #expect(failure.code == .tls && failure.delivery == .notSent && failure.underlying is Unknown)
        #expect(transport.replies.all == [.cancelAuthenticationChallenge])
    }

    @Test func aCancellationErrorOfTheClosureIsNotWrapped() async throws {
        let transport = ChallengingTransport()
        await #expect(throws: CancellationError.self) {
            try await HTTPStack(transport).send(request { _ in throw CancellationError() })
        }
        #expect(transport.replies.all == [.cancelAuthenticationChallenge])
    }

    @Test func aPinIsStrongerThanTheClosure() async throws {
        let transport = ChallengingTransport(pins: try ScriptedTrust.pins(98, 99))
        let failure = try await transportError { try await HTTPStack(transport).send(request { _ in .acceptWithoutVerification }) }
        #expect(failure.code == .tls && failure.underlying is CertificatePinError)
        #expect(transport.replies.all == [.cancelAuthenticationChallenge])
    }

    @Test func aCancelledCallCancelsItsClosure() async throws {
        let (transport, began, ended) = (ChallengingTransport(), Signal(), Signal())
        let request = try request { _ in
            began.signal()
            defer { ended.signal() }
            try await Signal().wait()
            return .acceptWithoutVerification
        }
        let call = Task { try await HTTPStack(transport).send(request) }
        try await began.wait()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(ended.hasCome && transport.replies.all == [.cancelAuthenticationChallenge])
    }

    @Test func theDeadlineEndsASlowClosure() async throws {
        let (transport, began, ended, clock) = (ChallengingTransport(), Signal(), Signal(), ManualClock())
        var request = try request { _ in
            began.signal()
            defer { ended.signal() }
            try await Signal().wait()
            return .acceptWithoutVerification
        }
        request.deadline = Deadline(after: .seconds(5), clock: clock)
        let sent = request
        let call = Task { try await HTTPStack(transport).send(sent) }
        try await began.wait()
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(5))
        let failure = try await transportError { try await call.value }
        #expect(failure.code == .timedOut && ended.hasCome && transport.replies.all == [.cancelAuthenticationChallenge])
    }

    @Test func theEndOfTheTaskCancelsTheClosure() async throws {
        let (driver, began, ended) = (ScriptedDriver(), Signal(), Signal())
        let request = try request { _ in
            began.signal()
            defer { ended.signal() }
            try await Signal().wait()
            return .acceptWithoutVerification
        }
        var rules = SessionExchange.Machine.Rules(for: request)
        rules.decidedServer = SessionExchange.Machine.Rules.decidedServer(of: request, at: nil)
        let exchange = SessionExchange(request, rules: rules)
        let call = Task { try await exchange.run(on: driver) }
        try await driver.start()
        let replies = RecordingList<URLSession.AuthChallengeDisposition>()
        exchange.assess(
            ServerTrustPolicy().assessment(of: ScriptedTrust(), at: "a.example", port: 443),
            for: TrustChallenge(credential: URLCredential(user: "", password: "", persistence: .none)) { reply, _ in
                replies.record(reply)
            })
        try await began.wait()
        exchange.complete(SessionError(number: -1005))
        let failure = try await transportError { try await call.value }
        #expect(failure.code == .connectionLost && ended.hasCome && replies.all == [.cancelAuthenticationChallenge])
    }

    @Test func theClosureRunsInATaskOfTheCall() async throws {
        let mark = Mutex("")
        let request = try request { _ in
            mark.withLock { $0 = Self.mark }
            return .acceptWithoutVerification
        }
        _ = try await Self.$mark.withValue("call") { try await HTTPStack(ChallengingTransport()).send(request) }
        #expect(mark.withLock(\.self) == "call")
    }

    @Test func aResponseWithoutAChallengeIsRefused() async throws {
        let driver = ScriptedDriver()
        let request = try request { _ in .systemVerdict }
        var rules = SessionExchange.Machine.Rules(for: request)
        rules.decidedServer = SessionExchange.Machine.Rules.decidedServer(of: request, at: nil)
        let exchange = SessionExchange(request, rules: rules)
        let call = Task { try await exchange.run(on: driver) }
        try await driver.start()
        #expect(exchange.receive(ReceivedHead(HTTPResponse(status: .ok), to: .get)) == .cancel)
        let failure = try await transportError { try await call.value }
        #expect(failure.code == .tls && failure.delivery == .unknown)
        #expect(failure.message == "the session did not show the certificate of the server, so onServerTrust was not called")
    }
}
