#if SWIFT_NIO && MockServer
import ErrandConformance
import ErrandCore
import ErrandNIO
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

extension NIOTransportTests {
    /// Exchanges that are cancelled at every job and at every event, over HTTP/2 and through each proxy.
    @Suite(
        .timeLimit(.minutes(5)), .enabled(if: ClientSockets.areKnown, Comment(rawValue: ClientSockets.unknown)),
        .enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)),
        .enabled(if: NghttpdServer.isHere, Comment(rawValue: NghttpdServer.missing)),
        .enabled(if: RealServer.squid.isHere, Comment(rawValue: RealServer.squid.missing)),
        .enabled(if: RealServer.microsocks.isHere, Comment(rawValue: RealServer.microsocks.missing)))
    struct NIOTortureTests {
        /// Each run has a transport of its own: it is also cancelled while it connects.
        @Test(arguments: [TorturedRoute.http1, .http2, .absoluteForm, .secureProxy, .secureTunnel, .socks])
        func aFirstGetIsCancelledAtEveryPoint(route: TorturedRoute) async throws {
            try await route.withPlace { place in
                let ticks = Ticks()
                let last = Mutex<NIOTransport?>(nil)
                let report = try await CancellationTorture(uncancelledRuns: 2, lateJobs: 1_000).run {
                    try await ticks.during {
                        let transport = try NIOTransport(place.configuration)
                        last.withLock { $0 = transport }
                        return try await transport.send(place.request("/small", ticks)).body.collect()
                    }
                } accepts: {
                    $0 == NginxServer.small
                } check: { run in
                    guard let transport = last.withLock({ $0.take() }) else { return }
                    try await place.checkWhatIsLeft(of: transport, "\(run)")
                    try await transport.shutdown()
                    try await poll("no connection", value: { try ClientSockets.count(to: place.port) }) { $0 == 0 }
                }
                #expect(report.cancelled > 5, "\(report)")
            }
        }

        @Test(arguments: TorturedRoute.allCases.filter { $0 != .tunnel && $0 != .socksToTLS }) func aPartlyReadBodyIsCancelledAtEveryPoint(
            route: TorturedRoute
        )
            async throws
        {
            try await route.withPlace { place in
                try await place.torture { send in
                    var read = Data()
                    for try await chunk in try await send(.get, "/5m", .empty).body {
                        read += chunk
                        if read.count > 100_000 { break }
                    }
                    return read
                } accepts: { read in
                    let isRight = read == NginxServer.large.prefix(read.count)
                    return isRight && read.count > 100_000
                }
            }
        }

        /// A response that nobody reads.
        @Test(arguments: [TorturedRoute.http1, .http2, .absoluteForm, .tunnelOfHTTP1, .secureProxy, .secureTunnel, .socksToTLS])
        func aDroppedBodyIsCancelledAtEveryPoint(route: TorturedRoute) async throws {
            try await route.withPlace { place in
                try await place.torture(leastCancelled: 1) { send in
                    try await send(.get, "/5m", .empty).status
                } accepts: {
                    $0 == .ok
                }
            }
        }

        /// Over TLS, the end of the other side comes after bytes that nobody reads. Therefore the test does not wait for this end.
        @Test(arguments: TorturedRoute.allCases.filter { ![.http2, .http2WithoutTLS, .tunnel, .secureTunnel, .socksToTLS].contains($0) })
        func theConnectionOfADroppedBodyIsClosedImmediately(route: TorturedRoute) async throws {
            try await route.withPlace { place in
                try await withTransport(try NIOTransport(place.configuration)) { transport in
                    let status = try await transport.send(place.request("/5m", nil)).status
                    #expect(status == .ok)
                    let time = try await ContinuousClock().measure {
                        try await poll("no connection", value: { try ClientSockets.count(to: place.port) }) { $0 == 0 }
                    }
                    #expect(time < .seconds(2))
                }
            }
        }

        /// Also at each chunk of the body.
        @Test(arguments: [TorturedRoute.http2, .tunnel, .secureTunnel, .socks]) func anUploadIsCancelledAtEveryPoint(route: TorturedRoute)
            async throws
        {
            try await route.withPlace { place in
                try await place.torture { send in
                    let body = RequestBody.stream(length: nil) { _ in
                        ScriptedBodySource(steps: Array(repeating: { Data(repeating: 1, count: 20_000) }, count: 10))
                    }
                    let response = try await send(.post, "/small", body)
                    _ = try await response.body.collect()
                    return response.status.code
                } accepts: { status in
                    // nginx has no program for it, nghttpd sends it back.
                    let isRight = status == 405 || status == 200
                    return isRight
                }
            }
        }

        /// Another exchange on the same connection is read during the runs, and gets its whole body.
        @Test(arguments: [TorturedRoute.http2, .tunnel])
        func aNeighborOfACancelledCallIsWhole(route: TorturedRoute) async throws {
            try await route.withPlace { place in
                try await withTransport(try NIOTransport(place.configuration)) { transport in
                    // The time that all runs take on a busy machine.
                    let neighbor = try await transport.send(place.request("/5m", nil).within(.seconds(280)))
                    var chunks = neighbor.body.makeAsyncIterator()
                    var read = try await chunks.next() ?? Data()
                    let ticks = Ticks()
                    let report = try await CancellationTorture(uncancelledRuns: 2, lateJobs: 1_000).run {
                        try await ticks.during { try await transport.send(place.request("/300k", ticks)).body.collect() }
                    } accepts: {
                        $0 == NginxServer.middle
                    } check: { run in
                        try await poll("one exchange", value: { transport.openConnections.map(\.exchanges) }) { $0 == [1] }
                        // The exchange goes on while more than a window is left.
                        if read.count < 2 * 1024 * 1024 { read += try await chunks.next() ?? Data() }
                        let connections = try ClientSockets.count(to: place.port)
                        #expect(connections == 1, "\(run)")
                    }
                    while let chunk = try await chunks.next() { read += chunk }
                    let isWhole = read == NginxServer.large
                    #expect(isWhole)
                    #expect(report.cancelled > 5, "\(report)")
                }
            }
        }
    }
}

