#if SWIFT_NIO
import ErrandCore
@testable import ErrandNIO
import ErrandTesting
import TestSupport
import Testing

/// Connections that take several exchanges at a time.
@Suite(.timeLimit(.minutes(5))) struct PoolStreamsTests {
    typealias Link = PoolMachineTests.Link
    typealias Machine = PoolMachineTests.Machine

    private static let loops = (Link("loop"), Link("other loop"))
    private let loop = ObjectIdentifier(loops.0)
    private let otherLoop = ObjectIdentifier(loops.1)

    private func machine(perOrigin: Int = 8, all: Int = 100, age: Duration? = nil) -> Machine {
        Machine(.init(connectionsPerOrigin: perOrigin, connections: all, idleTime: .seconds(60), age: age))
    }

    /// What a lease gives: the name of a connection, or how many attempts are made.
    private enum Given: Equatable {
        case use(String)
        case wait(Int)
        case shutDown
    }

    private func lease(
        _ machine: inout Machine, _ waiter: String = "x", _ key: String = "a", on loop: ObjectIdentifier? = nil, isFresh: Bool = false,
        at now: Duration = .zero
    ) -> Given {
        switch machine.lease(waiter, for: key, lane: 3, on: loop, isFresh: isFresh, at: now) {
        case .use(let link, closing: _): .use(link.name)
        case .wait(_, let work): .wait(work.connect.count)
        case .shutDown: .shutDown
        }
    }

    private func attempt(_ machine: inout Machine, _ key: String = "a") throws -> Machine.Attempt {
        guard case .wait(_, let work) = machine.lease("opener", for: key, lane: 3, on: nil, isFresh: true, at: .zero) else {
            throw CancellationError()
        }
        return try #require(work.connect.first)
    }

    /// Opens a connection, which has one exchange then.
    private func open(
        _ machine: inout Machine, _ name: String = "1", _ key: String = "a", streams: Int, on loop: ObjectIdentifier? = nil
    ) throws -> Link {
        let link = Link(name)
        let attempt = try attempt(&machine, key)
        guard case .begin("opener") = machine.connected(attempt, link, on: loop ?? self.loop, streams: streams, at: .zero) else {
            throw CancellationError()
        }
        let more = machine.beginMore(on: link, of: key, at: .zero)
        #expect(more.isEmpty)
        return link
    }

    /// Opens another connection, which is idle then.
    private func openIdle(
        _ machine: inout Machine, _ name: String, streams: Int, on loop: ObjectIdentifier? = nil
    ) throws -> Link {
        let link = Link(name)
        let count = 1 + (machine.groups["a"]?.open ?? 0)
        let attempt = try require(machine.preconnect(count, for: "a", at: .zero).first)
        guard case .idle = machine.connected(attempt, link, on: loop ?? self.loop, streams: streams, at: .zero) else {
            throw CancellationError()
        }
        return link
    }

    /// The state of a connection after an exchange.
    private func release(_ machine: inout Machine, _ link: Link, _ key: String = "a", at now: Duration = .zero) -> String {
        switch machine.release(link, of: key, idleTime: .seconds(60), at: now) {
        case .begin(let waiter): "begin \(waiter)"
        case .idle(let time): "idle \(time.components.seconds)"
        case .inUse: "in use"
        case .close(let work): "close, connect \(work.connect.map(\.key).joined())"
        }
    }

    // MARK: - Lending

    @Test func aConnectionLendsAsManyStreamsAsItHas() throws {
        var machine = machine()
        let link = try open(&machine, streams: 3)
        let given = (0..<4).map { lease(&machine, "x\($0)") }
        #expect(given == [.use("1"), .use("1"), .wait(1), .wait(0)])
        let ends = (0..<5).map { _ in release(&machine, link) }
        #expect(ends == ["begin x2", "begin x3", "in use", "in use", "idle 60"])
        #expect(machine.idleCount == 1)
        #expect(machine.total == 2)
    }

    @Test func waitersStartTogetherAndSurplusAttemptsEnd() throws {
        var machine = machine()
        let given = (0..<6).map { lease(&machine, "x\($0)") }
        #expect(given == Array(repeating: .wait(1), count: 6))
        let attempts = Machine.Attempt.all(of: "a", in: machine)
        let link = Link("1")
        guard case .begin("x0") = machine.connected(attempts[2], link, on: loop, streams: 4, at: .zero) else { throw CancellationError() }
        let work = machine.beginMore(on: link, of: "a", at: .zero)
        #expect(work.begin.map(\.waiter) == ["x1", "x2", "x3"])
        // Two waiters remain, and one connection is enough for both waiters.
        #expect(work.cancel.count == 4)
        #expect(machine.total == 2)
        #expect(machine.waiterCount == 2)
    }

    @Test(arguments: [
        // waiters, streams of the last connection: attempts
        (1, 1, 1), (5, 1, 5), (1, 10, 1), (10, 10, 1), (11, 10, 2), (21, 10, 3), (400, 10, 8),
    ])
    func attemptsAreMadeForAsManyStreamsAsTheLastConnectionHad(waiters: Int, streams: Int, expected: Int) throws {
        var machine = machine(perOrigin: 9)
        let link = try open(&machine, streams: streams)
        for _ in 1..<max(streams, 2) where lease(&machine) != .use("1") { break }
        var made = 0
        let before = machine.waiterCount
        for _ in before..<waiters {
            if case .wait(let count) = lease(&machine) { made += count }
        }
        #expect(made + before == expected)
        #expect(machine.total == expected + 1)
        // The waiters need no more than before, but there is room for one more.
        _ = machine.remove(link, of: "a")
        #expect(machine.total == min(9, (waiters + streams - 1) / streams))
    }

    @Test func aFailedAttemptGivesTheOtherWaitersTheirOwnAttempts() throws {
        var machine = machine()
        let link = try open(&machine, streams: 2)
        _ = lease(&machine)
        for index in 0..<4 { _ = lease(&machine, "x\(index)") }
        let attempts = Machine.Attempt.all(of: "a", in: machine)
        #expect(attempts.count == 2)
        let (waiter, work) = machine.failed(attempts[0])
        #expect(waiter == "x0")
        #expect(work.connect.count == 2)
        expect(release(&machine, link) == "begin x1")
    }

    // MARK: - Which connection

    @Test func aConnectionInUseIsPreferredToIdleAndNewConnections() throws {
        var machine = machine()
        _ = (try openIdle(&machine, "1", streams: 2), try openIdle(&machine, "2", streams: 2))
        let given = (0..<5).map { _ in lease(&machine) }
        #expect(given == [.use("2"), .use("2"), .use("1"), .use("1"), .wait(1)])
    }

    @Test func theCallersEventLoopIsPreferredButOpensNoOtherConnection() throws {
        var machine = machine()
        let here = try openIdle(&machine, "here", streams: 2, on: loop)
        let there = try openIdle(&machine, "there", streams: 4, on: otherLoop)
        expect(lease(&machine, on: loop) == .use("here"))
        expect(lease(&machine, on: loop) == .use("here"))
        expect(lease(&machine, on: loop) == .use("there"))
        expect(release(&machine, here) == "in use")
        expect(release(&machine, here) == "idle 60")
        expect(lease(&machine, on: otherLoop) == .use("there"))
        expect(lease(&machine, on: loop) == .use("here"))
        let ends = (0..<2).map { _ in release(&machine, there) }
        #expect(ends == ["in use", "idle 60"])
        _ = machine.remove(here, of: "a")
        expect(lease(&machine, on: loop) == .use("there"))
    }

    @Test func aFreshExchangeUsesAConnectionThatReceivedBytesSinceItWasIdle() throws {
        var machine = machine()
        let link = try open(&machine, streams: 4)
        expect(lease(&machine, isFresh: true) == .use("1"))
        _ = (release(&machine, link), release(&machine, link))
        expect(lease(&machine) == .use("1"))
        expect(lease(&machine) == .use("1"))
        expect(lease(&machine, "fresh", isFresh: true) == .wait(1))
        expect(release(&machine, link) == "begin fresh")
        expect(lease(&machine, isFresh: true) == .use("1"))
    }

    @Test func aFreshExchangeClosesAnIdleConnectionOfAFullOrigin() throws {
        var machine = machine(perOrigin: 2)
        let (old, newer) = (try open(&machine, "old", streams: 1), try open(&machine, "newer", streams: 1))
        _ = (release(&machine, old), release(&machine, newer, at: .seconds(1)))
        guard case .wait(_, let work) = machine.lease("x", for: "a", lane: 3, on: nil, isFresh: true, at: .seconds(2)) else {
            throw CancellationError()
        }
        #expect(work.close.map(\.name) == ["old"])
        #expect(work.connect.count == 1)
        #expect(machine.total == 2)
        #expect(machine.idleCount == 1)
    }

    // MARK: - Changes of the limit

    @Test func aHigherLimitLetsWaitersBegin() throws {
        var machine = machine(perOrigin: 1)
        let link = try open(&machine, streams: 1)
        for index in 0..<4 { _ = lease(&machine, "x\(index)") }
        let work = machine.setStreams(link, of: "a", to: 3, at: .zero)
        #expect(work.begin.map(\.waiter) == ["x0", "x1"])
        let rest = machine.setStreams(link, of: "a", to: 100, at: .zero)
        #expect(rest.begin.map(\.waiter) == ["x2", "x3"])
        expect(lease(&machine) == .use("1"))
    }

    @Test func aLowerLimitDelaysLaterExchanges() throws {
        var machine = machine(perOrigin: 1)
        let link = try open(&machine, streams: 3)
        _ = (lease(&machine), lease(&machine))
        _ = machine.setStreams(link, of: "a", to: 1, at: .zero)
        expect(lease(&machine, "waits") == .wait(0))
        let ends = (0..<3).map { _ in release(&machine, link) }
        #expect(ends == ["in use", "in use", "begin waits"])
    }

    @Test func aConnectionWithoutStreamsStartsNoExchange() throws {
        var machine = machine(perOrigin: 2)
        let link = try open(&machine, streams: 3)
        _ = machine.setStreams(link, of: "a", to: 0, at: .zero)
        expect(release(&machine, link) == "idle 60")
        expect(lease(&machine, "x") == .wait(1))
        expect(lease(&machine, "y", on: loop) == .wait(0))
        let work = machine.setStreams(link, of: "a", to: 2, at: .zero)
        #expect(work.begin.map(\.waiter) == ["x", "y"])
        #expect(work.cancel.count == 1)
        #expect(machine.idleCount == 0)
    }

    // MARK: - The end of a connection

    @Test func aDrainingConnectionStartsNoExchange() throws {
        var machine = machine(perOrigin: 1)
        let link = try open(&machine, streams: 3)
        _ = lease(&machine)
        let work = machine.drain(link, of: "a")
        #expect(work.isEmpty)
        expect(lease(&machine, "x") == .wait(0))
        let more = machine.setStreams(link, of: "a", to: 100, at: .zero)
        #expect(more.isEmpty)
        #expect(machine.total == 1)
        expect(release(&machine, link) == "in use")
        expect(release(&machine, link) == "close, connect a")
        #expect(machine.total == 1)
    }

    @Test func anIdleConnectionThatDrainsIsClosed() throws {
        var machine = machine()
        let link = try open(&machine, streams: 3)
        expect(release(&machine, link) == "idle 60")
        let work = machine.drain(link, of: "a")
        #expect(work.close.map(\.name) == ["1"])
        #expect(machine.total == 0)
        let again = machine.drain(link, of: "a")
        #expect(again.isEmpty)
    }

    @Test func aConnectionBeyondItsAgeDrains() throws {
        var machine = machine(age: .seconds(10))
        let link = try open(&machine, streams: 3)
        expect(lease(&machine, at: .seconds(9)) == .use("1"))
        expect(lease(&machine, at: .seconds(10)) == .wait(1))
        expect(release(&machine, link, at: .seconds(10)) == "in use")
        expect(release(&machine, link, at: .seconds(11)) == "close, connect ")
        let other = try open(&machine, "2", "b", streams: 1)
        expect(release(&machine, other, "b", at: .seconds(7)) == "idle 3")
    }

    @Test func aConnectionThatClosesTwiceCountsOnce() throws {
        var machine = machine()
        let link = try open(&machine, streams: 2)
        _ = try openIdle(&machine, "2", streams: 2)
        _ = (machine.remove(link, of: "a"), machine.remove(link, of: "a"))
        #expect(machine.total == 1)
        expect(release(&machine, link) == "close, connect ")
        let (isRemoved, _) = machine.removeIfIdle(link, of: "a")
        #expect(!isRemoved)
    }

    @Test func afterShutdownAConnectionClosesAfterItsLastExchange() throws {
        var machine = machine()
        let link = try open(&machine, streams: 3)
        _ = lease(&machine)
        _ = machine.shutDown()
        expect(release(&machine, link) == "in use")
        expect(release(&machine, link) == "close, connect ")
        #expect(machine.total == 0)
    }

    // MARK: - Room for others

    /// 40 exchanges wait for "a", and then one for "b", when there is one connection in all.
    @Test(arguments: [(0, 7), (3, 7), (12, 12)]) func aBusyOriginMakesRoomByTheOrderOfArrival(before: Int, served: Int) throws {
        var machine = machine(all: 1)
        let link = try open(&machine, streams: 1)
        for index in 0..<before { _ = lease(&machine, "before \(index)") }
        _ = lease(&machine, "other", "b")
        for index in 0..<20 { _ = lease(&machine, "after \(index)") }
        var count = 0
        var end = release(&machine, link)
        while end.hasPrefix("begin"), count < 100 {
            count += 1
            end = release(&machine, link)
        }
        #expect(end == "close, connect b")
        #expect(count == served)
        // The first origin waits for room now.
        let other = Link("b")
        let attempt = try #require(Machine.Attempt.all(of: "b", in: machine).first)
        guard case .begin("other") = machine.connected(attempt, other, on: loop, at: .zero) else { throw CancellationError() }
        expect(release(&machine, other, "b") == "close, connect a")
    }

    @Test func aConnectionWithStreamsInProgressMakesRoomToo() throws {
        var machine = machine(all: 1)
        let link = try open(&machine, streams: 4)
        _ = lease(&machine, "other", "b")
        var ends: [String] = []
        for _ in 0..<9 where lease(&machine) == .use("1") { ends.append(release(&machine, link)) }
        #expect(ends == Array(repeating: "in use", count: 7))
        expect(release(&machine, link) == "close, connect b")
    }

    // MARK: - Chance

    @Test(arguments: 0..<40) func everyOrderOfEventsKeepsTheLimits(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let (perOrigin, all) = (Int.random(in: 1...4, using: &random), Int.random(in: 1...8, using: &random))
        var machine = machine(perOrigin: perOrigin, all: all, age: seed % 3 == 0 ? .seconds(20) : nil)
        var history = PoolHistory()
        for _ in 0..<2_000 {
            history.step(&machine, on: Bool.random(using: &random) ? loop : otherLoop, &random)
            #expect(machine.total == history.links.count + history.attempts.count)
            #expect(machine.total <= all)
            #expect(machine.idleCount == history.links.count { $0.exchanges == 0 })
            for key in PoolHistory.keys {
                let count = history.links.count { $0.key == key } + history.attempts.count { $0.key == key }
                #expect(count <= perOrigin)
                expect(machine.isShortWithReason(key))
            }
        }
        history.finish(&machine)
        #expect(machine.waiterCount == 0)
        #expect(machine.total == 0)
        #expect(machine.starved.count == 0)
        #expect(history.served.count == history.asked)
    }
}

