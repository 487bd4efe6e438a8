#if AsyncHTTPClient
internal import AsyncHTTPClient
internal import Errand
@testable internal import ErrandAsyncHTTPClient
internal import ErrandTesting
internal import NIOCore
internal import Testing

/// Which event loop a request is given to: that of a connection that can take it.
@Suite(.timeLimit(.minutes(5))) struct ConnectionWatchTests {
    private let watch = ConnectionWatch()
    private let group = HTTPClient.defaultEventLoopGroup
    private let host = "a.example"

    private func exchange(on record: ConnectionRecord, host: String? = nil) {
        _ = watch.began(host ?? self.host, on: record)
        watch.ended(on: record)
    }

    private func take(_ authority: String = "a.example") -> ObjectIdentifier? {
        watch.takeEventLoop(for: authority).map { ObjectIdentifier($0) }
    }

    @Test func aConnectionThatRestsIsOfferedOnceAndTheLatestFirst() {
        let loops = Array(group.makeIterator())
        let first = watch.opened(on: loops[0], isMultiplexed: false)
        let second = watch.opened(on: loops[loops.count - 1], isMultiplexed: false)
        #expect(take() == nil)
        exchange(on: first)
        exchange(on: second)
        #expect(take("b.example") == nil)
        #expect(take() == ObjectIdentifier(second.eventLoop))
        #expect(take() == ObjectIdentifier(first.eventLoop))
        #expect(take() == nil)
    }

    @Test func aConnectionIsNotOfferedTwice() {
        let record = watch.opened(on: group.any(), isMultiplexed: false)
        // The client gave it requests for which it was not taken.
        for _ in 0..<3 { exchange(on: record) }
        #expect(take() != nil)
        #expect(take() == nil)
        exchange(on: record)
        #expect(take() != nil)
    }

    @Test func aBusyConnectionIsNotOffered() {
        let record = watch.opened(on: group.any(), isMultiplexed: false)
        exchange(on: record)
        #expect(watch.began(host, on: record))
        #expect(take() == nil)
    }

    @Test func aConnectionWithStreamsIsOfferedUntilItCloses() {
        let record = watch.opened(on: group.any(), isMultiplexed: true)
        #expect(!watch.began(host, on: record))
        #expect(take() == nil)
        watch.ended(on: record)
        for _ in 0..<3 { #expect(take() != nil) }
        #expect(watch.began(host, on: record))
        #expect(take() != nil)
        watch.closed(record)
        #expect(take() == nil)
    }

    @Test func aConnectionThatClosesLeavesTheOrderOfTheOthers() {
        let loops = Array(group.makeIterator())
        let records = [loops[0], loops[loops.count - 1], loops[0]].map { watch.opened(on: $0, isMultiplexed: false) }
        for record in records { exchange(on: record) }
        watch.closed(records[1])
        #expect(take() == ObjectIdentifier(records[2].eventLoop))
        #expect(take() == ObjectIdentifier(records[0].eventLoop))
        #expect(take() == nil)
    }

    /// Against a model that is slow and plain, over many random operations: connections come, go and are taken.
    @Test func idleConnectionsAgreeWithAPlainModel() {
        var generator = SeededGenerator(seed: 7)
        let records = (0..<64).map { ConnectionRecord($0, nil, isMultiplexed: false, eventLoop: group.any()) }
        var idle = IdleConnections()
        var model: [(ticket: Int, record: ConnectionRecord)] = []
        for ticket in 1...20_000 {
            let isGrowing = (ticket / 500) % 2 == 0
            if Int.random(in: 0..<4, using: &generator) < (isGrowing ? 3 : 1) {
                let record = records[ticket % records.count]
                idle.append(record, ticket: ticket)
                model.append((ticket, record))
            } else if let index = model.indices.randomElement(using: &generator) {
                idle.remove(model[index].ticket)
                idle.remove(model[index].ticket)
                model.remove(at: index)
            }
            guard idle.last === model.last?.record, idle.isEmpty == model.isEmpty else {
                Issue.record("after \(ticket) operations, the model has \(model.count)")
                return
            }
        }
    }

    @Test(arguments: [false, true]) func aClosedConnectionIsNotOffered(endsLate: Bool) {
        let record = watch.opened(on: group.any(), isMultiplexed: false)
        _ = watch.began(host, on: record)
        if !endsLate { watch.ended(on: record) }
        watch.closed(record)
        if endsLate { watch.ended(on: record) }
        #expect(take() == nil)
        #expect(watch.connections.isEmpty)
    }
}
#endif
