#if NIO
@testable import ErrandNIO
import Testing

/// What an exchange in the queue waits for.
@Suite(.timeLimit(.minutes(5))) struct PoolWaitTests {
    final class Link: Sendable {}

    typealias Machine = PoolMachine<String, String, Link>

    private func lease(_ machine: inout Machine, _ key: String) throws -> (ticket: Machine.Ticket, work: Machine.Work) {
        let lease = machine.lease("x", for: key, lane: 3, on: nil, isFresh: false, at: .zero)
        guard case .wait(let ticket, let work) = lease else { throw CancellationError() }
        return (ticket, work)
    }

    @Test func aWaiterWaitsForItsAttemptOrForALimit() throws {
        var machine = Machine(.init(connectionsPerOrigin: 1, connections: 2, idleTime: .zero))
        let first = try lease(&machine, "a")
        let attempt = try #require(first.work.connect.first)
        let second = try lease(&machine, "a")
        _ = try lease(&machine, "b")
        let third = try lease(&machine, "c")
        let waits = [first, second, third].map { machine.wait(of: $0.ticket) }
        #expect(waits == [.attempt(attempt), .origin, .all])
        _ = machine.withdraw(second.ticket)
        let left = machine.wait(of: second.ticket)
        #expect(left == nil)
    }

    @Test func aWaiterMayWaitForAConnectionThatNobodyHasAskedFor() throws {
        var machine = Machine(.init(connectionsPerOrigin: 2, connections: 2, idleTime: .zero))
        _ = machine.preconnect(1, for: "a", at: .zero)
        let waiting = try lease(&machine, "a")
        #expect(waiting.work.connect.isEmpty)
        let wait = machine.wait(of: waiting.ticket)
        #expect(wait == .otherAttempt)
    }
}
#endif