extension PoolMachine.Attempt where Key == String {
    /// The attempts in progress, in the order in which they were made.
    fileprivate static func all(of key: Key, in machine: PoolMachine) -> [Self] {
        (machine.groups[key]?.queue.attempts.keys.sorted() ?? []).map { .init(key: key, number: $0) }
    }
}

/// Events in any order, and what must be true of each result.
private struct PoolHistory {
    typealias Machine = PoolMachineTests.Machine
    typealias Link = PoolMachineTests.Link

    struct Open {
        let link: Link
        let key: String
        var streams: Int
        var exchanges = 0
        var isDraining = false
    }

    static let keys = ["a", "b", "c"]
    var links: [Open] = []
    var attempts: Set<Machine.Attempt> = []
    var tickets: [String: Machine.Ticket] = [:]
    var served: Set<String> = []
    var asked = 0
    var now = Duration.zero

    mutating func serve(_ waiter: String) {
        expect(served.insert(waiter).inserted)
        tickets[waiter] = nil
    }

    mutating func begin(_ waiter: String, on link: Link) {
        serve(waiter)
        guard let place = links.firstIndex(where: { $0.link === link }) else {
            Issue.record("the connection is not open")
            return
        }
        links[place].exchanges += 1
        expect(links[place].exchanges <= links[place].streams)
        expect(!links[place].isDraining)
    }

