#if SWIFT_NIO
@testable import ErrandNIO
import ErrandTesting
import TestSupport
import Testing

/// What is known of the connections for a key: how many exchanges they take at a time, and whether another key is preferred.
@Suite(.timeLimit(.minutes(5))) struct PoolKnowledgeTests {
    typealias Link = PoolMachineTests.Link
    typealias Machine = PoolMachineTests.Machine

    private static let loopOwner = Link("loop")
    private let loop = ObjectIdentifier(loopOwner)

    /// A pool that knows nothing of its keys.
    private func machine(perOrigin: Int = 8) -> Machine {
        Machine(.init(connectionsPerOrigin: perOrigin, connections: 100, idleTime: .seconds(60), firstStreams: { _ in nil }))
    }

    private func wait(_ machine: inout Machine, _ waiter: String, _ key: String = "a") throws -> (Machine.Ticket, Machine.Work) {
        guard case .wait(let ticket, let work) = machine.lease(waiter, for: key, lane: 3, on: nil, isFresh: false, at: .zero) else {
            throw CancellationError()
        }
        return (ticket, work)
    }

    /// Several exchanges arrive at the same time. Returns the attempts that are made.
    private func burst(_ machine: inout Machine, _ count: Int, _ key: String = "a") throws -> [Machine.Attempt] {
        try (0..<count).flatMap { try wait(&machine, "x\($0)", key).1.connect }
    }

    /// The connection of an attempt is there. Returns who begins on it, and the attempts that follow.
    private func connect(
        _ machine: inout Machine, _ attempt: Machine.Attempt, _ link: Link, streams: Int
    ) throws -> (begun: Int, attempts: [Machine.Attempt]) {
        guard case .begin = machine.connected(attempt, link, on: loop, streams: streams, at: .zero) else { throw CancellationError() }
        let more = machine.beginMore(on: link, of: attempt.key, at: .zero)
        #expect(more.cancel.isEmpty)
        return (1 + more.begin.count, more.connect)
    }

    /// All exchanges of a connection end, and it closes.
    private func close(_ machine: inout Machine, _ link: Link, _ key: String = "a") {
        _ = machine.remove(link, of: key)
    }

    @Test(arguments: [
        // streams of the first connection: how many begin on it, and how many attempts follow
        (100, 20, 0), (20, 20, 0), (8, 8, 2), (1, 1, 7),
    ])
    func theFirstAttemptShowsTheNumberOfAttempts(streams: Int, begun: Int, attempts: Int) throws {
        var machine = machine()
        let first = try burst(&machine, 20)
        #expect(first.count == 1)
        let then = try connect(&machine, first[0], Link("1"), streams: streams)
        #expect(then.begun == begun)
        #expect(then.attempts.count == attempts)
    }

    @Test(arguments: [(1, 8), (10, 2), (100, 1)])
    func theStreamsOfAKeyAreRememberedAfterItsLastConnection(streams: Int, attempts: Int) throws {
        var machine = machine()
        let link = Link("1")
        _ = try connect(&machine, try burst(&machine, 1)[0], link, streams: streams)
        close(&machine, link)
        #expect(machine.groups.isEmpty)
        let again = try burst(&machine, 20)
        #expect(again.count == attempts)
    }

    /// A server may say later how many it takes.
    @Test func aChangedNumberOfStreamsIsRemembered() throws {
        var machine = machine()
        let link = Link("1")
        _ = try connect(&machine, try burst(&machine, 1)[0], link, streams: 100)
        _ = machine.setStreams(link, of: "a", to: 5, at: .zero)
        close(&machine, link)
        let again = try burst(&machine, 20)
        #expect(again.count == 4)
    }

    @Test func theMemoryIsBounded() throws {
        var machine = machine()
        for number in 0...Machine.rememberedKeys {
            let link = Link("\(number)")
            let key = "k\(number)"
            _ = try connect(&machine, try burst(&machine, 1, key)[0], link, streams: 1)
            close(&machine, link, key)
        }
        // The first key is forgotten, and the last key is not.
        let forgotten = try burst(&machine, 3, "k0")
        let known = try burst(&machine, 3, "k\(Machine.rememberedKeys)")
        #expect(forgotten.count == 1)
        #expect(known.count == 3)
    }

    /// The waiters must not fail one after the other.
    @Test func aFailedFirstAttemptGivesEachWaiterItsOwnAttempt() throws {
        var machine = machine()
        let first = try burst(&machine, 5)
        let (waiter, work) = machine.failed(first[0])
        #expect(waiter == "x0")
        #expect(work.connect.count == 4)
        for attempt in work.connect { _ = machine.failed(attempt) }
        // A failure teaches nothing.
        let again = try burst(&machine, 5)
        #expect(again.count == 1)
    }

    @Test func anAttemptContinuesForOtherWaiters() throws {
        var machine = machine()
        let (ticket, work) = try wait(&machine, "x")
        let (other, none) = try wait(&machine, "y")
        #expect(work.connect.count == 1 && none.isEmpty)
        let left = machine.withdraw(ticket)
        #expect(left?.work.cancel.isEmpty == true)
        let reason = machine.wait(of: other)
        #expect(reason == .otherAttempt(work.connect[0]))
        let last = machine.withdraw(other)
        #expect(last?.work.cancel.count == 1)
        #expect(machine.groups.isEmpty)
    }

    /// An attempt for which no exchange waits also counts as the first attempt.
    @Test func aPreconnectCountsAsTheFirstAttempt() throws {
        var machine = machine()
        let attempts = machine.preconnect(1, for: "a", at: .zero)
        #expect(attempts.count == 1)
        let more = try burst(&machine, 9)
        #expect(more.isEmpty)
        let then = try connect(&machine, attempts[0], Link("1"), streams: 1)
        #expect(then.attempts.count == 7)
    }

    @Test func aKeyIsPreferredWhileItHasConnectionsOrWaiters() throws {
        var machine = machine()
        machine.prefer("a")
        #expect(!machine.hasPreferences)  // it has none
        let link = Link("1")
        let attempt = try burst(&machine, 1)[0]
        machine.prefer("a")
        machine.prefer("a")
        let (a, b) = (machine.isPreferred("a"), machine.isPreferred("b"))
        #expect(a && !b && machine.hasPreferences)
        _ = try connect(&machine, attempt, link, streams: 1)
        guard case .idle = machine.release(link, of: "a", idleTime: .seconds(60), at: .zero) else { throw CancellationError() }
        let whileIdle = machine.isPreferred("a")
        #expect(whileIdle)
        close(&machine, link)
        #expect(!machine.hasPreferences)
    }
}
#endif
