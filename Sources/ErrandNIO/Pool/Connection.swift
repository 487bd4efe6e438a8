#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore
internal import Synchronization

/// An open connection. Any thread may use the value.
final class Connection: Sendable {
    let number: Int
    let route: Route
    let channel: any Channel
    let loop: any EventLoop
    /// The time at which the connection was opened, as returned by ``Pool/now()``.
    let opened: Duration
    /// The address and the port of the other side; `nil` for a Unix domain socket.
    let peer: (address: String, port: Int)?
    /// The number of exchanges that the connection takes at a time, until the server changes the number.
    let streams: Int
    /// The names of the server's certificate, if exchanges with other origins may use the connection; otherwise empty.
    private let certificateNames: [String]
    /// The HTTP version.
    private let version: HTTPVersion
    private let handler: NIOLoopBound<any HTTPHandler>
    /// The number of exchanges that have begun, in the upper 40 bits, and the number of exchanges in progress, in the lower 24 bits.
    private let usage = Atomic<UInt64>(0)
    private static let oneBegun: UInt64 = 1 << 24

    /// Creates a connection. Must be called on the channel's event loop.
    init(
        _ number: Int, to route: Route, _ channel: any Channel, version: HTTPVersion, streams: Int = 1, certificateNames: [String] = [],
        _ handler: any HTTPHandler
    ) {
        self.number = number
        self.route = route
        self.channel = channel
        loop = channel.eventLoop
        (self.version, self.streams, self.certificateNames) = (version, streams, certificateNames)
        opened = Pool.now()
        peer = channel.remoteAddress.flatMap { peer in peer.ipAddress.flatMap { address in peer.port.map { (address, $0) } } }
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
    }

    var origin: Origin { route.origin }
    var loopID: ObjectIdentifier { ObjectIdentifier(loop) }

    // MARK: - Exchanges

    /// Hands an exchange to the handler, on the event loop of the connection.
    func dispatch(_ exchange: Exchange) {
        // On the event loop, the handler is called directly, because a closure would need an allocation.
        if loop.inEventLoop { return handler.value.accept(exchange, on: self) }
        onLoop { [self] in $0.accept(exchange, on: self) }
    }

    /// Ends an exchange, if this connection still has the exchange.
    ///
    /// - Parameter error: the reason for the end; `nil` if the rest of the response is not needed.
    func end(_ exchange: Exchange, because error: (any Error)?) { onLoop { $0.end(exchange, because: error) } }

    /// Ends an attempt, if the attempt is in progress.
    ///
    /// - Parameter error: the reason for the end; `nil` if the rest of the response is not needed.
    func end(_ attempt: AttemptID, because error: (any Error)?) { onLoop { $0.end(attempt, because: error) } }

    /// Resumes reading a response from the connection when the reader can take more data.
    func readOn(_ attempt: AttemptID) { onLoop { $0.readOn(attempt) } }

    func close() { onLoop { $0.close() } }

    func onLoop(_ body: @escaping @Sendable (any HTTPHandler) -> Void) {
        if loop.inEventLoop {
            body(handler.value)
        } else {
            loop.execute { [handler] in body(handler.value) }
        }
    }

    /// Runs `body` on the event loop in a later turn, even if the caller runs on the event loop.
    func onNextTurn(_ body: @escaping @Sendable (any HTTPHandler) -> Void) { loop.execute { [handler] in body(handler.value) } }

    // MARK: - State

    /// Counts an exchange that begins. Returns whether the connection was used before.
    func countBegin() -> Bool { usage.wrappingAdd(Self.oneBegun + 1, ordering: .relaxed).oldValue > 0 }
    func countEnd() { usage.wrappingSubtract(1, ordering: .relaxed) }

    /// Whether an exchange is in progress.
    var isInUse: Bool { exchanges.inProgress > 0 }

    private var exchanges: (begun: Int, inProgress: Int) {
        let usage = usage.load(ordering: .relaxed)
        return (Int(usage / Self.oneBegun), Int(usage % Self.oneBegun))
    }

    /// Returns whether exchanges with another origin may use the connection. `addresses` are the addresses of the origin's host. The server
    /// must have one of the addresses and the origin's port, and its certificate must be valid for the host ([RFC 9113, section
    /// 9.1.1](https://www.rfc-editor.org/rfc/rfc9113#section-9.1.1)).
    ///
    /// The result does not depend on the settings: see ``NIOTransport/Configuration/mayShareConnections(of:)``.
    func isValid(for origin: Origin, at addresses: [IPAddress]) -> Bool {
        guard !certificateNames.isEmpty, !addresses.isEmpty, let peer, peer.port == origin.effectivePort else { return false }
        guard let address = try? IPAddress(peer.address), addresses.contains(address) else { return false }
        return certificateNames.contains { CertificateNames.matches($0, origin.host) }
    }

    /// Returns the description of the connection for the events of an exchange with an origin.
    func info(for origin: Origin, isReused: Bool) -> ConnectionInfo {
        ConnectionInfo(
            number: number, isReused: isReused, peerAddress: peer?.address, peerPort: peer?.port,
            openedFor: origin == self.origin ? nil : self.origin)
    }

    /// The report for observers after the connection has closed.
    var closed: ClosedConnection {
        ClosedConnection(
            number: number, origin: origin, peerAddress: peer?.address, httpVersion: version, exchangesStarted: exchanges.begun,
            duration: Pool.now() - opened)
    }

    /// Returns the description of the open connection.
    ///
    /// - Parameter guests: the other origins whose exchanges may use the connection.
    func shown(sharedWith guests: [Origin]) -> OpenConnection {
        let (begun, inProgress) = exchanges
        return OpenConnection(
            number: number, authority: origin.authority, exchanges: inProgress, exchangesStarted: begun, scheme: origin.scheme,
            peerAddress: peer?.address, peerPort: peer?.port, age: Pool.now() - opened, httpVersion: version,
            proxy: route.proxy?.shown, sharedWith: guests.sorted { $0.description < $1.description })
    }
}
#endif
