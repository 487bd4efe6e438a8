#if SWIFT_NIO
import ErrandCore
import NIOPosix
import TestSupport
import Testing

@testable import ErrandNIO

@Suite(.timeLimit(.minutes(5))) struct ExchangeTests {
    private func moves(isOneShot: Bool, before: (Exchange) async throws -> Void) async throws -> Bool {
        let settings = NIOTransport.Configuration()
        let pool = Pool(settings, Connector(settings: settings, tls: TLSIdentity()), on: MultiThreadedEventLoopGroup.singleton)
        let body: RequestBody = isOneShot ? .stream(AsyncStream<Data> { $0.finish() }) : .stream { _ in ScriptedBodySource() }
        let url = "http://127.0.0.1/"
        let request = try Request(.put, url: url, body: body)
        let origin = try #require(request.origin)
        let exchange = Exchange(request, to: Route(origin), owner: TransportOwner(pool))
        try await before(exchange)
        var moves = false
        _ = try? await withUnsafeThrowingContinuation { (waiter: Exchange.Waiter) in
            _ = exchange.register(waiter)
            moves = exchange.moveOn(after: .unknown)
            exchange.resume(throwing: CancellationError())
        }
        return moves
    }

    @Test func theLaterTicketCounts() async throws {
        let settings = NIOTransport.Configuration()
        let pool = Pool(settings, Connector(settings: settings, tls: TLSIdentity()), on: MultiThreadedEventLoopGroup.singleton)
        let request = try Request(.get, url: "http://a.example/")
        let exchange = Exchange(request, to: Route(try #require(request.origin)), owner: TransportOwner(pool))
        var machine = Pool.Machine(.init(connectionsPerOrigin: 8, connections: 8, idleTime: .seconds(1)))
        func ticket() throws -> Pool.Ticket {
            let lease = machine.lease(exchange, for: exchange.route, lane: 3, on: nil, isFresh: true, at: .zero)
            guard case .wait(let ticket, _) = lease else { throw CancellationError() }
            return ticket
        }
        let (first, second) = (try ticket(), try ticket())
        var mustLeave: [Bool] = []
        await #expect(throws: CancellationError.self) {
            _ = try await withUnsafeThrowingContinuation { waiter in
                mustLeave.append(!exchange.register(waiter))
                // A connection has taken the exchange and was lost, before the first ticket arrived here.
                mustLeave.append(exchange.enqueued(first))
                exchange.cancel()
                mustLeave.append(exchange.enqueued(second))
                mustLeave.append(exchange.enqueued(first))
                exchange.resume(throwing: CancellationError())
            }
        }
        #expect(mustLeave == [false, false, true, false])
    }

    @Test(arguments: [(true, false, true), (true, true, false), (false, false, true), (false, true, true)])
    func aBodyThatIsReadAndCannotRestartStaysWithItsConnection(isOneShot: Bool, isClaimed: Bool, expected: Bool) async throws {
        let moves = try await moves(isOneShot: isOneShot) { exchange in if isClaimed { try exchange.claimBody() } }
        #expect(moves == expected)
    }

    @Test func aCancelledTaskOfALostConnectionLeavesTheBodyToTheNextTask() async throws {
        let moves = try await moves(isOneShot: true) { exchange in
            let cancelled = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try exchange.claimBody()
            }
            await #expect(throws: CancellationError.self) { try await cancelled.value }
        }
        #expect(moves)
    }
}
#endif
