#if SWIFT_NIO
import ErrandCore
@testable import ErrandNIO
import Testing

/// Which origin gets the room of a connection, and how many connections it opens.
@Suite(.timeLimit(.minutes(5))) struct PoolRoomTests {
    typealias Link = PoolMachineTests.Link
    typealias Machine = PoolMachineTests.Machine

    private static let anyLoop = Link("loop")
    private let loop = ObjectIdentifier(anyLoop)

    private func machine(perOrigin: Int = 100, all: Int = 100) -> Machine {
        Machine(.init(connectionsPerOrigin: perOrigin, connections: all, idleTime: .seconds(60)))
    }

    /// Returns the attempts that are made; `nil` if the exchange begins.
    @discardableResult
    private func ask(_ machine: inout Machine, _ waiter: String, _ key: String = "a", isFresh: Bool = false) -> [Machine.Attempt]? {
        guard case .wait(_, let work) = machine.lease(waiter, for: key, lane: 3, on: nil, isFresh: isFresh, at: .zero) else { return nil }
        return work.connect
    }

    /// Opens a connection, which has one exchange then.
    private func open(_ machine: inout Machine, _ key: String = "a", streams: Int = 1) throws -> Link {
        let link = Link(key)
        let attempt = try require(ask(&machine, "opener", key, isFresh: true)?.first)
        guard case .begin("opener") = machine.connected(attempt, link, on: loop, streams: streams, at: .zero) else {
            throw CancellationError()
        }
        return link
    }

    private func release(_ machine: inout Machine, _ link: Link, _ key: String = "a") -> Machine.Release {
        machine.release(link, of: key, idleTime: .seconds(60), at: .zero)
    }

    // MARK: - Room among all connections

    @Test func anOriginGetsAsManyConnectionsAsItHasWaiters() throws {
        var machine = machine(perOrigin: 4, all: 4)
        var links: [Link] = []
        for _ in 0..<4 { links.append(try open(&machine)) }
        for index in 0..<4 { ask(&machine, "b\(index)", "b") }
        for link in links {
            guard case .close(let work) = release(&machine, link) else { throw CancellationError() }
            #expect(work.connect.map(\.key) == ["b"])
        }
        #expect(machine.total == 4)
        #expect(machine.starved.count == 0)
    }

    @Test func waitingOriginsGetRoomAlternately() throws {
        var machine = machine(all: 4)
        var links: [Link] = []
        for _ in 0..<4 { links.append(try open(&machine)) }
        for index in 0..<3 { ask(&machine, "b\(index)", "b") }
        ask(&machine, "c", "c")
        var keys: [String] = []
        for link in links {
            guard case .close(let work) = release(&machine, link) else { throw CancellationError() }
            keys += work.connect.map(\.key)
        }
        #expect(keys == ["b", "c", "b", "b"])
    }

    /// Two connections drain because their servers have asked for it, during long exchanges. The third must make room nevertheless.
    @Test func onlyConnectionsDrainingForRoomDelayTheNext() throws {
        var machine = machine(all: 3)
        for _ in 0..<2 {
            let link = try open(&machine, streams: 2)
            _ = machine.drain(link, of: "a")
        }
        let busy = try open(&machine, streams: 2)
        ask(&machine, "other", "b")
        for _ in 0..<7 {
            let attempts = ask(&machine, "x")
            #expect(attempts == nil)
            guard case .inUse = release(&machine, busy) else { throw CancellationError() }
        }
        #expect(!machine.hasRoom(busy))
        guard case .close(let work) = release(&machine, busy) else { throw CancellationError() }
        #expect(work.connect.map(\.key) == ["b"])
    }

    /// One origin waits: at most two connections with other exchanges in progress drain for it.
    @Test func fewConnectionsDrainToMakeRoom() throws {
        var machine = machine(all: 5)
        var links: [Link] = []
        for _ in 0..<5 {
            links.append(try open(&machine, streams: 9))
            for _ in 1..<9 { ask(&machine, "x") }
        }
        #expect(machine.waiterCount == 0)
        ask(&machine, "other", "b")
        for link in links { _ = release(&machine, link) }
        let haveRoom = links.map { machine.hasRoom($0) }
        #expect(haveRoom == [false, false, true, true, true])
    }

    // MARK: - The room of a connection

    @Test(arguments: [
        // streams: exchanges that begin immediately, attempts after that
        (1, 0, 9), (2, 1, 4), (3, 2, 3),
    ])
    func aConnectionWithFewerStreamsThanExpectedCausesMoreAttempts(streams: Int, begun: Int, attempts: Int) throws {
        var machine = machine()
        let old = try open(&machine, streams: 10)
        _ = machine.drain(old, of: "a")
        var made: [Machine.Attempt] = []
        for index in 0..<10 { made += try require(ask(&machine, "\(index)")) }
        #expect(made.count == 1)
        let link = Link("new")
        guard case .begin("0") = machine.connected(made[0], link, on: loop, streams: streams, at: .zero) else { throw CancellationError() }
        let work = machine.beginMore(on: link, of: "a", at: .zero)
        #expect(work.begin.count == begun)
        #expect(work.connect.count == attempts)
        #expect(work.cancel.isEmpty)
    }

    @Test func aConnectionThatTakesOneExchangeGivesUpNoAttempt() throws {
        var machine = machine()
        let busy = try open(&machine)
        let attempts = (0..<3).compactMap { ask(&machine, "\($0)")?.first }
        guard case .begin("0") = release(&machine, busy) else { throw CancellationError() }
        let link = Link("new")
        guard case .begin("1") = machine.connected(attempts[0], link, on: loop, at: .zero) else { throw CancellationError() }
        let work = machine.beginMore(on: link, of: "a", at: .zero)
        #expect(work.isEmpty)
        #expect(machine.total == 4)
    }

    @Test func allWaitersStartWhenTheServerRespondsAgain() throws {
        var machine = machine()
        let link = try open(&machine, streams: 4)
        _ = release(&machine, link)
        let reused = ask(&machine, "reused")
        #expect(reused == nil)
        for name in ["x", "y", "z"] { ask(&machine, name, isFresh: true) }
        guard case .begin("x") = release(&machine, link), machine.hasRoom(link) else { throw CancellationError() }
        let work = machine.beginMore(on: link, of: "a", at: .zero)
        #expect(work.begin.map(\.waiter) == ["y", "z"])
        #expect(work.cancel.count == 1)
    }

    @Test func aConnectionThatTakesNoExchangeMakesRoomForItsOwnOrigin() throws {
        var machine = machine(perOrigin: 1)
        let link = try open(&machine, streams: 2)
        _ = machine.setStreams(link, of: "a", to: 0, at: .zero)
        ask(&machine, "x")
        guard case .close(let work) = release(&machine, link) else { throw CancellationError() }
        #expect(work.connect.count == 1)
    }

    // MARK: - The order

    @Test func aWaiterThatLosesItsAttemptKeepsItsPlace() {
        var queue = AttemptQueue<String>()
        for number in 1...4 { queue.enqueue("\(number)", number, lane: 3) }
        for number in 1...2 { queue.add(10 + number, for: number) }
        expect(queue.firstWithoutAttempt() == 3)
        _ = (queue.removeAttempt(12), queue.removeAttempt(11))
        expect(queue.firstWithoutAttempt() == 1)
        queue.add(13, for: 1)
        expect(queue.firstWithoutAttempt() == 2)
        _ = queue.dequeue(2)
        expect(queue.firstWithoutAttempt() == 3)
    }
}
#endif
