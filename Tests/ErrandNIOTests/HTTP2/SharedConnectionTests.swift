#if SWIFT_NIO && MockServer
import ErrandConformance
import ErrandCore
import ErrandMockServer
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// Several hosts over one connection of HTTP/2 (RFC 9113, section 9.1.1).
    @Suite(.timeLimit(.minutes(5))) struct SharedConnectionTests {
        /// The authority of all servers: its key is made once.
        private static let authority = Result { try TestAuthority() }
        static let pair = ["a.example", "b.example"]

        /// Runs `body` with a server that responds with the authority of the request, and a transport that shares connections.
        ///
        /// - Parameters:
        ///   - resolver: every host is at 127.0.0.1 by default.
        ///   - respond: makes another response, unless it returns `nil`.
        private func with(
            _ names: [String] = pair, protocols: [MockServer.ApplicationProtocol] = [.http2], resolver: (any HostResolver)? = nil,
            _ configure: (inout NIOTransport.Configuration) throws -> Void = { _ in },
            respond: @escaping @Sendable (IncomingRequest) async throws -> MockResponse? = { _ in nil },
            _ body: (NIOTransport, MockServer) async throws -> Void
        ) async throws {
            let authority = try Self.authority.get()
            let folder = try TestFolder("authority")
            try authority.writeCertificate(toPath: folder.file("authority.pem"))
            try await withMockServer(.tls(try authority.certificate(for: names), protocols: protocols)) { server in
                server.dispatch { try await respond($0) ?? .text($0.head.authority ?? "") }
                try await withNIO {
                    $0.tls.extraRootsPEMFiles = [folder.file("authority.pem")]
                    $0.resolver = try resolver ?? HostOverrides(["*:\(server.port):127.0.0.1"])
                    $0.sharesConnectionsAcrossHosts = true
                    try configure(&$0)
                } _: {
                    try await body($0, server)
                }
            }
        }

        private func request(
            _ host: String, _ server: MockServer, _ method: HTTPRequest.Method = .get, _ body: RequestBody = .empty, path: String = "/"
        ) throws -> Request {
            try Request(method, url: "https://\(host):\(server.port)\(path)", body: body).within(.seconds(20))
        }

        /// Sends a request, and checks that the response is the one for the host.
        private func get(_ host: String, _ transport: NIOTransport, _ server: MockServer) async throws {
            let response = try await transport.send(request(host, server))
            let text = String(decoding: try await response.body.collect(), as: UTF8.self)
            #expect(response.status == .ok && text == "\(host):\(server.port)")
        }

        /// `a0 b0`: the hosts of the requests that the server got, in their order, with the numbers of the connections.
        private func log(_ server: MockServer) -> String {
            server.requests.map { "\($0.head.authority?.prefix { $0 != "." } ?? "")\($0.connectionIndex)" }.joined(separator: " ")
        }

        // MARK: - Shared connections

        @Test func twoHostsShareAConnection() async throws {
            let sink = RecordingEventSink()
            try await with { transport, server in
                try await get("a.example", transport, server)
                #expect(transport.openConnections.map(\.sharedWith) == [[]])
                var second = try request("b.example", server)
                second.options.eventSink = sink
                let response = try await transport.send(second)
                #expect(response.metadata.httpVersion == .http2)
                #expect(try await response.body.collect() == Data("b.example:\(server.port)".utf8))
                try await get("a.example", transport, server)
                try await get("b.example", transport, server)
                #expect(log(server) == "a0 b0 a0 b0")
                #expect(server.requests.allSatisfy { $0.serverName == "a.example" })
                let (a, b): (Origin, Origin) = ("https://a.example:\(server.port)", "https://b.example:\(server.port)")
                let open = try #require(transport.openConnections.first)
                #expect(transport.openConnections.count == 1 && open.authority == a.authority && open.sharedWith == [b])
                #expect(open.exchangesStarted == 4)
                #expect("\(open)".contains(" https://a.example:\(server.port) at 127.0.0.1:\(server.port), shared with \(b), HTTP/2"))
                let acquired = sink.events.first { $0.kind == .connectionAcquired }?.connection
                #expect(acquired?.openedFor == a && acquired?.isReused == true && acquired?.number == open.number)
            }
            #expect(EventGrammar.violations(sink.events, isCall: false) == [])
            let kinds = sink.events.map(\.kind)
            #expect(kinds.contains(.dnsEnd) && !kinds.contains(.tlsStart))
            #expect(sink.events.contains { "\($0)".contains("reused connection 1 of https://a.example:") })
        }

        @Test func hostsShareNoConnectionWithoutTheSetting() async throws {
            try await with {
                $0.sharesConnectionsAcrossHosts = false
            } _: { transport, server in
                for host in ["a.example", "b.example", "a.example"] { try await get(host, transport, server) }
                #expect(log(server) == "a0 b1 a0")
                #expect(transport.openConnections.allSatisfy { $0.sharedWith.isEmpty })
            }
        }

        /// The first address of the second host differs.
        @Test func oneCommonAddressAllowsSharing() async throws {
            let resolver = StubResolver { host in
                host == "a.example" ? [try IPAddress("127.0.0.1")] : [try IPAddress("127.0.0.2"), try IPAddress("127.0.0.1")]
            }
            try await with(resolver: resolver) { transport, server in
                for host in ["a.example", "b.example", "b.example"] { try await get(host, transport, server) }
                #expect(log(server) == "a0 b0 b0")
                // While the connection is open, nothing is looked up.
                #expect(resolver.asked.value == ["a.example:\(server.port)", "b.example:\(server.port)"])
            }
        }

        @Test(arguments: [
            ("*.a.example", "x.a.example", "y.a.example"), ("*.A.Example", "x.a.example", "y.a.example"),
            ("xn--bcher-kva.example", "a.example", "bücher.example"),
        ])
        func aNameOfTheCertificateMatchesTheHost(name: String, first: String, second: String) async throws {
            try await with([name, "a.example"]) { transport, server in
                try await get(first, transport, server)
                let response = try await transport.send(request(second, server))
                #expect(response.status == .ok)
                _ = try await response.body.collect()
                #expect(server.requests.map(\.connectionIndex) == [0, 0])
            }
        }

        /// The connection of another origin opens while the origin's own connection is still in its handshake.
        @Test func aConnectionThatOpensDuringTheLookupIsShared() async throws {
            let sink = RecordingEventSink()
            try await with { transport, server in
                server.failConnections(.stall)
                var waiting = try request("b.example", server)
                waiting.options.eventSink = sink
                async let second = transport.send(waiting)
                try await server.waitUntil { $0.acceptedConnections == 1 }
                try await poll("the handshake", value: { sink.events.map(\.kind) }) { $0.contains(.tlsStart) }
                try await get("a.example", transport, server)
                #expect(try await second.body.collect() == Data("b.example:\(server.port)".utf8))
                #expect(log(server).split(separator: " ").sorted() == ["a1", "b1"])
                #expect(transport.openConnections.count == 1)
                // The other handshake was given up.
                try await server.waitUntil { $0.openConnections == 1 }
            }
            #expect(EventGrammar.violations(sink.events, isCall: false) == [])
        }

        @Test func manyFirstRequestsOfTwoHostsShareAConnection() async throws {
            try await with { transport, server in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<100 { group.addTask { try await get(Self.pair[number % 2], transport, server) } }
                    try await group.waitForAll()
                }
                #expect(server.requests.count == 100)
                #expect((1...2).contains(server.counts.acceptedConnections))
                #expect(transport.waitingExchanges.isEmpty)
                #expect(transport.openConnections.allSatisfy { $0.isIdle })
                let opened = server.counts.acceptedConnections
                for host in Self.pair { try await get(host, transport, server) }
                #expect(server.counts.acceptedConnections == opened)
            }
        }

        @Test func manyRequestsOfManyHostsShareAConnection() async throws {
            try await with(["*.a.example"]) { transport, server in
                try await get("first.a.example", transport, server)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<90 { group.addTask { try await get("h\(number % 30).a.example", transport, server) } }
                    try await group.waitForAll()
                }
                #expect(server.counts.acceptedConnections == 1)
                #expect(transport.openConnections.first?.sharedWith.count == 30)
            }
        }

        // MARK: - Separate connections

        /// The certificate of the open connection is not valid for the second host, whose own connection fails.
        @Test(arguments: [
            (["a.example"], "b.example"), (["a.example", "*.b.example"], "b.example"), (["a.example", "*.b.example"], "y.x.b.example"),
            (["a.example", "b*.example"], "xb.example"), (["a.example", "xb.example"], "b.example"),
        ])
        func anUncoveredHostGetsItsOwnConnection(names: [String], host: String) async throws {
            try await with(names) { transport, server in
                try await get("a.example", transport, server)
                let error = try await transportError { try await transport.send(request(host, server)) }
                #expect(error.code == .tls)
                #expect(log(server) == "a0")
                #expect(server.counts.acceptedConnections == 2)
            }
        }

        /// Nothing listens at the address of the second host.
        @Test func aHostWithAnotherAddressGetsItsOwnConnection() async throws {
            let resolver = StubResolver { [try IPAddress($0 == "a.example" ? "127.0.0.1" : "127.0.0.2")] }
            try await with(resolver: resolver) { transport, server in
                try await get("a.example", transport, server)
                let error = try await transportError { try await transport.send(request("b.example", server)) }
                #expect(error.code == .cannotConnect)
                #expect(log(server) == "a0")
            }
        }

        @Test func aHostWithAnotherPortGetsItsOwnConnection() async throws {
            try await with(resolver: StubResolver("127.0.0.1")) { transport, server in
                try await get("a.example", transport, server)
                try await withMockServer(.tls(try Self.authority.get().certificate(for: Self.pair))) { other in
                    other.dispatch { .text($0.head.authority ?? "") }
                    for host in ["b.example", "a.example"] { try await get(host, transport, other) }
                    // At the other port, they share.
                    #expect(log(other) == "b0 a0")
                }
                #expect(log(server) == "a0")
            }
        }

        @Test func addressesShareNoConnection() async throws {
            try await with(["a.example", "127.0.0.1"]) { transport, server in
                for host in ["127.0.0.1", "a.example", "127.0.0.1"] { try await get(host, transport, server) }
                #expect(server.requests.map(\.connectionIndex) == [0, 1, 0])
            }
        }

        @Test func pinnedHostsShareNoConnection() async throws {
            try await with {
                let pins = ["sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=", "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="]
                $0.tls.pins = try CertificatePins(["b.example": pins])
            } _: { transport, server in
                try await get("a.example", transport, server)
                let error = try await transportError { try await transport.send(request("b.example", server)) }
                #expect(error.underlying is CertificatePinError)
                #expect(log(server) == "a0")
            }
        }

        @Test func uncheckedHostsShareNoConnection() async throws {
            try await with {
                $0.tls.uncheckedHostsForTesting = try .hosts("a.example")
            } _: { transport, server in
                for host in ["a.example", "b.example", "a.example"] { try await get(host, transport, server) }
                #expect(log(server) == "a0 b1 a0")
            }
        }

        @Test func connectionsOfHTTP1AreNotShared() async throws {
            try await with(protocols: [.http1_1]) { transport, server in
                for host in ["a.example", "b.example", "a.example"] { try await get(host, transport, server) }
                #expect(log(server) == "a0 b1 a0")
            }
        }

        @Test func connectionsWithoutTLSAreNotShared() async throws {
            try await withMockServer(.http2) { server in
                server.dispatch { .text($0.head.authority ?? "") }
                try await withNIO {
                    ($0.usesHTTP2WithoutTLS, $0.sharesConnectionsAcrossHosts) = (true, true)
                    $0.resolver = try HostOverrides(["*:\(server.port):127.0.0.1"])
                } _: { transport in
                    for host in Self.pair {
                        _ = try await transport.send(Request(.get, url: "http://\(host):\(server.port)/")).body.collect()
                    }
                    #expect(log(server) == "a0 b1")
                }
            }
        }

        @Test func preconnectOpensItsOwnConnection() async throws {
            try await with { transport, server in
                try await get("a.example", transport, server)
                try await transport.preconnect(to: "https://b.example:\(server.port)")
                try await get("b.example", transport, server)
                #expect(log(server) == "a0 b1")
            }
        }

        // MARK: - 421

        /// A server that serves a host only on a connection whose handshake has named it.
        private static func strict(_ request: IncomingRequest) async throws -> MockResponse? {
            _ = try await request.body()
            return request.head.authority?.hasPrefix(request.serverName ?? "none") == true ? nil : .status(.init(code: 421))
        }

        @Test(arguments: [HTTPRequest.Method.get, .post])
        func aMisdirectedRequestIsSentAgainOverItsOwnConnection(method: HTTPRequest.Method) async throws {
            let sink = RecordingEventSink()
            try await with(respond: Self.strict) { transport, server in
                try await get("a.example", transport, server)
                var second = try request("b.example", server, method, method == .post ? .text("pay") : .empty)
                second.options.eventSink = sink
                let response = try await transport.send(second)
                #expect(response.status == .ok)
                #expect(try await response.body.collect() == Data("b.example:\(server.port)".utf8))
                for host in ["b.example", "a.example", "b.example"] { try await get(host, transport, server) }
                // `b.example` is not tried again on the connection of `a.example`, which stays open.
                #expect(log(server) == "a0 b0 b1 b1 a0 b1")
                #expect(transport.openConnections.map(\.sharedWith) == [[], []])
            }
            #expect(EventGrammar.violations(sink.events, isCall: false) == [])
            #expect(sink.events.filter { $0.kind == .responseHead }.map { $0.response?.status.code } == [421, 200])
            #expect(sink.events.filter { $0.kind == .connectionAcquired }.map { $0.connection?.openedFor == nil } == [false, true])
        }

        @Test func aMisdirectedHostStaysUnsharedAfterItsConnection() async throws {
            try await with(respond: { request in
                guard request.path == "/last" else { return try await Self.strict(request) }
                return .text("").fault(.goAway(includesStream: true), at: .responseStart)
            }) { transport, server in
                for host in Self.pair { try await get(host, transport, server) }
                _ = try await transport.send(request("b.example", server, path: "/last")).body.collect()
                try await poll("one connection", value: { transport.openConnections.map(\.number) }) { $0.count == 1 }
                try await get("b.example", transport, server)
                #expect(log(server) == "a0 b0 b1 b1 b2")
            }
        }

        @Test func aRequestWithAOneShotBodyGetsThe421() async throws {
            try await with(respond: Self.strict) { transport, server in
                try await get("a.example", transport, server)
                let once = AsyncStream<Data> { continuation in
                    continuation.yield(Data("once".utf8))
                    continuation.finish()
                }
                let response = try await transport.send(request("b.example", server, .put, .stream(once)))
                #expect(response.status.code == 421)
                _ = try await response.body.collect()
                // It is remembered all the same.
                for host in ["b.example", "a.example"] { try await get(host, transport, server) }
                #expect(log(server) == "a0 b0 b1 a0")
            }
        }

        @Test func concurrentMisdirectedRequestsAreSentAgain() async throws {
            try await with(respond: Self.strict) { transport, server in
                try await get("a.example", transport, server)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<60 { group.addTask { try await get(Self.pair[number % 2], transport, server) } }
                    try await group.waitForAll()
                }
                try await get("b.example", transport, server)
                #expect(log(server).hasSuffix(" b1"))
            }
        }

        // MARK: - The end

        /// The server says that it has not processed the guest's request.
        @Test func aGoAwayMovesBothHostsToAnotherConnection() async throws {
            try await with(respond: { request in
                guard request.connectionIndex == 0, request.path == "/last" else { return nil }
                return .text("").fault(.goAway(includesStream: false), at: .responseStart)
            }) { transport, server in
                for host in Self.pair { try await get(host, transport, server) }
                let response = try await transport.send(request("b.example", server, path: "/last"))
                #expect(try await response.body.collect() == Data("b.example:\(server.port)".utf8))
                for host in Self.pair { try await get(host, transport, server) }
                // The second connection is the guest's own; the first host is its guest now.
                #expect(log(server) == "a0 b0 b0 b1 a1 b1")
                try await poll("the end of the first", value: { transport.openConnections.map(\.number).count }) { $0 == 1 }
                #expect(transport.openConnections.first?.authority == "b.example:\(server.port)")
            }
        }

        @Test func aLostConnectionIsReplacedForBothHosts() async throws {
            try await with(respond: { request in
                request.connectionIndex == 0 && request.exchangeIndex > 1 ? .text("").fault(.close, at: .responseStart) : nil
            }) { transport, server in
                for host in Self.pair + Self.pair { try await get(host, transport, server) }
                #expect(log(server) == "a0 b0 a0 a1 b1")
            }
        }

        @Test func anUnusedConnectionIsClosedOnce() async throws {
            let closed = Watched<[ClosedConnection]>([])
            try await with {
                $0.idleTimeout = .milliseconds(50)
            } _: { transport, server in
                transport.observeClosedConnections(as: "test") { connection in closed.change { $0.append(connection) } }
                for host in Self.pair { try await get(host, transport, server) }
                try await closed.wait { !$0.isEmpty }
                try await get("b.example", transport, server)
                #expect(log(server).hasSuffix(" b\(closed.value.count)"))
                #expect(server.counts.acceptedConnections >= 2)
            }
        }

        @Test func aCancelledRequestHoldsNoConnection() async throws {
            let isHeld = Watched(false)
            try await with(respond: { request in
                guard request.path == "/held" else { return nil }
                isHeld.change { $0 = true }
                return .text("").fault(.stall, at: .responseStart)
            }) { transport, server in
                for host in Self.pair { try await get(host, transport, server) }
                let held = try request("b.example", server, path: "/held")
                let task = Task { try await transport.send(held) }
                try await isHeld.wait { $0 }
                #expect(transport.openConnections.map(\.exchanges) == [1])
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                try await poll("the end of the exchange", value: { transport.openConnections.map(\.exchanges) }) { $0 == [0] }
                // The server notes an exchange when it is over there, too.
                try await poll("the end at the server", value: { log(server) }) { $0 == "a0 b0 b0" }
                for host in Self.pair { try await get(host, transport, server) }
                #expect(log(server) == "a0 b0 b0 a0 b0")
            }
        }

        @Test func aRequestCancelledDuringTheLookupHoldsNoConnection() async throws {
            let mayEnd = Watched(false)
            let resolver = StubResolver { host in
                if host == "b.example" { try await mayEnd.wait { $0 } }
                return [try IPAddress("127.0.0.1")]
            }
            try await with(resolver: resolver) { transport, server in
                try await get("a.example", transport, server)
                let waiting = try request("b.example", server)
                let task = Task { try await transport.send(waiting) }
                try await resolver.asked.wait { $0.count == 2 }
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                #expect(transport.waitingExchanges.isEmpty)
                #expect(transport.openConnections.map(\.sharedWith) == [[]])
                mayEnd.change { $0 = true }
                try await get("b.example", transport, server)
                #expect(log(server) == "a0 b0")
            }
        }

        @Test func theEndOfTheTransportEndsBothHosts() async throws {
            let held = Watched(0)
            try await with(respond: { _ in
                held.change { $0 += 1 }
                return .text("").fault(.stall, at: .responseStart)
            }) { transport, server in
                async let first = transportError { try await transport.send(request("a.example", server)) }
                try await held.wait { $0 == 1 }
                async let second = transportError { try await transport.send(request("b.example", server)) }
                try await held.wait { $0 == 2 }
                #expect(server.counts.acceptedConnections == 1)
                try await transport.shutdown()
                #expect(try await [first.code, second.code] == [.shutDown, .shutDown])
                #expect(transport.openConnections.isEmpty && transport.waitingExchanges.isEmpty)
            }
        }

        // MARK: - Others

        /// `strict.localhost` asks for a client certificate: nginx serves it only on connections whose handshake has named it.
        @Test(.enabled(if: NginxServer.isHere, "\(NginxServer.missing)"))
        func nginxServesTwoHostsOverOneConnectionAndRefusesAThird() async throws {
            let nginx = try await NginxServer.shared()
            let port = nginx.port(.tls)
            try await withNIO {
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
                $0.resolver = try HostOverrides(["*:\(port):127.0.0.1"])
                $0.sharesConnectionsAcrossHosts = true
            } _: { transport in
                func get(_ host: String) async throws -> (connection: String?, requests: String?) {
                    let url = nginx.url("/small", .tls, host: host)
                    let response = try await transport.send(Request(.get, url: url).within(.seconds(20)))
                    #expect(response.status == .ok)
                    #expect(try await response.body.collect() == NginxServer.small)
                    let names = ["X-Connection", "X-Connection-Requests"].map { HTTPField.Name.custom($0) }
                    return (response.headers[names[0]], response.headers[names[1]])
                }
                let first = try await get("localhost")
                let second = try await get("www.localhost")
                #expect(first.connection == second.connection && second.requests == "2")
                let strict = try await get("strict.localhost")
                #expect(strict.connection != first.connection && strict.requests == "1")
                let again = try await get("strict.localhost")
                #expect(again.connection == strict.connection && again.requests == "2")
                // The one that was refused counts.
                let last = try await get("www.localhost")
                #expect(last.connection == first.connection && last.requests == "4")
            }
        }
    }
}
#endif
