#if AsyncHTTPClient
internal import AsyncHTTPClient
internal import Errand
@testable internal import ErrandAsyncHTTPClient
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
