#if SWIFT_NIO
@testable import ErrandNIO
import ErrandCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct HTTP2MachineTests {
    /// A machine whose exchanges have sent their heads.
    private func begun(_ bodies: OutgoingBody.Kind...) throws -> HTTP2Machine {
        var machine = HTTP2Machine()
        for body in bodies {
            let number = try require(machine.startStream())
            machine.writeHead(number, body)
        }
        return machine
    }

    private func error(_ body: () throws(HTTP2ResponseError) -> Void) -> HTTP2ResponseError? {
        do {
            try body()
            return nil
        } catch {
            return error
        }
    }

    // MARK: - Streams

    @Test func streamsHaveOddIdentifiersAndEndSeparately() throws {
        var machine = try begun(.none, .none, .none)
        #expect(machine.streams.keys == [1, 3, 5])
        expect(!machine.receiveHead(3, status: 200, length: nil))
        #expect(try machine.receiveEnd(3) == .complete(resets: false))
        #expect(machine.streams.keys == [1, 5])
        expect(machine.startStream() == 7)
        #expect(machine.exchangesStarted == 4)
    }

    @Test func openStreamsStayWithinTheLimitOfTheServer() throws {
        var machine = try begun(.none, .none)
        expect(machine.receiveStreamLimit(2) == 2)
        #expect(!machine.canStartStream)
        expect(machine.startStream() == nil)
        _ = machine.end(1)
        expect(machine.startStream() == 5)
        expect(machine.receiveStreamLimit(2) == nil)
        expect(machine.receiveStreamLimit(0) == 0)
        expect(machine.startStream() == nil)
        expect(machine.receiveStreamLimit(.max) == HTTP2Limits.mostStreams)
        #expect(machine.canStartStream)
    }

    @Test func theConnectionDrainsWhenItsIdentifiersAreUsedUp() {
        var machine = HTTP2Machine(firstStream: .max - 2)
        expect(machine.startStream() == .max - 2)
        #expect(machine.canStartStream)
        expect(machine.startStream() == .max)
        #expect(machine.isDraining)
        expect(machine.startStream() == nil)
    }

    // MARK: - The upload

    @Test(arguments: [(199, false), (200, false), (299, false), (300, true), (413, true), (500, true)])
    func aRefusalStopsTheUpload(status: Int, stops: Bool) throws {
        var machine = try begun(.present)
        expect(machine.receiveHead(1, status: status, length: nil) == stops)
        #expect(machine.isUploading(1) == !stops)
        #expect(try machine.receiveEnd(1) == (stops ? .complete(resets: true) : .uploadContinues))
        #expect(machine.isReceived(1) == !stops)
    }

    /// A body that waits for a window was not sent, although all of it was handed over.
    @Test(arguments: [(200, false), (299, false), (300, true), (413, true)])
    func aRefusalStopsABodyThatHasNotLeft(status: Int, stops: Bool) throws {
        var machine = try begun(.present, .present)
        machine.finishUpload(1)
        #expect(!machine.isUploading(1))
        #expect(machine.position(of: 1)?.phase == .send)
        expect(machine.receiveHead(1, status: status, length: nil) == stops)
        #expect(try machine.receiveEnd(1) == (stops ? .complete(resets: true) : .uploadContinues))
        #expect(machine.isReceived(1) == !stops)
        machine.finishUpload(3)
        machine.leave(3, ends: true)
        #expect(machine.position(of: 3)?.phase == .response)
        expect(!machine.receiveHead(3, status: status, length: nil))
        #expect(try machine.receiveEnd(3) == .complete(resets: false))
    }

    @Test func theRestOfARequestMakesProgress() throws {
        var machine = try begun(.present)
        expect(!machine.takeProgress(1))
        machine.leave(1, ends: false)
        expect(machine.takeProgress(1))
        expect(!machine.takeProgress(1))
        expect(!machine.takeProgress(99))
    }

    /// The rest gets the whole time, which begins with the end of the response.
    @Test func bytesSentBeforeTheResponseAreNoProgress() throws {
        var machine = try begun(.present)
        machine.leave(1, ends: false)
        expect(!machine.receiveHead(1, status: 200, length: nil))
        #expect(try machine.receiveEnd(1) == .uploadContinues)
        expect(!machine.takeProgress(1))
        machine.leave(1, ends: false)
        expect(machine.takeProgress(1))
    }

    /// RFC 9113, sections 6.9 and 6.9.1.
    @Test func theWindowOfACompleteRequestIsChecked() throws {
        var machine = try begun(.none, .present)
        expect(machine.receiveWindowUpdate(1, 0) == .protocolError)
        expect(machine.receiveWindowUpdate(1, Int(Int32.max)) == nil)
        expect(machine.receiveWindowUpdate(1, 1) == .flowControlError)
        expect(machine.receiveWindowUpdate(3, 0) == nil)  // by `NIOHTTP2Handler`
        machine.finishUpload(3)
        machine.leave(3, ends: true)
        expect(machine.receiveWindowUpdate(3, 0) == .protocolError)
        expect(machine.receiveWindowUpdate(5, 0) == nil)
    }

    @Test func aBodyThatTheServerDoesNotAskForIsNotSent() throws {
        var machine = try begun(.afterContinue)
        expect(machine.receiveHead(1, status: 200, length: nil))
        expect(!machine.continueUpload(1))
        #expect(try machine.receiveEnd(1) == .complete(resets: true))
    }

    /// `NIOHTTP2Handler` drops DATA of a stream whose HEADERS it holds back.
    @Test func theBodyWaitsUntilTheHeadHasLeft() throws {
        var machine = try begun(.present, .present)
        expect(!machine.open(1))
        expect(machine.startUpload(1))
        expect(!machine.startUpload(3))
        expect(machine.open(3))
        expect(!machine.open(3))
        expect(machine.startUpload(3))
        expect(!machine.open(99))
    }

    @Test func theBodyFollowsContinue() throws {
        var machine = try begun(.afterContinue)
        try machine.receiveInterim(1, status: 100, ends: false, limit: 32)
        expect(machine.continueUpload(1))
        expect(!machine.continueUpload(1))
        machine.finishUpload(1)
        machine.leave(1, ends: true)
        expect(!machine.receiveHead(1, status: 200, length: nil))
        #expect(try machine.receiveEnd(1) == .complete(resets: false))
    }

    // MARK: - Malformed responses

    @Test func interimResponsesAreChecked() throws {
        var machine = try begun(.none)
        let switching = error { () throws(HTTP2ResponseError) in try machine.receiveInterim(1, status: 101, ends: false, limit: 32) }
        #expect(switching == .switchingProtocols)
        let ending = error { () throws(HTTP2ResponseError) in try machine.receiveInterim(1, status: 103, ends: true, limit: 32) }
        #expect(ending == .interimEnds(103))
        for _ in 0..<32 { try machine.receiveInterim(1, status: 103, ends: false, limit: 32) }
        let last = error { () throws(HTTP2ResponseError) in try machine.receiveInterim(1, status: 103, ends: false, limit: 32) }
        #expect(last == .tooManyInterimResponses(limit: 32))
    }

    @Test func theBodyHasTheDeclaredLength() throws {
        var machine = try begun(.none, .none, .none, .none)
        _ = machine.receiveHead(1, status: 200, length: 5)
        try machine.receiveData(1, 3)
        let short = error { () throws(HTTP2ResponseError) in _ = try machine.receiveEnd(1) }
        #expect(short == .bodyTooShort(missingBytes: 2))
        _ = machine.receiveHead(3, status: 200, length: 5)
        let long = error { () throws(HTTP2ResponseError) in try machine.receiveData(3, 6) }
        #expect(long == .bodyTooLong)
        let early = error { () throws(HTTP2ResponseError) in try machine.receiveData(5, 1) }
        #expect(early == .dataBeforeHead)
        let ended = error { () throws(HTTP2ResponseError) in _ = try machine.receiveEnd(5) }
        #expect(ended == .dataBeforeHead)
        _ = machine.receiveHead(7, status: 200, length: 5)
        try machine.receiveData(7, 5)
        #expect(try machine.receiveEnd(7) == .complete(resets: false))
    }

    @Test func aConnectionSurvivesAHundredMalformedResponses() {
        var machine = HTTP2Machine()
        for _ in 0..<100 { expect(!machine.countMalformedResponse()) }
        expect(machine.countMalformedResponse())
    }

    // MARK: - Windows

    @Test func aWindowGrowsWhenHalfOfItIsUsedAndTheReaderWantsMore() throws {
        var machine = try begun(.none)
        machine.changeStreamWindows(by: HTTP2Limits.streamWindowBytes - HTTP2Limits.initialWindowBytes)
        let all = HTTP2Limits.streamWindowBytes
        #expect(machine.streams[1]?.windowBytes == all)
        machine.receiveWindow(1, bytes: all / 2 + 1)
        expect(machine.windowUpdate(1) == nil)
        machine.receiveWindow(1, bytes: all / 2)
        machine.holdBack(1, true)
        expect(machine.windowUpdate(1) == nil)
        machine.holdBack(1, false)
        expect(machine.windowUpdate(1) == all / 2)
        expect(machine.windowUpdate(1) == nil)
    }

    /// The acknowledgment adds to the windows: what was granted before must not count twice.
    @Test func aWindowIsSmallUntilTheSettingsAreAcknowledged() throws {
        var machine = try begun(.none)
        machine.receiveWindow(1, bytes: 1000)
        expect(machine.windowUpdate(1) == HTTP2Limits.initialWindowBytes - 1000)
        machine.changeStreamWindows(by: HTTP2Limits.streamWindowBytes - HTTP2Limits.initialWindowBytes)
        #expect(machine.streams[1]?.windowBytes == HTTP2Limits.streamWindowBytes)
    }

    @Test func theWindowOfTheConnectionDoesNotWaitForReaders() throws {
        var machine = try begun(.none)
        expect(machine.connectionWindowUpdate() == HTTP2Limits.connectionWindowBytes - 65_535)
        machine.holdBack(1, true)
        machine.receiveWindow(0, bytes: 1000)
        expect(machine.connectionWindowUpdate() == HTTP2Limits.connectionWindowBytes - 1000)
        expect(machine.connectionWindowUpdate() == nil)
    }

    // MARK: - The server's wishes

    @Test func goAwayReturnsTheStreamsThatWereNotProcessed() throws {
        var machine = try begun(.none, .none, .none)
        expect(machine.receiveGoAway(last: 1, .noError) == [3, 5])
        expect(machine.startStream() == nil)
        #expect(machine.goAwayCode == .noError)
        var graceful = try begun(.none)
        expect(graceful.receiveGoAway(last: .max, .noError) == [])
        expect(graceful.startStream() == nil)
    }

    @Test(arguments: [
        (HTTP2Code.refusedStream, HTTP2Machine.Reset.unprocessed, HTTP2Machine.Reset.failed), (.http11Required, .needsHTTP1, .failed),
        (.noError, .failed, .failed), (.cancel, .failed, .failed), (HTTP2Code(number: 2), .failed, .failed),
    ])
    func aResetIsUnprocessedOnlyBeforeTheHead(code: HTTP2Code, before: HTTP2Machine.Reset, after: HTTP2Machine.Reset) throws {
        var machine = try begun(.present)
        #expect(machine.meaning(ofReset: code, on: 1) == before)
        _ = machine.receiveHead(1, status: 200, length: nil)
        #expect(machine.meaning(ofReset: code, on: 1) == after)
        #expect(try machine.receiveEnd(1) == .uploadContinues)
        #expect(machine.meaning(ofReset: code, on: 1) == .complete)
        #expect(machine.meaning(ofReset: code, on: 99) == nil)
    }

    // MARK: - The end

    @Test func onlyAStreamKnownToTheServerIsReset() throws {
        var machine = HTTP2Machine()
        let unsent = try require(machine.startStream())
        expect(!machine.end(unsent))
        let sent = try require(machine.startStream())
        machine.writeHead(sent, .none)
        expect(machine.end(sent))
        expect(!machine.end(sent))
    }

    @Test func aResetOfASilentServerIsHeldUntilItResponds() throws {
        var machine = try begun(.none, .none, .none)
        expect(machine.receiveStreamLimit(3) == 3)
        expect(machine.cancel(1) == .ping)
        expect(machine.end(1))
        expect(machine.cancel(3) == .hold)
        expect(machine.end(3))
        #expect(!machine.canStartStream)
        machine.countFrame()
        expect(machine.cancel(5) == .none)
        let end = machine.endProbe()
        #expect(end.heldStreams == 2 && !end.isSilent)
        #expect(machine.canStartStream)
        // The next ping waits for HEADERS or DATA.
        let next = try require(machine.startStream())
        machine.writeHead(next, .none)
        expect(machine.cancel(next) == .none)
        machine.countMessageFrame()
        expect(machine.cancel(next) == .ping)
        let silent = machine.endProbe()
        #expect(silent.heldStreams == 1 && silent.isSilent)
    }

    @Test func anExchangeMayBeStaleUntilSomethingIsReceived() throws {
        var machine = try begun(.none)
        #expect(machine.position(of: 1) == ExchangePosition(phase: .response, delivery: .unknown, mayBeStale: false))
        machine.countFrame()
        _ = machine.end(1)
        let number = try require(machine.startStream())
        #expect(machine.position(of: number) == ExchangePosition(phase: .send, delivery: .notSent, mayBeStale: true))
        machine.writeHead(number, .present)
        #expect(machine.position(of: number) == ExchangePosition(phase: .send, delivery: .unknown, mayBeStale: true))
        #expect(machine.isSilent(since: number))
        machine.countFrame()
        #expect(machine.position(of: number) == ExchangePosition(phase: .send, delivery: .unknown, mayBeStale: false))
        #expect(!machine.isSilent(since: number))
        _ = machine.receiveHead(number, status: 200, length: nil)
        #expect(machine.position(of: number) == ExchangePosition(phase: .body, delivery: .sent, mayBeStale: false))
    }

    @Test(arguments: [
        (UInt32(0), "NO_ERROR"), (1, "PROTOCOL_ERROR"), (7, "REFUSED_STREAM"), (11, "ENHANCE_YOUR_CALM"), (13, "HTTP_1_1_REQUIRED"),
        (14, "0xe"), (.max, "0xffffffff"),
    ])
    func codesHaveTheirNames(number: UInt32, name: String) { #expect(HTTP2Code(number: number).description == name) }
}
#endif
