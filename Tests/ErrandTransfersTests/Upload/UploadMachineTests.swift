import ErrandCore
import Testing

@testable import ErrandTransfers

/// The order of the requests of an upload, and the end of the call, without a server.
@Suite(.timeLimit(.minutes(5))) struct UploadMachineTests {
    private func machine(
        _ uploadProtocol: UploadProtocol = .tus, at bytes: Int64? = nil, failures: Int = 2, options: UploadOptions = .standard,
        isIdempotent: Bool = false, seesInformation: Bool = true
    ) throws -> UploadMachine {
        var record = UploadResumption(uploadProtocol, target: "t", total: 100)
        if let bytes { (record.bytes, record.url) = (bytes, try HTTPURL("https://a.example/u/1")) }
        return UploadMachine(
            record, policy: TransferPolicy(maxFailures: failures, backoff: .constant(.seconds(2)), jitter: .none), options: options,
            seesInformation: seesInformation, isIdempotent: isIdempotent)
    }

    private func head(_ status: Int, _ lines: [String] = []) throws -> UploadMachine.Event {
        .head(UploadHead(response: response(status, lines), url: try HTTPURL("https://a.example/files")))
    }

    private func refusal(_ status: Int, _ lines: [String] = []) async throws -> UploadMachine.Event {
        let request = try Request(.patch, url: "https://a.example/u/1")
        let error = try await StatusError(reading: Response(head: response(status, lines), request: request))
        return .failure(error, random: 0)
    }

    private func lost(_ delivery: Delivery = .sent) -> UploadMachine.Event {
        .failure(TransportError(.connectionLost, phase: .body, message: "cut", delivery: delivery), random: 0)
    }

    private func information(
        _ url: String? = nil, offset: Int64? = nil, limits: UploadLimits = UploadLimits(), problem: UploadDecision.Reason? = nil
    ) throws -> UploadMachine.Event {
        .information(
            UploadMachine.Information(limits: limits, offset: offset, url: try url.map { try HTTPURL($0) }, problem: problem))
    }

    private let all = UploadAction.append(UploadPart(range: 0..<100, isLast: true))
    private let careful = UploadAction.create(UploadPart(range: 0..<0, isLast: false))
    private let whole = UploadAction.create(UploadPart(range: 0..<100, isLast: true))

    @Test func anUploadIsCreatedAndAppended() throws {
        var machine = try machine()
        #expect(machine.handle(.ready) == .send(careful))
        #expect(machine.handle(try head(201, ["Location: /u/1"])) == .sendAgain)
        #expect(machine.handle(.ready) == .send(all) && machine.record.url?.path == "/u/1")
        #expect(machine.handle(try head(204, ["Upload-Offset: 100"])) == .finish)
    }

    @Test func anEarlierRunIsAskedForItsOffset() throws {
        var machine = try machine(at: 70)
        #expect(machine.handle(.ready) == .send(.askOffset))
        #expect(machine.handle(try head(200, ["Upload-Offset: 30"])) == .sendAgain)
        #expect(machine.handle(.ready) == .send(.append(UploadPart(range: 30..<100, isLast: true))))
    }

    @Test func afterAFailureTheOffsetIsAskedFor() throws {
        var machine = try machine()
        _ = machine.handle(.ready)
        _ = machine.handle(try head(201, ["Location: /u/1"]))
        _ = machine.handle(.ready)
        #expect(machine.handle(lost()) == .wait(.seconds(2)))
        #expect(machine.handle(.ready) == .send(.askOffset))
        _ = machine.handle(.paused)
        #expect(machine.handle(.ready) == .send(.askOffset))
    }

    @Test func theFailuresWithoutProgressAreCounted() throws {
        var machine = try machine(at: 0)
        for expected in [UploadMachine.Action.wait(.seconds(2)), .wait(.seconds(2)), .rethrow] {
            _ = machine.handle(.ready)
            #expect(machine.handle(lost()) == expected)
        }
    }

    @Test(arguments: [423, 409, 460]) func someStatusesWait(_ status: Int) async throws {
        var machine = try machine(at: 0)
        _ = machine.handle(.ready)
        _ = machine.handle(try head(200, ["Upload-Offset: 0"]))
        _ = machine.handle(.ready)
        #expect(machine.handle(try head(status)) == .refuse(forgets: false))
        #expect(machine.handle(try await refusal(status, ["Retry-After: 9"])) == .wait(.seconds(9)))
        // A wait that is too long ends the call.
        _ = machine.handle(.ready)
        _ = machine.handle(try head(423))
        #expect(machine.handle(try await refusal(423, ["Retry-After: 99999"])) == .rethrow)
    }

    @Test(arguments: [(401, false), (403, true), (503, true), (400, false)] as [(Int, Bool)])
    func aStatusEndsTheCallOrIsTriedAgain(_ status: Int, _ continues: Bool) async throws {
        var machine = try machine(at: 0)
        _ = machine.handle(.ready)
        _ = machine.handle(try head(200, ["Upload-Offset: 0"]))
        _ = machine.handle(.ready)
        _ = machine.handle(try head(status))
        #expect(machine.handle(try await refusal(status)) == (continues ? .wait(.seconds(2)) : .rethrow))
        #expect(machine.record.canContinue)
    }

    @Test func anUnknownUploadStartsAgainFiveTimes() throws {
        var machine = try machine(at: 10)
        for count in 0...TransferBudget.maxRestarts {
            _ = machine.handle(.ready)
            let last = count == TransferBudget.maxRestarts
            #expect(machine.handle(try head(404)) == (last ? .fail(.unknownUpload) : .startAgain))
            guard !last else { break }
            #expect(machine.handle(.ready) == .send(careful) && machine.record.bytes == 0)
            _ = machine.handle(try head(201, ["Location: /u/1"]))
            _ = machine.handle(.ready)
            _ = machine.handle(.paused)
        }
    }

    @Test func informationNamesTheUpload() throws {
        var machine = try machine(.resumable())
        #expect(machine.handle(.ready) == .send(whole))
        #expect(machine.handle(try information()) == .read)
        #expect(machine.handle(try information("https://b.example/u")) == .keep)
        #expect(machine.handle(try information("https://b.example/u", offset: 40)) == .read)
        #expect(machine.record.bytes == 40 && machine.record.url?.host == "b.example")
        // An offset after the end is not believed.
        #expect(machine.handle(try information("https://b.example/u", offset: 101)) == .read && machine.record.bytes == 40)
        #expect(machine.handle(lost()) == .wait(.seconds(2)))
        #expect(machine.handle(.ready) == .send(.askOffset))
    }

    @Test func informationMayEndTheRequest() throws {
        var first = try machine(.resumable())
        _ = first.handle(.ready)
        #expect(first.handle(try information("https://a.example/u", problem: .insecureLocation)) == .fail(.insecureLocation))
        var second = try machine(.resumable())
        _ = second.handle(.ready)
        #expect(second.handle(try information("https://a.example/u", limits: UploadLimits(maxSize: 99))) == .cancel(.tooLarge))
        #expect(second.record.canContinue)
    }

    @Test(
        arguments: [
            // A POST with the whole content, whose URL is not known.
            (false, true, .sent, false), (false, false, .sent, true), (true, true, .sent, true), (false, true, .notSent, true),
            (false, true, .unknown, false),
        ] as [(Bool, Bool, Delivery, Bool)])
    func aContentIsNotProcessedTwice(_ isIdempotent: Bool, _ wasSent: Bool, _ delivery: Delivery, _ continues: Bool) throws {
        var machine = try machine(.resumable(), isIdempotent: isIdempotent)
        #expect(machine.handle(.ready) == .send(whole))
        if wasSent { _ = machine.handle(.bodyEnd) }
        #expect(machine.handle(lost(delivery)) == (continues ? .wait(.seconds(2)) : .rethrow))
    }

    @Test(arguments: [(500, []), (503, [])] as [(Int, [String])])
    func anErrorOfAWholePostIsNotTriedAgain(_ status: Int, _ lines: [String]) async throws {
        var machine = try machine(.resumable())
        _ = machine.handle(.ready)
        _ = machine.handle(.bodyEnd)
        _ = machine.handle(try head(status, lines))
        #expect(machine.handle(try await refusal(status, lines)) == .rethrow)
        var other = try self.machine(.resumable())
        _ = other.handle(.ready)
        _ = other.handle(.bodyEnd)
        _ = other.handle(try head(429))
        #expect(other.handle(try await refusal(429)) == .wait(.seconds(2)))
    }

    @Test(arguments: [true, false]) func aLostLastResponseMayHaveCompletedTheUpload(_ hasStatus: Bool) async throws {
        var machine = try machine(.resumable(), at: 0)
        _ = machine.handle(.ready)
        _ = machine.handle(try head(204, ["Upload-Offset: 0"]))
        #expect(machine.handle(.ready) == .send(all))
        _ = machine.handle(.bodyEnd)
        if hasStatus { _ = machine.handle(try head(502)) }
        _ = machine.handle(hasStatus ? try await refusal(502) : lost())
        #expect(machine.record.mayBeComplete)
        _ = machine.handle(.ready)
        #expect(machine.handle(try head(404)) == .forget(.mayBeComplete) && !machine.record.canContinue)
    }

    @Test func aFinalErrorEndsTheCallWithAnyStatus() async throws {
        var machine = try machine(.resumable(), at: 0)
        _ = machine.handle(.ready)
        _ = machine.handle(try head(204, ["Upload-Offset: 0"]))
        _ = machine.handle(.ready)
        #expect(machine.handle(try head(503, ["Upload-Complete: ?1"])) == .refuse(forgets: true))
        #expect(machine.handle(try await refusal(503)) == .rethrow && !machine.record.canContinue)
    }

    @Test func aServerThatKeepsItsOffsetEndsTheCall() throws {
        var machine = try machine(.resumable(), at: 0)
        _ = machine.handle(.ready)
        _ = machine.handle(try head(204, ["Upload-Offset: 0"]))
        for expected in [UploadMachine.Action.sendAgain, .sendAgain, .fail(.noProgress)] {
            _ = machine.handle(.ready)
            #expect(machine.handle(try head(409, ["Upload-Offset: 0"])) == expected)
        }
    }

    @Test func theLimitsOfALaterResponseApply() throws {
        var machine = try machine(.resumable(), at: 0)
        _ = machine.handle(.ready)
        _ = machine.handle(try head(204, ["Upload-Offset: 0", "Upload-Limit: max-append-size=30"]))
        #expect(machine.handle(.ready) == .send(.append(UploadPart(range: 0..<30, isLast: false))))
        #expect(machine.handle(try head(204, ["Upload-Complete: ?0"])) == .sendAgain)
        #expect(machine.handle(.ready) == .send(.append(UploadPart(range: 30..<60, isLast: false))))
    }
}
