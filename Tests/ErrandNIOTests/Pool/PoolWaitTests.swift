#if SWIFT_NIO
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
        let other = try lease(&machine, "b")
        let third = try lease(&machine, "c")
        let waits = [first, second, third].map { machine.wait(of: $0.ticket) }
        let ofB = Machine.Attempt(key: "b", number: try #require(other.work.connect.first).number)
        let origin = Machine.Occupancy(open: 0, connecting: 1, attempt: attempt)
        #expect(waits.first == .attempt(attempt))
        #expect(waits.dropFirst().first == .origin(origin))
        let all = [attempt, ofB].map { Machine.Wait.all(.init(open: 0, connecting: 2, attempt: $0)) }
        #expect(all.contains { $0 == waits.last })
        _ = machine.withdraw(second.ticket)
        let left = machine.wait(of: second.ticket)
        #expect(left == nil)
    }

    @Test func openConnectionsAndAttemptsAreCounted() throws {
        var machine = Machine(.init(connectionsPerOrigin: 2, connections: 3, idleTime: .seconds(60)))
        let attempt = try #require(try lease(&machine, "a").work.connect.first)
        let link = Link()
        _ = machine.connected(attempt, link, on: ObjectIdentifier(link), streams: 1, at: .zero)
        _ = try lease(&machine, "a")
        let ofOrigin = try lease(&machine, "a")
        _ = try lease(&machine, "b")
        let ofAll = try lease(&machine, "c")
        let waits = [ofOrigin, ofAll].map { machine.wait(of: $0.ticket) }
        #expect(waits == [.origin(.init(open: 1, connecting: 1, attempt: nil)), .all(.init(open: 1, connecting: 2, attempt: nil))])
    }

    @Test func aWaiterCanWaitForAPreconnect() throws {
        var machine = Machine(.init(connectionsPerOrigin: 2, connections: 2, idleTime: .zero))
        let attempt = try require(machine.preconnect(1, for: "a", at: .zero).first)
        let waiting = try lease(&machine, "a")
        #expect(waiting.work.connect.isEmpty)
        let wait = machine.wait(of: waiting.ticket)
        #expect(wait == .otherAttempt(attempt))
        #expect(wait?.knownAttempt == attempt)
    }
}
#endif
