#if NIO
import ErrandCore
@testable import ErrandNIO
import NIOPosix
import Testing

@Suite struct ExchangeTests {
    @Test func theLaterTicketCounts() async throws {
        let settings = NIOTransport.Configuration()
        let pool = Pool(settings, Connector(settings: settings, tls: TLSIdentity()), on: MultiThreadedEventLoopGroup.singleton)
        let request = try Request(.get, url: "http://a.example/")
        let exchange = Exchange(request, to: try #require(request.origin), owner: TransportOwner(pool))
        var machine = Pool.Machine(.init(connectionsPerOrigin: 8, connections: 8, idleTime: .seconds(1)))
        func ticket() throws -> Pool.Ticket {
            let lease = machine.lease(exchange, for: exchange.origin, lane: 3, on: nil, isFresh: true, at: .zero)
            guard case .wait(let ticket, _) = lease else { throw CancellationError() }
            return ticket
        }
        let (first, second) = (try ticket(), try ticket())
        var mustLeave: [Bool] = []
        await #expect(throws: CancellationError.self) {
            _ = try await withUnsafeThrowingContinuation { waiter in
                mustLeave.append(!exchange.begin(waiter))
                // A connection has taken the exchange and was lost, before the first ticket arrived here.
                mustLeave.append(exchange.enqueued(first, timer: nil))
                exchange.cancel()
                mustLeave.append(exchange.enqueued(second, timer: nil))
                mustLeave.append(exchange.enqueued(first, timer: nil))
                exchange.resume(throwing: CancellationError())
            }
        }
        #expect(mustLeave == [false, false, true, false])
    }
}
#endif