    mutating func perform(_ work: Machine.Work) {
        for link in work.close { remove(link) }
        for attempt in work.connect { expect(attempts.insert(attempt).inserted) }
        for attempt in work.cancel { attempts.remove(attempt) }
        for (waiter, link) in work.begin { begin(waiter, on: link) }
    }

    /// A connection that the pool closes has no exchange.
    mutating func remove(_ link: Link) {
        expect(links.contains { $0.link === link && $0.exchanges == 0 })
        links.removeAll { $0.link === link }
    }

    mutating func step(_ machine: inout Machine, on loop: ObjectIdentifier, _ random: inout SeededGenerator) {
        now += .milliseconds(Int.random(in: 0...500, using: &random))
        switch Int.random(in: 0..<11, using: &random) {
        case 0, 1, 2, 3:
            asked += 1
            let key = Self.keys.randomElement(using: &random) ?? "a"
            let isFresh = Int.random(in: 0..<9, using: &random) == 0
            switch machine.lease("\(asked)", for: key, lane: 3, on: loop, isFresh: isFresh, at: now) {
            case .use(let link, closing: let closing):
                for stale in closing { remove(stale) }
                expect(!isFresh || links.contains { $0.link === link && $0.exchanges > 0 })
                begin("\(asked)", on: link)
            case .wait(let ticket, let work):
                tickets["\(asked)"] = ticket
                perform(work)
            case .shutDown: Issue.record("shut down")
            }
        case 4, 5:
            guard let attempt = attempts.randomElement(using: &random) else { return }
            connect(attempt, &machine, on: loop, streams: [1, 1, 2, 5].randomElement(using: &random) ?? 1)
        case 6:
            guard let attempt = attempts.randomElement(using: &random) else { return }
            fail(attempt, &machine)
        case 7, 8:
            guard let place = links.indices.filter({ links[$0].exchanges > 0 }).randomElement(using: &random) else { return }
            if Int.random(in: 0..<6, using: &random) == 0 { lose(place, &machine) } else { release(place, &machine) }
        case 9:
            guard let place = links.indices.randomElement(using: &random) else { return }
            let open = links[place]
            if Int.random(in: 0..<4, using: &random) == 0 {
                links[place].isDraining = true
                perform(machine.drain(open.link, of: open.key))
            } else {
                links[place].streams = Int.random(in: 0...5, using: &random)
                perform(machine.setStreams(open.link, of: open.key, to: links[place].streams, at: now))
            }
        default:
            guard let (waiter, ticket) = tickets.randomElement(using: &random) else { return }
            let left = machine.withdraw(ticket)
            expect(left?.waiter == waiter)
            serve(waiter)
            if let left { perform(left.work) }
        }
    }

