import ErrandCore
import ErrandMiddleware
import Testing

@testable import ErrandAPI

@Suite(.timeLimit(.minutes(5))) struct EventStreamMachineTests {
    private typealias End = EventStreamMachine.End
    private typealias Decision = EventStreamMachine.Decision

    private func machine(_ policy: EventStreamPolicy = EventStreamPolicy(), isIdempotent: Bool = true) -> EventStreamMachine {
        EventStreamMachine(policy, isIdempotent: isIdempotent)
    }

    private static let lost = End.failed(mayBeProcessed: true, retryAfter: nil)
    private static let neverSent = End.failed(mayBeProcessed: false, retryAfter: nil)

    @Test func theWaitIsTheReconnectionTimePlusAGrowingBackoff() {
        var machine = machine()
        let waits = (1...7).map { _ in machine.endConnection(.complete, canReplay: true, random: 0.5) }
        #expect(waits == [3.5, 4, 5, 7, 11, 18, 18].map { .connect(after: .seconds($0)) })
        machine.record(lastEventID: "", reconnectionTime: .milliseconds(100))
        #expect(machine.endConnection(Self.lost, canReplay: true, random: 0) == .connect(after: .milliseconds(100)))
        machine.deliver()
        #expect(machine.endConnection(Self.lost, canReplay: true, random: 0.5) == .connect(after: .milliseconds(600)))
    }

    @Test func aWaitOverTheCapIsNotObeyed() {
        var machine = EventStreamMachine(EventStreamPolicy(maxRetryAfter: .seconds(60), backoff: .immediate), isIdempotent: true)
        let refused = End.failed(mayBeProcessed: false, retryAfter: .seconds(60))
        #expect(machine.endConnection(refused, canReplay: true, random: 0) == .connect(after: .seconds(60)))
        #expect(machine.endConnection(.failed(mayBeProcessed: false, retryAfter: .seconds(61)), canReplay: true, random: 0) == .fail)
        machine.record(lastEventID: "", reconnectionTime: .seconds(1_000_000))
        #expect(machine.endConnection(.complete, canReplay: true, random: 0) == .connect(after: .seconds(60)))
        #expect(EventStreamPolicy.standard.maxRetryAfter == .seconds(3_600))
    }

    @Test func retryAfterIsTheShortestWait() {
        var machine = machine()
        let refused = End.failed(mayBeProcessed: true, retryAfter: .seconds(60))
        #expect(machine.endConnection(refused, canReplay: true, random: 0.5) == .connect(after: .seconds(60)))
        #expect(
            machine.endConnection(.failed(mayBeProcessed: true, retryAfter: .seconds(1)), canReplay: true, random: 0)
                == .connect(after: .seconds(3)))
    }

    @Test func aWaitIsNeverLongerThanAClockCanWait() {
        var machine = machine(EventStreamPolicy(maxRetryAfter: .longest))
        machine.record(lastEventID: "", reconnectionTime: .milliseconds(Int64.max))
        #expect(machine.endConnection(.complete, canReplay: true, random: 0.9) == .connect(after: .longest))
    }

    @Test(arguments: [
        (End.noContent, Decision.finish), (.permanent, .fail), (.silent, .fail), (.complete, .connect(after: .seconds(3))),
        (lost, .connect(after: .seconds(3))), (neverSent, .connect(after: .seconds(3))),
    ])
    func theEndOfAnEmptyConnectionDecidesTheNextStep(_ end: EventStreamMachine.End, _ decision: EventStreamMachine.Decision) {
        var machine = machine()
        #expect(machine.endConnection(end, canReplay: true, random: 0) == decision)
    }

    @Test func aStreamThatBecomesSilentConnectsAgain() {
        var machine = machine()
        machine.receive()
        #expect(machine.endConnection(.silent, canReplay: true, random: 0) == .connect(after: .seconds(3)))
    }

    @Test func theConnectionsInARowWithoutAnEventAreLimited() {
        for end in [End.complete, Self.lost] {
            var machine = machine(EventStreamPolicy(maxReconnects: 2, backoff: .immediate))
            for _ in 1...2 { #expect(machine.endConnection(end, canReplay: true, random: 0) == .connect(after: .seconds(3))) }
            #expect(machine.endConnection(end, canReplay: true, random: 0) == .fail)
            machine.deliver()
            #expect(machine.endConnection(end, canReplay: true, random: 0) == .connect(after: .seconds(3)))
        }
        var never = machine(EventStreamPolicy(maxReconnects: 0))
        #expect(never.endConnection(.complete, canReplay: true, random: 0) == .finish)
        #expect(never.endConnection(Self.lost, canReplay: true, random: 0) == .fail)
    }

    @Test func aNonIdempotentRequestIsRepeatedOnlyIfThatIsSafe() {
        func decision(_ end: EventStreamMachine.End, resends: Bool = false, id: String = "", canReplay: Bool = true)
            -> EventStreamMachine.Decision
        {
            var machine = machine(EventStreamPolicy(backoff: .immediate, resendsNonIdempotent: resends), isIdempotent: false)
            machine.record(lastEventID: id, reconnectionTime: nil)
            return machine.endConnection(end, canReplay: canReplay, random: 0)
        }
        let again = Decision.connect(after: .seconds(3))
        #expect(decision(.complete) == .finish)
        #expect(decision(Self.lost) == .fail)
        #expect(decision(.failed(mayBeProcessed: true, retryAfter: .seconds(9))) == .fail)
        #expect(decision(Self.neverSent) == again)
        #expect(decision(.failed(mayBeProcessed: false, retryAfter: .seconds(9))) == .connect(after: .seconds(9)))
        #expect(decision(.failed(mayBeProcessed: false, retryAfter: .seconds(9)), canReplay: false) == .fail)
        for end in [End.complete, Self.lost] {
            #expect(decision(end, resends: true) == again)
            #expect(decision(end, id: "7") == again)
        }
        #expect(decision(.complete, resends: true, canReplay: false) == .finish)
        #expect(decision(Self.neverSent, canReplay: false) == .fail)
    }

    @Test func thePolicyDescribesItself() {
        #expect("\(EventStreamPolicy.standard)" == "reconnects after 3 s plus 1 s to 30 s, silence 5 min")
        #expect("\(EventStreamPolicy(maxReconnects: 0, silenceTimeout: nil))" == "no reconnects")
        #expect(
            "\(EventStreamPolicy(maxReconnects: 1, backoff: .immediate, jitter: .none, silenceTimeout: nil))"
                == "at most 1 reconnect without an event, after 3 s plus immediate, no jitter")
    }
}
