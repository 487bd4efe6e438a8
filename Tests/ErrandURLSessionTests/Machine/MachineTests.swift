internal import ErrandCore
internal import Testing

@testable internal import ErrandURLSession

@Suite struct MachineTests {
    private func begun(_ change: (inout ScriptedTask.Machine.Rules) -> Void = { _ in }) -> ScriptedTask {
        var task = ScriptedTask(change)
        task.apply { $0.begin(1) }
        return task
    }

    // MARK: - The response

    @Test func aResponseComesBeforeItsBody() {
        var task = begun()
        task.respond()
        #expect(task.read(orWait: 2) == nil)
        task.apply { $0.receive(Data("abc".utf8)) }
        task.apply { $0.complete(nil) }
        #expect(
            task.log == [
                "start", "start", "requestHeadSent", "requestSent", "responseHead", "deliverHead", "responseBytesReceived 3", "deliver",
                "stopUpload", "end", "endLifetime", "forget",
            ])
    }

    @Test func aChunkBeforeTheHeadFails() {
        var task = begun()
        task.apply { $0.receive(Data("abc".utf8)) }
        #expect(task.failure?.fault == "chunkBeforeHead" && task.count("cancelTask") == 1)
    }

    @Test func anEmptyChunkIsNoChunk() {
        var task = begun()
        task.apply { $0.receive(Data()) }
        #expect(task.log == ["start", "start"])
    }

    @Test func aSecondHeadFails() {
        var task = begun()
        task.respond()
        task.respond()
        #expect(task.failure == ScriptedFailure(fault: "secondHead", phase: "body", delivery: .sent, hasHead: true))
        #expect(task.count("deliverHead") == 1 && task.count("cancelTask") == 1)
    }

    @Test func anInvalidHeadFails() {
        var task = begun()
        task.apply { $0.receive(nil).1 }
        #expect(task.failure?.fault == "invalidHead" && task.heads == [1: 1])
    }

    @Test(arguments: [100, 103, 199])
    func anInformationalHeadIsNotTheResponse(status: Int) {
        var task = begun()
        task.respond(status: status)
        #expect(task.count("informationalResponse") == 1 && task.heads.isEmpty && task.count("requestHeadSent") == 1)
        task.respond()
        #expect(task.heads == [1: 1] && task.count("requestHeadSent") == 1)
    }

    @Test func aChangeOfTheProtocolIsTheResponse() {
        var task = begun()
        task.respond(status: 101)
        #expect(task.heads == [1: 1] && task.count("informationalResponse") == 0)
    }

    @Test func aRefusedRedirectIsTheResponseEvenWithoutAHead() {
        var task = begun()
        task.apply { machine in
            machine.redirect(ReceivedHead(HTTPResponse(status: .found), to: .get))
            return []
        }
        task.apply { $0.complete(nil) }
        #expect(task.count("deliverHead") == 1 && task.count("end") == 1)
    }

    @Test(arguments: [(0, nil), (5, "droppedBody")] as [(Int, String?)])
    func aRedirectThatTheSessionHasNotReportedIsTheResponse(length: Int, fault: String?) {
        var task = begun()
        let head = ReceivedHead(HTTPResponse(status: .found, headerFields: [.contentLength: "\(length)"]), to: .get)
        task.apply { $0.complete(nil, unreported: head) }
        #expect(task.count("deliverHead") == 1 && task.failure?.fault == fault)
    }

    @Test(arguments: [nil, 200, 404]) func anEndWithoutAHeadFails(unreported status: Int?) {
        var task = begun()
        let head = status.map { ReceivedHead(HTTPResponse(status: HTTPResponse.Status(code: $0)), to: .get) }
        task.apply { $0.complete(nil, unreported: head) }
        #expect(task.failure == ScriptedFailure(fault: "noResponse", phase: "response", delivery: .unknown, hasHead: false))
        #expect(task.count("cancelTask") == 0)
    }

    // MARK: - The length of the body

    @Test func aBodyThatIsTooShortFails() {
        var task = begun()
        task.respond([.contentLength: "5"])
        task.apply { $0.receive(Data("abc".utf8)) }
        task.apply { $0.complete(nil) }
        #expect(task.failure?.fault == "bodyTooShort")
    }

    /// The server does not want the rest of the request.
    @Test func aCompleteBodyOutweighsAnErrorOfTheUpload() {
        var task = begun { $0.requestLength = 10 }
        task.apply { $0.recordSentBytes(4) }
        task.respond([.contentLength: "3"], status: 413)
        task.apply { $0.receive(Data("abc".utf8)) }
        task.apply { $0.complete(.unknown) }
        #expect(task.count("end") == 1)
    }

    @Test(arguments: [[.contentLength: "3"], [.contentLength: "3", .transferEncoding: "chunked"]] as [HTTPFields])
    func anErrorAfterABodyThatLooksCompleteIsAnError(fields: HTTPFields) {
        var task = begun()
        task.respond(fields)
        task.apply { $0.receive(Data("abc".utf8)) }
        task.apply { $0.complete(.unknown) }
        #expect(task.failure == ScriptedFailure(fault: "session", phase: "body", delivery: .sent, hasHead: true))
    }

    @Test func aTransferCodingOverridesTheLength() {
        var task = begun()
        task.respond([.contentLength: "1000", .transferEncoding: "chunked"])
        task.apply { $0.receive(Data("abc".utf8)) }
        task.apply { $0.complete(nil) }
        #expect(task.count("end") == 1)
    }

    @Test func anIncompleteBodyFailsWithTheError() {
        var task = begun()
        task.respond([.contentLength: "5"])
        task.apply { $0.receive(Data("abc".utf8)) }
        task.apply { $0.complete(.unknown) }
        #expect(task.failure == ScriptedFailure(fault: "session", phase: "body", delivery: .sent, hasHead: true))
    }

    @Test func aDecodedBodyHasNoKnownLength() {
        var task = begun()
        task.respond([.contentLength: "5", .contentEncoding: "gzip"])
        task.apply { $0.receive(Data(count: 100)) }
        task.apply { $0.complete(nil) }
        #expect(task.count("end") == 1)
    }

    // MARK: - Back-pressure

    @Test func aSlowReaderSuspendsTheTask() {
        var task = begun()
        task.respond()
        for _ in 0..<2 { task.apply { $0.receive(Data(count: 4)) } }
        #expect(task.machine.isHeldBack && task.count("adjustFlow") == 1)
        // More chunks of a suspended task are kept, and suspend nothing.
        task.apply { $0.receive(Data(count: 4)) }
        #expect(task.count("adjustFlow") == 1)
        _ = task.read()
        #expect(task.machine.isHeldBack, "8 bytes are waiting, not less than half of 5")
        _ = task.read()
        #expect(task.machine.isHeldBack, "4 bytes are waiting, not less than half of 5")
        _ = task.read()
        #expect(!task.machine.isHeldBack && task.count("adjustFlow") == 2)
    }

    @Test func fewerBytesThanTheLimitSuspendNothing() {
        var task = begun { ($0.marks.readAheadBytes, $0.marks.windowBytes) = (9, 9) }
        task.respond()
        for _ in 0..<2 { task.apply { $0.receive(Data(count: 4)) } }
        #expect(!task.machine.isHeldBack)
    }

    @Test func anUnreadBodySuspendsTheTaskAt64KiB() {
        var task = begun { $0.marks = ReadQueue.Marks() }
        task.respond()
        task.apply { $0.receive(Data(count: 64 * 1024 - 1)) }
        #expect(!task.machine.isHeldBack)
        task.apply { $0.receive(Data(count: 1)) }
        #expect(task.machine.isHeldBack)
        _ = task.read()
        #expect(!task.machine.isHeldBack)
        // After the first read, 512 KiB may wait.
        task.apply { $0.receive(Data(count: 512 * 1024 - 2)) }
        #expect(!task.machine.isHeldBack)
        task.apply { $0.receive(Data(count: 1)) }
        #expect(task.machine.isHeldBack)
    }

    @Test func anEndedTaskIsNotHeldBack() {
        var task = begun()
        task.respond()
        for _ in 0..<2 { task.apply { $0.receive(Data(count: 4)) } }
        task.apply { $0.complete(nil) }
        #expect(!task.machine.isHeldBack && task.count("adjustFlow") == 1)
        while task.read()?.isChunk == true {}
        #expect(task.deliveredBytes == 8 && task.count("adjustFlow") == 1)
    }

    @Test func aTaskThatCannotBeSuspendedIsNotSuspended() {
        var task = begun { $0.canSuspend = false }
        task.respond()
        for _ in 0..<9 { task.apply { $0.receive(Data(count: 4)) } }
        #expect(!task.machine.isHeldBack && task.count("adjustFlow") == 0)
    }

    @Test func aReaderGetsTheQueuedChunksBeforeTheFailure() {
        var task = begun()
        task.respond()
        task.apply { $0.receive(Data(count: 4)) }
        task.apply { $0.complete(.unknown) }
        #expect(task.read()?.isChunk == true)
        #expect((task.read()?.failure as? ScriptedFailure)?.fault == "session")
    }

    @Test func onlyOneReaderMayWait() {
        var task = begun()
        task.respond()
        #expect(task.read(orWait: 2) == nil)
        #expect(task.read(orWait: 3)?.failure is BodyAlreadyUsedError)
    }

    // MARK: - Cancellation

    @Test func aCallThatWasCancelledBeforeSendsNothing() {
        var task = ScriptedTask()
        task.apply { $0.cancel() }
        task.apply { $0.begin(1) }
        #expect(task.count("start") == 0 && task.heads == [1: 1] && task.log.last == "failHead" && task.count("cancelTask") == 2)
        #expect(task.count("end failed") == 0, "the exchange has no event of its start")
    }

    @Test func aCancelledWaitForTheHeadEndsOnce() {
        var task = begun()
        for _ in 0..<2 { task.apply { $0.cancel() } }
        #expect(task.failure?.fault == "cancelled" && task.heads == [1: 1] && task.count("cancelTask") == 1)
    }

    @Test func aCancelledReaderEndsOnce() {
        var task = begun()
        task.respond()
        _ = task.read(orWait: 2)
        task.apply { $0.cancel() }
        #expect(task.readers == [2: 1] && task.count("failBody") == 1)
    }

    @Test func aSuspendedTaskIsCancelled() {
        var task = begun()
        task.respond()
        for _ in 0..<2 { task.apply { $0.receive(Data(count: 4)) } }
        task.apply { $0.cancel() }
        #expect(task.read()?.failure != nil, "the queued chunks were kept")
        #expect(!task.machine.isHeldBack && task.count("cancelTask") == 1)
    }

    @Test func aCancelledReaderOfACompleteBodyFails() {
        var task = begun()
        task.respond()
        task.apply { $0.receive(Data(count: 4)) }
        task.apply { $0.complete(nil) }
        task.apply { $0.cancel() }
        #expect(task.read()?.failure is CancellationError, "missing bytes look like the end")
        #expect(task.count("endLifetime") == 1)
    }

    @Test func anAbandonedBodyCancelsTheTask() {
        var task = begun()
        task.respond()
        task.apply { $0.receive(Data(count: 4)) }
        for _ in 0..<2 { task.apply { $0.abandon() } }
        #expect(task.count("cancelTask") == 1 && task.count("endLifetime") == 1)
        #expect(task.outcome?.description == "abandoned")
    }

    @Test(arguments: [false, true])
    func aCompleteBodyWithDroppedChunksFails(hasError: Bool) {
        var task = begun()
        task.respond()
        task.apply { $0.receive(Data(count: 4)) }
        task.apply { $0.complete(nil) }
        task.apply { hasError ? $0.abandon(because: BodyAlreadyUsedError()) : $0.abandon() }
        let failure = task.read()?.failure
        #expect(hasError ? failure is BodyAlreadyUsedError : failure is CancellationError, "missing bytes look like the end")
        #expect(task.count("endLifetime") == 1)
    }

    @Test func aLaterStageFailsTheExchange() {
        var task = begun()
        task.respond()
        task.apply { $0.abandon(because: CancellationError()) }
        #expect(task.failure?.fault == "later" && task.count("cancelTask") == 1)
    }

    @Test func aShutdownFailsTheExchange() {
        var task = begun()
        task.apply { $0.shutDown() }
        #expect(task.failure?.fault == "shutDown" && task.count("cancelTask") == 1)
    }

    // MARK: - Challenges

    @Test func aChallengeBeforeTheResponseIsHandledByTheSession() {
        var task = begun()
        task.apply { machine in
            let (reply, actions) = machine.challenge(.credentials)
            #expect(reply == .performDefaultHandling)
            return actions
        }
        #expect(task.log == ["start", "start"])
    }

    @Test func aChallengeAfterTheResponseEndsTheExchange() {
        var task = begun()
        task.respond([.contentLength: "4"], status: 401)
        task.apply { $0.receive(Data(count: 4)) }
        task.apply { machine in
            let (reply, actions) = machine.challenge(.credentials)
            #expect(reply == .cancel)
            return actions
        }
        #expect(task.count("end") == 1 && task.count("cancelTask") == 1)
        #expect(task.machine.challenge(.credentials).0 == .cancel)
    }

    @Test func aChallengeInTheMiddleOfABodyFails() {
        var task = begun()
        task.respond([.contentLength: "4"], status: 401)
        task.apply { $0.challenge(.credentials).1 }
        #expect(task.failure?.fault == "bodyTooShort")
    }

    @Test(arguments: [
        (ScriptedTask.Machine.ChallengeKind.serverTrust, ScriptedTask.Machine.ChallengeReply.checkServerTrust),
        (.clientCertificate, .presentClientCertificate), (.credentials, .performDefaultHandling),
    ])
    func aTransportWithSettingsOfTLSTakesPartInChallenges(
        kind: ScriptedTask.Machine.ChallengeKind, reply: ScriptedTask.Machine.ChallengeReply
    ) {
        var plain = begun()
        #expect(plain.machine.challenge(kind).0 == .performDefaultHandling)
        var task = begun { ($0.checksServerTrust, $0.hasClientCertificate) = (true, true) }
        #expect(task.machine.challenge(kind).0 == reply)
        task.apply { $0.abandon() }
        #expect(task.machine.challenge(kind).0 == .cancel)
    }

    @Test func aWaitForANetworkIsRecordedBeforeTheResponseOnly() {
        var task = begun()
        task.apply { $0.waitsForConnectivity() }
        #expect(task.count("waitingForConnectivity") == 1)
        task.respond()
        task.apply { $0.waitsForConnectivity() }
        #expect(task.count("waitingForConnectivity") == 1)
    }

    // MARK: - The request's body

    @Test(arguments: [(false, false, true), (false, true, false), (true, false, true), (true, true, true)])
    func aBodyIsSentAgainOnlyIfItMayBe(isIdempotent: Bool, hasSentBytes: Bool, opens: Bool) {
        var task = begun {
            ($0.canRestartBody, $0.mayRepeatSentBody, $0.requestLength) = (true, isIdempotent, 10)
        }
        if hasSentBytes { task.apply { $0.recordSentBytes(1) } }
        #expect(task.machine.mayReopenBody == opens)
    }

    @Test func aOneShotBodyIsNotSentAgain() {
        let task = begun { $0.mayRepeatSentBody = true }
        #expect(!task.machine.mayReopenBody)
    }

    @Test func aBodyIsNotSentAgainAfterTheHeadOrTheEnd() {
        var task = begun { ($0.canRestartBody, $0.mayRepeatSentBody) = (true, true) }
        task.respond()
        #expect(!task.machine.mayReopenBody)
        task.apply { $0.complete(nil) }
        #expect(!task.machine.mayReopenBody)
    }

    @Test func theEndOfTheRequestIsReportedOnce() {
        var task = begun { $0.requestLength = 10 }
        for total in [4, 10, 4, 10] as [Int64] { task.apply { $0.recordSentBytes(total) } }
        task.respond()
        #expect(
            task.log.dropFirst(2) == [
                "requestHeadSent", "requestBytesSent 4", "requestBytesSent 10", "requestSent", "responseHead", "deliverHead",
            ])
    }

    @Test(arguments: [false, true])
    func theEndOfABodyWithoutALengthIsReportedOnce(readsFirst: Bool) {
        var task = begun { $0.requestLength = nil }
        task.apply { $0.recordSentBytes(4) }
        if readsFirst { task.apply { $0.readWholeBody(of: 10) } }
        #expect(task.count("requestSent") == 0)
        task.apply { $0.recordSentBytes(10) }
        if !readsFirst { task.apply { $0.readWholeBody(of: 10) } }
        #expect(task.count("requestSent") == 1)
    }

    @Test func aFailedBodyFailsTheRequest() {
        var task = begun { $0.requestLength = 10 }
        task.apply { $0.recordSentBytes(4) }
        task.apply { $0.failBody(CancellationError()) }
        #expect(task.failure == ScriptedFailure(fault: "requestBody", phase: "send", delivery: .unknown, hasHead: false))
        // The task is cancelled before the body is released. Otherwise, the session would send the end of a complete body.
        #expect(task.log.firstIndex(of: "cancelTask") ?? 99 < task.log.firstIndex(of: "stopUpload") ?? 0)
    }

    // MARK: - Before the start and after the end

    /// Otherwise, an app that has read the whole body would not find the event of the end, and the metadata of the exchange.
    @Test(arguments: [false, true])
    func aReaderSeesTheEndAfterItsEventsWereRecorded(isComplete: Bool) {
        var task = begun()
        task.respond()
        task.apply { $0.receive(Data("abc".utf8)) }
        // The actions of the end are not carried out yet.
        let actions = task.machine.complete(isComplete ? nil : .unknown)
        #expect(task.read()?.isChunk == true)
        #expect(task.read() == nil && task.read(orWait: 2) == nil && task.read(orWait: 3)?.failure is BodyAlreadyUsedError)
        task.apply { _ in actions }
        #expect(task.log.suffix(2) == ["forget", isComplete ? "endBody" : "failBody"] && task.readers == [2: 1])
        let last = task.read()
        #expect(last != nil && (last?.failure as? ScriptedFailure)?.fault == (isComplete ? nil : "session"))
    }

    @Test func aSecondPublicationOfTheEndDoesNothing() {
        var task = begun()
        task.respond()
        #expect(task.read(orWait: 2) == nil)
        task.apply { $0.publishEnd() }
        task.apply { $0.complete(nil) }
        task.apply { $0.publishEnd() }
        #expect(task.readers == [2: 1] && task.count("endBody") == 1)
    }

    @Test func aTaskThatFailsBeforeItsStartFailsTheCall() {
        var task = ScriptedTask()
        task.apply { $0.complete(.unknown) }
        task.apply { $0.begin(1) }
        #expect(task.failure == ScriptedFailure(fault: "session", phase: "queue", delivery: .notSent, hasHead: false))
        #expect(task.heads == [1: 1] && task.count("start") == 0)
    }

    @Test func callbacksAfterTheEndAreIgnored() {
        var task = begun()
        task.apply { $0.cancel() }
        let before = task.log
        task.apply { $0.receive(ReceivedHead(HTTPResponse(status: .ok), to: .get)).1 }
        task.apply { $0.receive(Data(count: 4)) }
        task.apply { $0.recordSentBytes(4) }
        task.apply { $0.readWholeBody(of: 4) }
        task.apply { $0.failBody(CancellationError()) }
        task.apply { $0.complete(nil) }
        task.apply { $0.shutDown() }
        task.apply { $0.challenge(.credentials).1 }
        #expect(task.log == before)
    }

    @Test func theTimingsComeDirectlyBeforeTheEnd() {
        var task = begun()
        task.apply { machine in
            machine.collect(ExchangeEvent.Timings())
            return []
        }
        task.respond()
        #expect(task.count("timings") == 0)
        task.apply { $0.complete(nil) }
        #expect(task.log.suffix(5) == ["stopUpload", "timings", "end", "endLifetime", "forget"])
    }

    @Test func notesFollowTheStart() {
        let task = begun { $0.notes = [ExchangeEvent.Kind("note")] }
        #expect(task.log == ["start", "note", "start"])
    }
}
