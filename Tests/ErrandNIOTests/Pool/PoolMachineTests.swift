#if SWIFT_NIO
import ErrandCore
@testable import ErrandNIO
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct PoolMachineTests {
    final class Link: Sendable {
        let name: String
        init(_ name: String) { self.name = name }
    }

    typealias Machine = PoolMachine<String, String, Link>

    /// Two event loops.
    private static let loops = (Link("loop"), Link("other loop"))
    private let loop = ObjectIdentifier(loops.0)
    private let otherLoop = ObjectIdentifier(loops.1)

    private func machine(perOrigin: Int = 8, all: Int = 100, idle: Duration = .seconds(60)) -> Machine {
        Machine(.init(connectionsPerOrigin: perOrigin, connections: all, idleTime: idle))
    }

    private func wait(_ lease: Machine.Lease) throws -> (Machine.Ticket, Machine.Work) {
        guard case .wait(let ticket, let work) = lease else {
            Issue.record("did not wait")
            throw CancellationError()
        }
        return (ticket, work)
    }

    private func lease(
        _ machine: inout Machine, _ waiter: String, _ key: String = "a", lane: Int = 3, on loop: ObjectIdentifier? = nil,
        isFresh: Bool = false, at now: Duration = .zero
    ) -> Machine.Lease {
        machine.lease(waiter, for: key, lane: lane, on: loop, isFresh: isFresh, at: now)
    }

    /// Opens a connection for a waiter, and makes it idle.
    private func addIdle(
        _ machine: inout Machine, _ link: Link, _ key: String = "a", on loop: ObjectIdentifier? = nil, at now: Duration = .zero
    ) throws {
        let (_, work) = try wait(lease(&machine, "opener", key, isFresh: true, at: now))
        let attempt = try #require(work.connect.first)
        guard case .begin("opener") = machine.connected(attempt, link, on: loop ?? self.loop, at: now) else {
            Issue.record("the connection went to someone else")
            return
        }
        guard case .idle = machine.release(link, of: key, idleTime: .seconds(60), at: now) else {
            Issue.record("not idle")
            return
        }
    }

    // MARK: - Queued exchanges

    @Test func anAttemptIsMadeForOneExchangeWhileItWaits() throws {
        var machine = machine()
        let (ticket, work) = try wait(lease(&machine, "x"))
        let attempt = try #require(work.connect.first)
        let (_, other) = try wait(lease(&machine, "y", "b"))
        let (made, otherAttempt) = (machine.waiter(of: attempt), try #require(other.connect.first))
        #expect(made == "x")
        #expect(machine.waiter(of: otherAttempt) == "y")
        #expect(machine.waiterCounts == ["a": 1, "b": 1])
        _ = machine.withdraw(ticket)
        #expect(machine.waiter(of: attempt) == nil)
        #expect(machine.waiterCounts == ["b": 1])
    }

    // MARK: - Reuse

    @Test func theConnectionThatWasUsedLastIsUsedFirst() throws {
        var machine = machine()
        let (first, second) = (Link("1"), Link("2"))
        try addIdle(&machine, first)
        try addIdle(&machine, second)
        guard case .use(let link, closing: _) = lease(&machine, "x") else { throw CancellationError() }
        #expect(link === second)
    }

    @Test func aConnectionOfTheCallersEventLoopIsPreferred() throws {
        var machine = machine(perOrigin: 2)
        let (here, there) = (Link("here"), Link("there"))
        try addIdle(&machine, here, on: loop)
        try addIdle(&machine, there, on: otherLoop)
        guard case .use(let link, closing: _) = lease(&machine, "x", on: loop) else { throw CancellationError() }
        #expect(link === here)
        guard case .use(let rest, closing: _) = lease(&machine, "y", on: loop) else { throw CancellationError() }
        #expect(rest === there)
    }

    @Test func aConnectionOfTheCallersEventLoopIsOpenedIfThereIsRoom() throws {
        var machine = machine(perOrigin: 2)
        try addIdle(&machine, Link("there"), on: otherLoop)
        let (_, work) = try wait(lease(&machine, "x", on: loop))
        #expect(work.connect.count == 1)
        #expect(machine.idleCount == 1)
    }

    @Test func originsDoNotShareConnections() throws {
        var machine = machine()
        try addIdle(&machine, Link("1"), "a")
        let (_, work) = try wait(lease(&machine, "x", "b"))
        #expect(work.connect.map(\.key) == ["b"])
    }

    @Test func aConnectionThatWasIdleForTooLongIsClosed() throws {
        var machine = machine()
        let old = Link("old")
        try addIdle(&machine, old)
        let (_, work) = try wait(lease(&machine, "x", at: .seconds(60)))
        #expect(work.close.map(\.name) == ["old"])
        #expect(work.connect.count == 1)
        #expect(machine.total == 1)
    }

    @Test func aFreshExchangeOpensANewConnection() throws {
        var machine = machine()
        try addIdle(&machine, Link("1"))
        let (_, work) = try wait(lease(&machine, "x", isFresh: true))
        #expect(work.connect.count == 1)
    }

    @Test func aConnectionWithoutTimeToWaitIsClosed() throws {
        var machine = machine()
        let link = Link("1")
        let (_, work) = try wait(lease(&machine, "x"))
        _ = machine.connected(work.connect[0], link, on: loop, at: .zero)
        guard case .close = machine.release(link, of: "a", idleTime: .zero, at: .zero) else {
            Issue.record("kept")
            return
        }
        #expect(machine.total == 0)
    }

    // MARK: - The queue

    @Test func theQueueObeysThePriorityAndThenTheOrder() throws {
        var machine = machine(perOrigin: 1)
        let link = Link("1")
        let (_, work) = try wait(lease(&machine, "first"))
        _ = machine.connected(work.connect[0], link, on: loop, at: .zero)
        for (name, lane) in [("b", 3), ("low", 5), ("c", 3), ("urgent", 0)] {
            let (_, more) = try wait(lease(&machine, name, lane: lane))
            #expect(more.connect.isEmpty)
        }
        var served: [String] = []
        while case .begin(let next) = machine.release(link, of: "a", idleTime: .seconds(60), at: .zero) { served.append(next) }
        #expect(served == ["urgent", "b", "c", "low"])
    }

    @Test func noMoreConnectionsThanAllowedAreOpenedToOneOrigin() throws {
        var machine = machine(perOrigin: 2)
        var attempts = 0
        for index in 0..<5 { attempts += try wait(lease(&machine, "\(index)")).1.connect.count }
        #expect(attempts == 2)
        #expect(machine.waiterCount == 5)
    }

    @Test func aNewConnectionGoesToTheFirstWaiter() throws {
        var machine = machine()
        let (_, first) = try wait(lease(&machine, "first"))
        let (_, second) = try wait(lease(&machine, "second"))
        guard case .begin(let served) = machine.connected(second.connect[0], Link("2"), on: loop, at: .zero) else {
            throw CancellationError()
        }
        #expect(served == "first")
        guard case .begin(let next) = machine.connected(first.connect[0], Link("1"), on: loop, at: .zero) else { throw CancellationError() }
        #expect(next == "second")
    }

    @Test func aLeavingWaiterCancelsItsAttempt() throws {
        var machine = machine()
        let (ticket, work) = try wait(lease(&machine, "x"))
        let (waiter, left) = try require(machine.withdraw(ticket))
        #expect(waiter == "x")
        #expect(left.cancel == work.connect)
        #expect(machine.total == 0)
        expect(machine.withdraw(ticket) == nil)
        #expect(!machine.isWanted(work.connect[0]))
        // The attempt still succeeds, but no exchange needs the connection.
        guard case .refuse = machine.connected(work.connect[0], Link("1"), on: loop, at: .zero) else {
            Issue.record("kept")
            return
        }
    }

    @Test func anAttemptThatAnotherWaiterNeedsContinues() throws {
        var machine = machine(perOrigin: 1)
        let (ticket, work) = try wait(lease(&machine, "x"))
        _ = try wait(lease(&machine, "y"))
        let (_, left) = try require(machine.withdraw(ticket))
        #expect(left.cancel.isEmpty)
        guard case .begin("y") = machine.connected(work.connect[0], Link("1"), on: loop, at: .zero) else {
            Issue.record("lost")
            return
        }
    }

    // MARK: - Failures

    @Test func aFailedAttemptFailsItsOwnWaiter() throws {
        var machine = machine(perOrigin: 1)
        let (_, work) = try wait(lease(&machine, "x"))
        _ = try wait(lease(&machine, "y"))
        let (waiter, next) = machine.failed(work.connect[0])
        #expect(waiter == "x")
        // "y" had none of its own.
        #expect(next.connect.count == 1)
        let (other, rest) = machine.failed(next.connect[0])
        #expect(other == "y")
        #expect(rest.isEmpty)
        #expect(machine.total == 0)
    }

    @Test func aFailedAttemptDoesNotFailAServedWaiter() throws {
        var machine = machine()
        let (_, first) = try wait(lease(&machine, "first"))
        let (_, second) = try wait(lease(&machine, "second"))
        let link = Link("2")
        _ = machine.connected(second.connect[0], link, on: loop, at: .zero)
        // "first" has the connection, and "second" still waits for the other attempt, which was made for "first".
        let (waiter, work) = machine.failed(first.connect[0])
        #expect(waiter == nil)
        #expect(work.connect.count == 1)
    }

    @Test func aLostConnectionMakesRoomForAnotherConnection() throws {
        var machine = machine(perOrigin: 1)
        let link = Link("1")
        let (_, work) = try wait(lease(&machine, "x"))
        _ = machine.connected(work.connect[0], link, on: loop, at: .zero)
        _ = try wait(lease(&machine, "y"))
        expect(machine.remove(link, of: "a").connect.count == 1)
    }

    // MARK: - All origins together

    @Test func anIdleConnectionOfAnotherOriginMakesRoom() throws {
        var machine = machine(all: 2)
        let (old, newer) = (Link("old"), Link("newer"))
        try addIdle(&machine, old, "a", at: .zero)
        try addIdle(&machine, newer, "b", at: .seconds(1))
        let (_, work) = try wait(lease(&machine, "x", "c", at: .seconds(2)))
        #expect(work.close.map(\.name) == ["old"])
        #expect(work.connect.map(\.key) == ["c"])
        #expect(machine.total == 2)
        #expect(Set(machine.groups.keys) == ["b", "c"], "an origin without connections and waiters is forgotten")
    }

    @Test func aWaiterGetsRoomFromAnyOrigin() throws {
        var machine = machine(all: 1)
        let link = Link("a")
        let (_, work) = try wait(lease(&machine, "x", "a"))
        _ = machine.connected(work.connect[0], link, on: loop, at: .zero)
        let (_, none) = try wait(lease(&machine, "y", "b"))
        #expect(none.isEmpty)
        guard case .close(let next) = machine.release(link, of: "a", idleTime: .seconds(60), at: .zero) else {
            Issue.record("kept although another origin waits")
            return
        }
        #expect(next.connect.map(\.key) == ["b"])
    }

    @Test func aWaiterThatLeftNeedsNoRoom() throws {
        var machine = machine(all: 1)
        let link = Link("a")
        let (_, work) = try wait(lease(&machine, "x", "a"))
        _ = machine.connected(work.connect[0], link, on: loop, at: .zero)
        for number in 0..<100 {
            let (ticket, _) = try wait(lease(&machine, "y", "b\(number % 2)"))
            #expect(machine.starved.count == 1)
            _ = machine.withdraw(ticket)
            #expect(machine.starved.count == 0)
        }
        guard case .idle = machine.release(link, of: "a", idleTime: .seconds(60), at: .zero) else {
            Issue.record("closed although nobody waits")
            return
        }
    }

    @Test func aServedWaiterNeedsNoRoom() throws {
        var machine = machine(all: 2)
        let links = ["a": Link("a"), "b": Link("b")]
        for (key, link) in links {
            let (_, work) = try wait(lease(&machine, "x", key))
            _ = machine.connected(work.connect[0], link, on: loop, at: .zero)
        }
        _ = try wait(lease(&machine, "y", "b"))
        guard let a = links["a"], let b = links["b"],
            case .begin("y") = machine.release(b, of: "b", idleTime: .seconds(60), at: .zero),
            case .idle = machine.release(a, of: "a", idleTime: .seconds(60), at: .zero)
        else {
            Issue.record("closed although nobody waits")
            return
        }
        #expect(machine.starved.count == 0)
    }

    @Test func anUnusedPreconnectionMakesRoom() throws {
        var machine = machine(all: 1)
        let attempt = try require(machine.preconnect(1, for: "a", at: .zero).first)
        _ = try wait(lease(&machine, "x", "b"))
        guard case .close(let work) = machine.connected(attempt, Link("a"), on: loop, at: .zero) else {
            Issue.record("kept although another origin waits")
            return
        }
        #expect(work.connect.map(\.key) == ["b"])
        #expect(machine.total == 1)
    }

    // MARK: - Many

    enum Ending: CaseIterable { case closed, failed, withdrawn }

    @Test(arguments: Ending.allCases) func theTimePerWaiterDoesNotGrow(_ ending: Ending) {
        let growth = growth(of: 100, by: 24, making: { $0 }) { count in
            var machine = machine(perOrigin: ending == .withdrawn ? count : 8, all: count)
            var attempts: [Machine.Attempt] = []
            var tickets: [Machine.Ticket] = []
            for _ in 0..<count {
                guard case .wait(let ticket, let work) = lease(&machine, "x") else { continue }
                tickets.append(ticket)
                attempts += work.connect
            }
            if ending == .withdrawn { for ticket in tickets { _ = machine.withdraw(ticket) } }
            while ending != .withdrawn, let attempt = attempts.popLast() {
                if ending == .failed {
                    attempts += machine.failed(attempt).work.connect
                } else {
                    let link = Link("1")
                    _ = machine.connected(attempt, link, on: loop, at: .zero)
                    attempts += machine.remove(link, of: "a").connect
                }
            }
            expect(machine.waiterCount == 0)
        }
        #expect(growth < 80, "quadratic work grows 576 times")
    }

    // MARK: - The end

    @Test func noExchangeStartsAfterShutdown() throws {
        var machine = machine()
        try addIdle(&machine, Link("idle"))
        let (_, work) = try wait(lease(&machine, "x", isFresh: true))
        let (waiters, end) = machine.shutDown()
        #expect(waiters == ["x"])
        #expect(end.close.map(\.name) == ["idle"])
        #expect(end.cancel == work.connect)
        guard case .shutDown = lease(&machine, "y") else {
            Issue.record("began")
            return
        }
        guard case .refuse = machine.connected(work.connect[0], Link("late"), on: loop, at: .zero) else {
            Issue.record("kept")
            return
        }
        #expect(machine.total == 0)
    }

    @Test func aConnectionInUseIsClosedAfterItsExchangeWhenShutDown() throws {
        var machine = machine()
        let link = Link("1")
        let (_, work) = try wait(lease(&machine, "x"))
        _ = machine.connected(work.connect[0], link, on: loop, at: .zero)
        _ = machine.shutDown()
        guard case .close = machine.release(link, of: "a", idleTime: .seconds(60), at: .zero) else {
            Issue.record("kept")
            return
        }
        #expect(machine.total == 0)
    }

    // MARK: - Connections that no exchange has asked for

    @Test(arguments: [
        // count, idle, waiting, per origin, in all: opened
        (1, 0, 0, 8, 100, 1), (3, 0, 0, 8, 100, 3), (3, 2, 0, 8, 100, 1), (2, 2, 0, 8, 100, 0), (0, 0, 0, 8, 100, 0), (-1, 0, 0, 8, 100, 0),
        // A waiter's attempt is not spare.
        (1, 0, 1, 8, 100, 1), (2, 0, 2, 8, 100, 2),
        (5, 0, 0, 3, 100, 3), (5, 2, 0, 3, 100, 1), (5, 0, 2, 3, 100, 1), (5, 0, 0, 8, 4, 4), (5, 0, 0, 1, 0, 0),
    ])
    func onlyTheMissingConnectionsAreOpened(
        count: Int, idle: Int, waiting: Int, perOrigin: Int, all: Int, opened: Int
    ) throws {
        var machine = machine(perOrigin: perOrigin, all: all)
        for number in 0..<idle { try addIdle(&machine, Link("\(number)")) }
        for number in 0..<waiting { _ = try wait(lease(&machine, "\(number)", isFresh: true)) }
        let missing = machine.preconnect(count, for: "a", at: .zero)
        #expect(missing.count == opened)
        #expect(machine.total == idle + waiting + opened)
        let again = machine.preconnect(count, for: "a", at: .zero)
        #expect(again.isEmpty)
    }

    @Test func aConnectionThatWasIdleForTooLongDoesNotCount() throws {
        var machine = machine()
        try addIdle(&machine, Link("old"))
        let attempts = machine.preconnect(1, for: "a", at: .seconds(61))
        #expect(attempts.count == 1)
    }

    @Test func anUnusedPreconnectionStaysIdle() throws {
        var machine = machine()
        let attempt = try require(machine.preconnect(1, for: "a", at: .zero).first)
        let link = Link("1")
        guard case .idle = machine.connected(attempt, link, on: loop, at: .zero) else { throw CancellationError() }
        guard case .use(let used, closing: _) = lease(&machine, "x") else { throw CancellationError() }
        #expect(used === link)
    }

    @Test func aWaiterUsesTheConnectionThatIsBeingOpened() throws {
        var machine = machine()
        let attempt = try require(machine.preconnect(1, for: "a", at: .zero).first)
        let (_, work) = try wait(lease(&machine, "x"))
        #expect(work.isEmpty)
        guard case .begin("x") = machine.connected(attempt, Link("1"), on: loop, at: .zero) else { throw CancellationError() }
    }

    @Test func aLeavingWaiterDoesNotEndAPreconnect() throws {
        var machine = machine()
        let attempt = try require(machine.preconnect(1, for: "a", at: .zero).first)
        let (shared, _) = try wait(lease(&machine, "x"))
        let (_, work) = try require(machine.withdraw(shared))
        #expect(work.isEmpty)
        let (own, ownWork) = try wait(lease(&machine, "y"))
        let (_, other) = try wait(lease(&machine, "z"))
        #expect(ownWork.isEmpty)
        #expect(other.connect.count == 1)
        // There are two attempts. The remaining waiter needs only one attempt.
        let (_, rest) = try require(machine.withdraw(own))
        #expect(rest.isEmpty)
        let last = try wait(lease(&machine, "w")).1
        #expect(last.isEmpty)
        let kept = machine.withdraw(attempt)
        #expect(kept.isEmpty)
        #expect(machine.total == 2)
    }

    @Test func aFailedPreconnectGivesTheWaiterItsOwnAttempt() throws {
        var machine = machine()
        let attempt = try require(machine.preconnect(1, for: "a", at: .zero).first)
        _ = lease(&machine, "x")
        let (failed, work) = machine.failed(attempt)
        #expect(failed == nil)
        #expect(work.connect.count == 1)
        let (other, _) = machine.failed(try #require(work.connect.first))
        #expect(other == "x")
        #expect(machine.total == 0)
    }

    @Test func anUnwantedPreconnectEnds() throws {
        var machine = machine(all: 1)
        let attempt = try require(machine.preconnect(1, for: "a", at: .zero).first)
        let (_, starved) = try wait(lease(&machine, "x", "b"))
        #expect(starved.isEmpty)
        let work = machine.withdraw(attempt)
        #expect(work.cancel == [attempt])
        #expect(work.connect.map(\.key) == ["b"])
        let again = machine.withdraw(attempt)
        #expect(again.isEmpty)
        guard case .refuse = machine.connected(attempt, Link("1"), on: loop, at: .zero) else { throw CancellationError() }
    }

    @Test func afterShutdownNoConnectionIsOpened() throws {
        var machine = machine()
        let attempts = machine.preconnect(2, for: "a", at: .zero)
        let (_, work) = machine.shutDown()
        #expect(Set(work.cancel) == Set(attempts))
        let late = machine.preconnect(1, for: "a", at: .zero)
        #expect(late.isEmpty)
        #expect(machine.total == 0)
    }

    // MARK: - Chance

    @Test(arguments: 0..<40) func everyOrderOfEventsKeepsTheLimits(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let (perOrigin, all) = (Int.random(in: 1...4, using: &random), Int.random(in: 1...8, using: &random))
        var machine = machine(perOrigin: perOrigin, all: all, idle: .seconds(5))
        let keys = ["a", "b", "c"]
        var (now, next) = (Duration.zero, 0)
        var attempts: Set<Machine.Attempt> = []
        var preconnects: [Machine.Attempt] = []
        var busy: [(Link, String)] = []
        var idle: [(Link, String)] = []
        var tickets: [String: Machine.Ticket] = [:]
        var served: Set<String> = []

        func serve(_ waiter: String) {
            expect(served.insert(waiter).inserted)
            tickets[waiter] = nil
        }
        func perform(_ work: Machine.Work) {
            for attempt in work.connect { expect(attempts.insert(attempt).inserted) }
            for attempt in work.cancel { attempts.remove(attempt) }
            for link in work.close { idle.removeAll { $0.0 === link } }
        }

        for _ in 0..<2_000 {
            now += .milliseconds(Int.random(in: 0...500, using: &random))
            switch Int.random(in: 0..<9, using: &random) {
            case 8:
                let wanted = machine.preconnect(
                    Int.random(in: 0...3, using: &random), for: keys.randomElement(using: &random) ?? "a", at: now)
                for attempt in wanted { expect(attempts.insert(attempt).inserted) }
                preconnects += wanted
                if Bool.random(using: &random), let attempt = preconnects.popLast() { perform(machine.withdraw(attempt)) }
            case 0, 1, 2:
                next += 1
                let key = keys.randomElement(using: &random) ?? "a"
                let lease = machine.lease(
                    "\(next)", for: key, lane: Int.random(in: 0...7, using: &random), on: loop,
                    isFresh: Int.random(in: 0..<9, using: &random) == 0, at: now)
                switch lease {
                case .use(let link, closing: let closing):
                    for stale in closing { idle.removeAll { $0.0 === stale } }
                    #expect(idle.contains { $0.0 === link && $0.1 == key })
                    idle.removeAll { $0.0 === link }
                    busy.append((link, key))
                    serve("\(next)")
                case .wait(let ticket, let work):
                    tickets["\(next)"] = ticket
                    perform(work)
                case .shutDown: Issue.record("shut down")
                }
            case 3, 4:
                guard let attempt = attempts.randomElement(using: &random) else { continue }
                attempts.remove(attempt)
                let link = Link("\(attempt.number)")
                switch machine.connected(attempt, link, on: loop, at: now) {
                case .begin(let waiter):
                    serve(waiter)
                    busy.append((link, attempt.key))
                case .idle: idle.append((link, attempt.key))
                case .close(let work): perform(work)
                case .refuse: Issue.record("refused")
                }
            case 5:
                guard let attempt = attempts.randomElement(using: &random) else { continue }
                attempts.remove(attempt)
                let (waiter, work) = machine.failed(attempt)
                if let waiter { serve(waiter) }
                perform(work)
            case 6:
                guard !busy.isEmpty else { continue }
                let (link, key) = busy.remove(at: Int.random(in: busy.indices, using: &random))
                if Bool.random(using: &random) {
                    perform(machine.remove(link, of: key))
                    continue
                }
                switch machine.release(link, of: key, idleTime: .seconds(5), at: now) {
                case .begin(let waiter):
                    serve(waiter)
                    busy.append((link, key))
                case .idle: idle.append((link, key))
                case .inUse: Issue.record("it takes one exchange at a time")
                case .close(let work): perform(work)
                }
            default:
                guard let (waiter, ticket) = tickets.randomElement(using: &random) else { continue }
                let (left, work) = try require(machine.withdraw(ticket))
                #expect(left == waiter)
                serve(waiter)
                perform(work)
            }
            #expect(machine.total == busy.count + idle.count + attempts.count)
            #expect(machine.total <= all)
            #expect(machine.idleCount == idle.count)
            for key in keys {
                #expect(busy.count { $0.1 == key } + idle.count { $0.1 == key } + attempts.count { $0.key == key } <= perOrigin)
                expect(machine.isShortWithReason(key))
            }
        }

        // All exchanges end, and no waiter is forgotten.
        var rounds = 0
        while machine.waiterCount > 0, rounds < 10_000 {
            rounds += 1
            if let (link, key) = busy.popLast() {
                perform(machine.remove(link, of: key))
            } else if let attempt = attempts.popFirst() {
                let (waiter, work) = machine.failed(attempt)
                if let waiter { serve(waiter) }
                perform(work)
            } else if let (link, key) = idle.popLast() {
                let (isRemoved, work) = machine.removeIfIdle(link, of: key)
                #expect(isRemoved)
                perform(work)
            } else {
                break
            }
        }
        #expect(machine.waiterCount == 0)
        #expect(machine.starved.count == 0)
        #expect(served.count == next)
    }
}

extension PoolMachine {
    /// An origin that may have another connection, and needs it, waits for room: there are as many connections as allowed, and none is
    /// idle.
    func isShortWithReason(_ key: Key) -> Bool {
        !canUseConnection(key) || (groups[key]?.starvedPlace != nil && total == limits.connections && idleCount == 0)
    }
}
#endif