    mutating func connect(_ attempt: Machine.Attempt, _ machine: inout Machine, on loop: ObjectIdentifier, streams: Int) {
        attempts.remove(attempt)
        let link = Link("\(attempt.number)")
        let arrival = machine.connected(attempt, link, on: loop, streams: streams, at: now)
        links.append(Open(link: link, key: attempt.key, streams: streams))
        switch arrival {
        case .begin(let waiter):
            begin(waiter, on: link)
            perform(machine.beginMore(on: link, of: attempt.key, at: now))
        case .idle: break
        case .close(let work):
            remove(link)
            perform(work)
        case .refuse: Issue.record("refused")
        }
    }

    mutating func fail(_ attempt: Machine.Attempt, _ machine: inout Machine) {
        attempts.remove(attempt)
        let (waiter, work) = machine.failed(attempt)
        if let waiter { serve(waiter) }
        perform(work)
    }

    mutating func lose(_ place: Int, _ machine: inout Machine) {
        let open = links.remove(at: place)
        perform(machine.remove(open.link, of: open.key))
    }

    mutating func release(_ place: Int, _ machine: inout Machine) {
        let (link, key) = (links[place].link, links[place].key)
        links[place].exchanges -= 1
        switch machine.release(link, of: key, idleTime: .seconds(5), at: now) {
        case .begin(let waiter):
            begin(waiter, on: link)
            if machine.hasRoom(link) { perform(machine.beginMore(on: link, of: key, at: now)) }
        case .idle: expect(links[place].exchanges == 0)
        case .inUse: expect(links[place].exchanges > 0)
        case .close(let work):
            remove(link)
            perform(work)
        }
    }

    /// All exchanges end, and no waiter is forgotten.
    mutating func finish(_ machine: inout Machine) {
        var rounds = 0
        while !links.isEmpty || !attempts.isEmpty, rounds < 20_000 {
            rounds += 1
            if !links.isEmpty { lose(links.count - 1, &machine) } else if let attempt = attempts.first { fail(attempt, &machine) }
        }
    }
}
#endif