/// What lies between the transport and a server.
enum TorturedRoute: String, CaseIterable, CustomTestStringConvertible {
    case http1 = "HTTP/1.1 over TLS"
    case http2 = "HTTP/2 over TLS"
    case http2WithoutTLS = "HTTP/2 without TLS"
    case absoluteForm = "an HTTP proxy"
    case tunnel = "a tunnel, with HTTP/2"
    case tunnelOfHTTP1 = "a tunnel, with HTTP/1.1"
    case secureProxy = "an HTTPS proxy"
    case secureTunnel = "a tunnel through an HTTPS proxy, with HTTP/2"
    case secureTunnelOfHTTP1 = "a tunnel through an HTTPS proxy, with HTTP/1.1"
    case socks = "a SOCKS proxy"
    case socksToTLS = "a SOCKS proxy, with HTTP/2"

    var testDescription: String { rawValue }

    /// Calls `body` with a server, and a configuration that leads there.
    func withPlace(_ body: (TorturedPlace) async throws -> Void) async throws {
        var configuration = NIOTransport.Configuration()
        // Reading the roots of the system takes 100 ms.
        configuration.tls.uncheckedHostsForTesting = .loopback
        configuration.maxConnectionsPerOrigin = 1
        guard self != .http2WithoutTLS else {
            configuration.usesHTTP2WithoutTLS = true
            return try await withNghttpd(configuration, body)
        }
        let nginx = try await NginxServer.shared()
        let listener: NginxServer.Listener
        let proxyPort: Int?
        switch self {
        case .http1, .http2, .http2WithoutTLS:
            (listener, proxyPort) = (.tls, nil)
            configuration.allowsHTTP2 = self == .http2
        case .absoluteForm, .tunnel, .tunnelOfHTTP1:
            let port = try RealServer.squid.port()
            (listener, proxyPort) = (self == .absoluteForm ? .plain : .tls, port)
            configuration.proxy = .all(.http(host: "127.0.0.1", port: port))
            configuration.allowsHTTP2 = self != .tunnelOfHTTP1
        case .secureProxy, .secureTunnel, .secureTunnelOfHTTP1:
            let port = try RealServer.squid.securePort()
            (listener, proxyPort) = (self == .secureProxy ? .plain : .tls, port)
            configuration.proxy = .all(.https(host: "localhost", port: port))
            configuration.allowsHTTP2 = self != .secureTunnelOfHTTP1
        case .socks, .socksToTLS:
            let port = try RealServer.microsocks.port()
            (listener, proxyPort) = (self == .socks ? .plain : .tls, port)
            configuration.proxy = .all(.socks5(host: "127.0.0.1", port: port, credentials: ("joe", "pw")))
        }
        try await body(
            TorturedPlace(
                base: nginx.url("", listener, host: "localhost"), port: proxyPort ?? nginx.port(listener), configuration: configuration))
    }

