import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ConnectionDurationTests {
    private static let name = "http.client.connection.duration"

    /// A transport whose connections close when the test says so.
    private final class ClosingTransport: HTTPSender, ClosedConnectionReporter {
        let observers = Mutex<[String: @Sendable (ClosedConnection) -> Void]>([:])

        let open = Mutex<[OpenConnection]>([])
        var openConnections: [OpenConnection] { open.withLock { $0 } }
        func observeClosedConnections(as id: String, _ observer: @escaping @Sendable (ClosedConnection) -> Void) {
            observers.withLock { $0[id] = observer }
        }
        func send(_ request: Request) async throws -> Response { throw CancellationError() }

        func close(_ origin: Origin, peer: String? = "192.0.2.1", after duration: Duration) {
            let closed = ClosedConnection(
                number: 1, origin: origin, peerAddress: peer, httpVersion: .http1_1, exchangesStarted: 2, duration: duration)
            for observer in observers.withLock({ Array($0.values) }) { observer(closed) }
        }
    }

    private let metrics = RecordingMetrics()
    private let transport = ClosingTransport()

    @Test func aConnectionIsRecordedWhenItCloses() {
        _ = transport.metrics(factory: metrics)
        transport.close("https://a.example", after: .milliseconds(1500))
        transport.close("http://[::1]:8080", peer: nil, after: .seconds(2))
        #expect(
            metrics.names == [
                "\(Self.name) network.peer.address=192.0.2.1 network.protocol.version=1.1 server.address=a.example server.port=443",
                "\(Self.name) network.protocol.version=1.1 server.address=::1 server.port=8080",
            ])
        #expect(metrics.values(Self.name, ["server.address": "a.example"]) == [1.5])
    }

    @Test func theNumberOfConnectionsFallsWhenOneCloses() async throws {
        transport.open.withLock { $0 = [OpenConnection(number: 1, authority: "a.example", exchanges: 0, exchangesStarted: 1)] }
        let stack = transport.metrics(factory: metrics)
        await #expect(throws: CancellationError.self) { _ = try await stack.send(Request(.get, url: "https://a.example/")) }
        let idle = ["http.connection.state": "idle"]
        #expect(metrics.level("http.client.open_connections", idle) == 1)
        transport.open.withLock { $0 = [] }
        transport.close("https://a.example", after: .seconds(1))
        #expect(metrics.level("http.client.open_connections", idle) == 0)
    }

    @Test func aConnectionOfAnotherSchemeIsNotCounted() {
        func connection(_ number: Int, _ scheme: String?) -> OpenConnection {
            OpenConnection(number: number, authority: "a.example", exchanges: 0, exchangesStarted: 1, scheme: scheme)
        }
        transport.open.withLock { $0 = [connection(1, "http"), connection(2, "https"), connection(3, nil)] }
        let secure = MetricsMiddleware.ConnectionCount(transport, of: "https://a.example")
        #expect(secure == MetricsMiddleware.ConnectionCount(active: 0, idle: 2))
    }

    @Test func theSchemeIsAddedOnDemand() {
        _ = transport.metrics(factory: metrics, attributes: .urlScheme)
        transport.close("https://a.example", after: .seconds(1))
        #expect(metrics.values(Self.name, ["url.scheme": "https"]) == [1])
    }

    @Test func severalStacksRecordAConnectionOnce() {
        for _ in 0..<3 { _ = transport.metrics(factory: metrics).retry() }
        let other = RecordingMetrics()
        _ = transport.metrics(factory: other)
        transport.close("https://a.example", after: .seconds(1))
        #expect(metrics.values(Self.name) == [1])
        #expect(other.values(Self.name) == [1])
    }

    @Test func serversBeyondTheBoundAreCountedTogether() {
        _ = transport.metrics(factory: metrics)
        for number in 0..<1_200 { transport.close("https://\(number).example", after: .seconds(1)) }
        #expect(metrics.values(Self.name).count == 1_200)
        #expect(metrics.values(Self.name, ["server.address": "_OTHER"]).count == 200)
        transport.close("https://7.example", after: .seconds(1))
        #expect(metrics.values(Self.name, ["server.address": "7.example"]).count == 2)
    }
}
