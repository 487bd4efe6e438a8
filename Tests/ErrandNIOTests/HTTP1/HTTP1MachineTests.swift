#if SWIFT_NIO
@testable import ErrandNIO
import ErrandCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct HTTP1MachineTests {
    /// A machine whose exchange has sent its head.
    private func begun(_ body: OutgoingBody.Kind = .none, closes: Bool = false, after exchanges: Int = 0) -> HTTP1Machine {
        var machine = HTTP1Machine()
        for _ in 0..<exchanges {
            expect(machine.startAttempt())
            machine.writeHead(.none, closes: false)
            expect(machine.receiveBytes())
            _ = machine.receiveHead(status: 200, isPersistent: true)
            expect(machine.receiveEnd(hasMore: false) == .reuse)
        }
        expect(machine.startAttempt())
        machine.writeHead(body, closes: closes)
        return machine
    }

    @Test func aConnectionCarriesOneExchangeAtATime() {
        var machine = begun()
        expect(!machine.startAttempt())
        expect(machine.receiveBytes())
        expect(!machine.receiveHead(status: 200, isPersistent: true))
        expect(machine.receiveEnd(hasMore: false) == .reuse)
        expect(machine.startAttempt())
        #expect(machine.exchangesStarted == 2)
    }

    @Test func aConnectionThatOneSideClosesIsNotReused() {
        var asked = begun(closes: true)
        _ = asked.receiveBytes()
        _ = asked.receiveHead(status: 200, isPersistent: true)
        expect(asked.receiveEnd(hasMore: false) == .close)
        var told = begun()
        _ = told.receiveBytes()
        _ = told.receiveHead(status: 200, isPersistent: false)
        expect(told.receiveEnd(hasMore: false) == .close)
        expect(!told.startAttempt())
    }

    @Test func bytesAfterTheEndOfAResponseEndTheConnection() {
        var machine = begun()
        _ = machine.receiveBytes()
        _ = machine.receiveHead(status: 200, isPersistent: true)
        expect(machine.receiveEnd(hasMore: true) == .close)
        #expect(machine.state == .closed)
    }

    @Test func bytesWithoutARequestAreNoResponse() {
        var idle = HTTP1Machine()
        expect(!idle.receiveBytes())
        expect(!idle.startAttempt())
        var early = HTTP1Machine()
        expect(early.startAttempt())
        expect(!early.receiveBytes())
    }

    @Test(arguments: [(199, false), (200, false), (299, false), (300, true), (413, true), (500, true)])
    func aRefusalStopsTheUpload(status: Int, stops: Bool) {
        var machine = begun(.present)
        _ = machine.receiveBytes()
        expect(machine.receiveHead(status: status, isPersistent: true) == stops)
        #expect(machine.isUploading == !stops)
        expect(machine.receiveEnd(hasMore: false) == (stops ? .close : .uploadContinues))
        guard !stops else { return }
        expect(!machine.startAttempt())
        expect(machine.finishUpload() == .reuse)
        expect(machine.startAttempt())
    }

    @Test func bytesAfterAnEarlyResponseEndTheConnection() {
        var machine = begun(.present)
        _ = machine.receiveBytes()
        _ = machine.receiveHead(status: 200, isPersistent: true)
        expect(machine.receiveEnd(hasMore: false) == .uploadContinues)
        expect(!machine.receiveBytes())
        expect(machine.finishUpload() == .close)
    }

    @Test func anUploadThatEndsBeforeTheResponseKeepsTheConnection() {
        var machine = begun(.present)
        _ = machine.receiveBytes()
        expect(!machine.receiveHead(status: 200, isPersistent: true))
        _ = machine.finishUpload()
        expect(machine.receiveEnd(hasMore: false) == .reuse)
    }

    @Test func aBodyThatWaitsFor100FollowsItOnce() {
        var machine = begun(.afterContinue)
        #expect(machine.isUploading)
        expect(machine.receiveBytes())
        expect(machine.continueUpload())
        expect(!machine.continueUpload())
        _ = machine.finishUpload()
        _ = machine.receiveHead(status: 200, isPersistent: true)
        expect(machine.receiveEnd(hasMore: false) == .reuse)
    }

    @Test func aBodyWithoutContinueIsNotSent() {
        var machine = begun(.afterContinue)
        _ = machine.receiveBytes()
        expect(machine.receiveHead(status: 200, isPersistent: true))
        expect(!machine.continueUpload())
        expect(machine.receiveEnd(hasMore: false) == .close)
    }

    // MARK: - Another protocol

    /// A machine whose exchange has changed the protocol.
    private func upgraded() -> HTTP1Machine {
        var machine = begun()
        expect(machine.receiveBytes())
        expect(machine.upgrade())
        return machine
    }

    @Test func anUpgradedConnectionTakesNoOtherExchange() {
        var machine = upgraded()
        #expect(machine.isUpgraded && !machine.isUploading)
        expect(machine.receiveBytes())
        expect(!machine.startAttempt())
        expect(machine.close() == .init(phase: .body, delivery: .sent, mayBeStale: false))
        #expect(!machine.isUpgraded)
        expect(!machine.startAttempt())
    }

    @Test func eachDirectionOfAnUpgradedConnectionEndsOnItsOwn() {
        var machine = upgraded()
        expect(!machine.inputEnds())
        expect(!machine.receiveBytes())
        #expect(!machine.endsInOrder(isSecure: false))
        expect(machine.outputEnds())
        var other = upgraded()
        expect(!other.outputEnds())
        expect(other.receiveBytes())
        #expect(other.endsInOrder(isSecure: false))
        expect(other.inputEnds())
    }

    @Test func onlyOverTLSAnEndWithoutAnErrorIsOrderly() {
        let machine = upgraded()
        #expect(machine.endsInOrder(isSecure: true))
        #expect(!machine.endsInOrder(isSecure: false))
        #expect(!begun().endsInOrder(isSecure: true))
    }

    @Test(arguments: [OutgoingBody.Kind.present, .afterContinue])
    func aRequestThatIsNotWholeCantBeUpgraded(body: OutgoingBody.Kind) {
        var machine = begun(body)
        _ = machine.receiveBytes()
        expect(!machine.upgrade())
        expect(!machine.inputEnds())
        expect(!machine.outputEnds())
        var idle = HTTP1Machine()
        expect(!idle.upgrade())
    }

    // MARK: - The position of an exchange

    @Test func aRequestThatWasNotWrittenWasNotSent() {
        var machine = HTTP1Machine()
        #expect(machine.position == nil)
        _ = machine.startAttempt()
        expect(machine.close() == .init(phase: .send, delivery: .notSent, mayBeStale: false))
        #expect(machine.state == .closed)
    }

    @Test func aHeadThatCouldNotBeWrittenWasNotSent() {
        var machine = begun(after: 1)
        machine.headHasNotLeft()
        expect(machine.close() == .init(phase: .send, delivery: .notSent, mayBeStale: true))
    }

    @Test func aByteOfTheResponseMakesTheRequestSent() {
        var machine = begun(after: 1)
        _ = machine.receiveBytes()
        machine.headHasNotLeft()
        expect(machine.close() == .init(phase: .response, delivery: .unknown, mayBeStale: false))
    }

    @Test func aSilentEndOfAReusedConnectionMayBeStale() {
        var first = begun()
        expect(first.close() == .init(phase: .response, delivery: .unknown, mayBeStale: false))
        var second = begun(after: 1)
        expect(second.close() == .init(phase: .response, delivery: .unknown, mayBeStale: true))
        var sending = begun(.present, after: 1)
        expect(sending.close() == .init(phase: .send, delivery: .unknown, mayBeStale: true))
    }

    @Test func anEndInABodyIsReportedInTheBodyPhase() {
        var machine = begun(after: 3)
        _ = machine.receiveBytes()
        _ = machine.receiveHead(status: 200, isPersistent: true)
        expect(machine.close() == .init(phase: .body, delivery: .sent, mayBeStale: false))
        expect(machine.close() == nil)
    }
}
#endif