    private func withNghttpd(
        _ configuration: NIOTransport.Configuration, _ body: (TorturedPlace) async throws -> Void
    ) async throws {
        let folder = try TestFolder("www")
        for (name, content) in [("small", NginxServer.small), ("300k", NginxServer.middle), ("5m", NginxServer.large)] {
            try folder.write(content, to: name)
        }
        let server = try await NghttpdServer(serving: folder)
        do {
            try await body(TorturedPlace(base: server.url(""), port: server.port, configuration: configuration))
        } catch {
            try? await server.stopped()
            throw error
        }
        try await server.stopped()
    }
}

/// A server, and the way to it.
struct TorturedPlace: Sendable {
    typealias Send = @Sendable (HTTPRequest.Method, String, RequestBody) async throws -> Response

    let base: String
    /// The port that the transport connects to.
    let port: Int
    let configuration: NIOTransport.Configuration

    func request(_ path: String, _ ticks: Ticks?, _ method: HTTPRequest.Method = .get, _ body: RequestBody = .empty) throws -> Request {
        var request = try Request(method, url: base + path, body: body).within(.seconds(20))
        request.options.eventSink = ticks
        return request
    }

    /// Cancels a scenario at every point. All runs have one transport, with one connection.
    func torture<Value: Sendable>(
        leastCancelled: Int = 5, _ scenario: @escaping @Sendable (@escaping Send) async throws -> Value, accepts: (Value) -> Bool
    ) async throws {
        try await withTransport(try NIOTransport(configuration)) { transport in
            let ticks = Ticks()
            let report = try await CancellationTorture(uncancelledRuns: 2, leastCancelled: leastCancelled, lateJobs: 1_000).run {
                try await ticks.during {
                    try await scenario { try await transport.send(request($1, ticks, $0, $2)) }
                }
            } accepts: {
                accepts($0)
            } check: { run in
                try await checkWhatIsLeft(of: transport, "\(run)")
            }
            #expect(report.uncancelled >= 2, "\(report)")
        }
    }

    /// The next request works, and then no exchange goes on, none waits, and one connection is kept at most.
    func checkWhatIsLeft(of transport: NIOTransport, _ run: String) async throws {
        let body = try await transport.send(request("/small", nil)).body.collect()
        let isRight = body == NginxServer.small
        #expect(isRight, "\(run)")
        try await poll("the end of all exchanges", value: { transport.openConnections.map(\.exchanges) }) { $0 == [0] || $0 == [] }
        #expect(transport.waitingExchanges.isEmpty, "\(run)")
        try await poll("one connection", value: { try ClientSockets.count(to: port) }) { $0 <= 1 }
    }
}
#endif
