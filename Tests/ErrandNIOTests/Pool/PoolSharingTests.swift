#if SWIFT_NIO
import ErrandCore
@testable import ErrandNIO
import ErrandTesting
import TestSupport
import Testing

/// Exchanges of one key that begin on a connection of another.
@Suite(.timeLimit(.minutes(5))) struct PoolSharingTests {
    typealias Link = PoolMachineTests.Link
    typealias Machine = PoolMachineTests.Machine

    private static let loopOwner = Link("loop")
    private let loop = ObjectIdentifier(loopOwner)

    private func machine(all: Int = 100, age: Duration? = nil) -> Machine {
        Machine(.init(connectionsPerOrigin: 8, connections: all, idleTime: .seconds(60), age: age, firstStreams: { _ in nil }))
    }

    private func wait(
        _ machine: inout Machine, _ waiter: String, _ key: String, isFresh: Bool = false
    ) throws -> (ticket: Machine.Ticket, attempts: [Machine.Attempt]) {
        guard case .wait(let ticket, let work) = machine.lease(waiter, for: key, lane: 3, on: nil, isFresh: isFresh, at: .zero) else {
            throw CancellationError()
        }
        return (ticket, work.connect)
    }

    /// Returns the connection that an exchange gets immediately; `nil` if the exchange waits.
    private func use(_ machine: inout Machine, _ key: String, isFresh: Bool = false, at now: Duration = .zero) -> String? {
        guard case .use(let link, _) = machine.lease("x", for: key, lane: 3, on: nil, isFresh: isFresh, at: now) else { return nil }
        return link.name
    }

    /// Opens a connection, which has one exchange then.
    private func open(_ machine: inout Machine, _ name: String = "1", _ key: String = "host", streams: Int = 3) throws -> Link {
        let link = Link(name)
        let attempt = try require(try wait(&machine, "opener", key, isFresh: true).attempts.first)
        guard case .begin = machine.connected(attempt, link, on: loop, streams: streams, at: .zero) else { throw CancellationError() }
        return link
    }

    private func release(_ machine: inout Machine, _ link: Link, _ key: String = "host", at now: Duration = .zero) -> Bool {
        guard case .idle = machine.release(link, of: key, idleTime: .seconds(60), at: now) else { return false }
        return true
    }

    @Test func guestsStartOnASharedConnectionAndTheirAttemptEnds() throws {
        var machine = machine()
        let link = try open(&machine, streams: 4)
        let first = try wait(&machine, "g1", "guest")
        _ = try wait(&machine, "g2", "guest")
        let work = try require(machine.share(link, with: "guest", at: .zero))
        #expect(work.begin.map(\.waiter) == ["g1", "g2"] && work.begin.allSatisfy { $0.link === link })
        #expect(work.cancel == first.attempts)
        #expect(work.connect.isEmpty && work.close.isEmpty)
        #expect(machine.total == 1 && machine.waiterCount == 0)
        #expect(machine.groups.keys.sorted() == ["host"])
        #expect(machine.guests(of: link) == ["guest"])
        expect(use(&machine, "guest") == "1")
        // All four are in use.
        expect(use(&machine, "guest") == nil)
        expect(use(&machine, "host") == nil)
    }

    @Test func guestsWithoutAStreamKeepTheirAttempt() throws {
        var machine = machine()
        let link = try open(&machine, streams: 2)
        let attempts = try wait(&machine, "g1", "guest").attempts
        _ = try wait(&machine, "g2", "guest")
        let work = try require(machine.share(link, with: "guest", at: .zero))
        #expect(work.begin.map(\.waiter) == ["g1"])
        #expect(work.cancel.isEmpty && work.connect.isEmpty)
        // The attempt was made for the exchange that has left.
        #expect(machine.isWanted(attempts[0]))
        let own = Link("own")
        guard case .begin("g2") = machine.connected(attempts[0], own, on: loop, streams: 2, at: .zero) else { throw CancellationError() }
        // Its own connection comes first.
        expect(use(&machine, "guest") == "own")
    }

    @Test func aFullConnectionIsNotShared() throws {
        var machine = machine()
        let link = try open(&machine, streams: 1)
        _ = try wait(&machine, "g", "guest")
        expect(machine.share(link, with: "guest", at: .zero) == nil)
        #expect(machine.guests(of: link) == [])
    }

    @Test func aConnectionIsNotSharedWithoutAWaiter() throws {
        var machine = machine()
        let link = try open(&machine)
        expect(machine.share(link, with: "guest", at: .zero) == nil)
        let (ticket, _) = try wait(&machine, "g", "guest")
        _ = machine.withdraw(ticket)
        expect(machine.share(link, with: "guest", at: .zero) == nil)
        #expect(machine.groups.keys.sorted() == ["host"])
    }

    @Test func aConnectionIsNotSharedWithItsOwnHost() throws {
        var machine = machine()
        let link = try open(&machine, streams: 1)
        _ = try wait(&machine, "h", "host")
        _ = machine.setStreams(link, of: "host", to: 0, at: .zero)
        expect(machine.share(link, with: "host", at: .zero) == nil)
    }

    /// The end of the connection, and of the sharing: by the server, by its age and by the limit for idle ones.
    @Test func aDrainingConnectionTakesNoGuests() throws {
        var machine = machine()
        let link = try open(&machine)
        _ = try wait(&machine, "g", "guest")
        _ = machine.share(link, with: "guest", at: .zero)
        _ = machine.drain(link, of: "host")
        expect(use(&machine, "guest") == nil)
        expect(machine.share(link, with: "guest", at: .zero) == nil)
        _ = machine.remove(link, of: "host")
        #expect(machine.guests(of: link) == [] && machine.sharedSlots.isEmpty)
    }

    @Test func anOldConnectionTakesNoGuests() throws {
        var machine = machine(age: .seconds(10))
        let link = try open(&machine)
        _ = try wait(&machine, "g", "guest")
        _ = machine.share(link, with: "guest", at: .seconds(1))
        expect(use(&machine, "guest", at: .seconds(9)) == "1")
        expect(use(&machine, "guest", at: .seconds(10)) == nil)
    }

    @Test func anIdleConnectionIsUsedAndKeptByGuests() throws {
        var machine = machine()
        let link = try open(&machine)
        expect(release(&machine, link))
        _ = try wait(&machine, "g", "guest")
        #expect(try require(machine.share(link, with: "guest", at: .seconds(30))).begin.count == 1)
        #expect(machine.idleCount == 0)
        expect(release(&machine, link, at: .seconds(40)))
        expect(use(&machine, "host", at: .seconds(99)) == "1")
        expect(release(&machine, link, at: .seconds(99)))
        expect(use(&machine, "guest", at: .seconds(159)) == nil)
    }

    /// A repeated exchange must not meet another connection that is lost.
    @Test func aFreshExchangeDoesNotStartOnAnIdleConnection() throws {
        var machine = machine()
        let link = try open(&machine)
        expect(release(&machine, link))
        _ = try wait(&machine, "g1", "guest", isFresh: true)
        _ = try wait(&machine, "g2", "guest")
        expect(machine.share(link, with: "guest", at: .zero) == nil)
        expect(use(&machine, "host") == "1")
        // It is in use, and nothing was received since it was idle.
        expect(machine.share(link, with: "guest", at: .zero) == nil)
        _ = machine.setStreams(link, of: "host", to: 3, at: .zero)
        #expect(try require(machine.share(link, with: "guest", at: .zero)).begin.map(\.waiter) == ["g1", "g2"])
    }

    @Test func aLaterFreshExchangeDoesNotStartOnAnIdleConnection() throws {
        var machine = machine()
        let link = try open(&machine)
        _ = try wait(&machine, "g", "guest")
        _ = machine.share(link, with: "guest", at: .zero)
        expect(!release(&machine, link))
        expect(release(&machine, link))
        expect(use(&machine, "guest", isFresh: true) == nil)
        expect(use(&machine, "guest") == "1")
    }

    @Test func aSeparatedHostIsNotSharedAgain() throws {
        var machine = machine()
        let link = try open(&machine)
        _ = try wait(&machine, "g", "guest")
        _ = machine.share(link, with: "guest", at: .zero)
        machine.keepApart("guest")
        #expect(machine.guests(of: link) == [])
        _ = try wait(&machine, "g2", "guest")
        expect(machine.share(link, with: "guest", at: .zero) == nil)
        // Others are not affected.
        _ = try wait(&machine, "o", "other")
        expect(machine.share(link, with: "other", at: .zero) != nil)
    }

    @Test func theTableOfSeparatedHostsIsBounded() throws {
        var machine = machine()
        let link = try open(&machine)
        machine.keepApart("guest")
        for number in 0..<Machine.rememberedKeys { machine.keepApart("\(number)") }
        _ = try wait(&machine, "g", "guest")
        expect(machine.share(link, with: "guest", at: .zero) != nil)
    }

    /// The place of a connection is used again.
    @Test func aReplacementConnectionIsNotShared() throws {
        var machine = machine()
        let link = try open(&machine)
        _ = try wait(&machine, "g", "guest")
        _ = machine.share(link, with: "guest", at: .zero)
        _ = machine.remove(link, of: "host")
        let next = try open(&machine, "2", "stranger")
        #expect(machine.guests(of: next) == [])
        expect(use(&machine, "guest") == nil)
    }

    /// A guest moves to another connection; the end of the first changes nothing.
    @Test func aGuestMovesToAnotherConnection() throws {
        var machine = machine()
        let first = try open(&machine, "1")
        _ = try wait(&machine, "g", "guest")
        _ = machine.share(first, with: "guest", at: .zero)
        _ = machine.drain(first, of: "host")
        let second = try open(&machine, "2")
        _ = try wait(&machine, "g2", "guest")
        _ = machine.share(second, with: "guest", at: .zero)
        _ = machine.remove(first, of: "host")
        #expect(machine.guests(of: second) == ["guest"])
        expect(use(&machine, "guest") == "2")
    }

    @Test func theEndOfThePoolEndsSharing() throws {
        var machine = machine()
        let link = try open(&machine)
        _ = try wait(&machine, "g", "guest")
        _ = machine.shutDown()
        expect(machine.share(link, with: "guest", at: .zero) == nil)
    }

    // MARK: - Shared connections

    private func mayShare(_ route: Route, _ configure: (inout NIOTransport.Configuration) -> Void = { _ in }) -> Bool {
        var configuration = NIOTransport.Configuration()
        configuration.sharesConnectionsAcrossHosts = true
        configure(&configuration)
        return configuration.mayShareConnections(of: route)
    }

    @Test func onlyDirectRoutesWithTLSAndANameShare() throws {
        let proxy = try ProxyServer(.http(host: "proxy.example", port: 3128))
        #expect(mayShare(Route("https://a.example")))
        #expect(mayShare(Route("https://a.example:8443")))
        #expect(!mayShare(Route("http://a.example")))
        #expect(!mayShare(Route("https://192.0.2.1")))
        #expect(!mayShare(Route("https://[2001:db8::1]")))
        #expect(!mayShare(Route("https://a.example", needsHTTP1: true)))
        #expect(!mayShare(Route("https://a.example", through: proxy, needsTunnel: false)))
        #expect(!mayShare(Route("https://a.example")) { $0.sharesConnectionsAcrossHosts = false })
    }

    @Test func hostsWhoseTrustDiffersDoNotShare() throws {
        let pins = try CertificatePins([
            "**.a.example": ["sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=", "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="]
        ])
        for (host, isAllowed) in [("a.example", false), ("b.a.example", false), ("b.example", true)] {
            #expect(mayShare(Route(Origin(stringLiteral: "https://\(host)"))) { $0.tls.pins = pins } == isAllowed)
        }
        let unchecked = try TLSSettings.UncheckedHosts.hosts("a.example")
        for (host, isAllowed) in [("a.example", false), ("b.example", true)] {
            #expect(
                mayShare(Route(Origin(stringLiteral: "https://\(host)"))) { $0.tls.uncheckedHostsForTesting = unchecked } == isAllowed
            )
        }
        #expect(!mayShare(Route("https://a.example")) { $0.tls.clientCertificate = .init(chainPEMFile: "a.pem", keyPEMFile: "a.key") })
    }
}
#endif
