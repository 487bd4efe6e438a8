#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// HTTP/2 with Apache, haproxy in front of Apache, and Caddy, each in its own way.
    @Suite(.timeLimit(.minutes(5))) struct HTTP2PeerTests {
        /// A server, and how to reach it.
        struct Peer: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let server: RealServer
            var hasTLS = true
            /// The signal for a graceful restart.
            var restart: Int32?

            static let all = [
                Peer(testDescription: "Apache", server: .apacheHTTP2, restart: SIGUSR1),
                Peer(testDescription: "Apache without TLS", server: .apacheHTTP2, hasTLS: false),
                Peer(testDescription: "haproxy", server: .haproxyHTTP2, restart: SIGUSR2),
                Peer(testDescription: "Caddy", server: .caddyHTTP2),
            ].filter { $0.server.isHere }

            func run(_ body: (NIOTransport, String) async throws -> Void) async throws {
                let port = hasTLS ? try server.securePort() : try server.port()
                try await withNIO {
                    if hasTLS { $0.tls.extraRootsPEMFiles = [try server.certificate()] } else { $0.usesHTTP2WithoutTLS = true }
                } _: {
                    try await body($0, "\(hasTLS ? "https" : "http")://localhost:\(port)")
                }
            }
        }

        private static let letters = Data(repeatElement("abcdefghijklmnopqrstuvwxyz", count: 1000).joined().utf8)

        private func get(_ url: String, _ transport: NIOTransport) async throws -> Response {
            try await transport.send(Request(.get, url: url).within(.seconds(20)))
        }

        @Test(arguments: Peer.all) func bodiesArrive(peer: Peer) async throws {
            try await peer.run { transport, base in
                for _ in 0..<2 {
                    let response = try await get(base + "/letters.txt", transport)
                    #expect(response.status == .ok && response.metadata.httpVersion == .http2)
                    let body = try await response.body.collect()
                    #expect(body == Self.letters)
                }
                #expect(transport.openConnections.map(\.httpVersion) == [.http2])
            }
        }

        /// `/count` responds with the length of the body.
        @Test(arguments: Peer.all) func aStreamedBodyArrives(peer: Peer) async throws {
            try await peer.run { transport, base in
                let chunk = Data(repeating: 7, count: 50_000)
                let body = RequestBody.stream(length: nil) { _ in ScriptedBodySource(steps: Array(repeating: { chunk }, count: 20)) }
                let response = try await transport.send(Request(.post, url: base + "/count", body: body).within(.seconds(20)))
                #expect(response.status == .ok)
                let count = try await response.body.collect()
                #expect(String(decoding: count, as: UTF8.self).contains("1000000"))
            }
        }

        /// 8 MiB, read after another exchange has ended on the same connection.
        @Test(arguments: Peer.all) func aSlowReaderGetsALargeBody(peer: Peer) async throws {
            try await peer.run { transport, base in
                _ = try await get(base + "/letters.txt", transport).body.collect()
                let large = try await get(base + "/large", transport)
                var (count, steps) = (0, 0)
                for try await chunk in large.body {
                    count += chunk.count
                    steps += 1
                    guard steps % 100 == 1 else { continue }
                    let small = try await get(base + "/letters.txt", transport).body.collect()
                    #expect(small == Self.letters)
                }
                #expect(count == 8 * 1024 * 1024)
                #expect(transport.openConnections.count == 1)
            }
        }

        @Test(arguments: Peer.all) func manyStreamsShareAConnection(peer: Peer) async throws {
            try await peer.run { transport, base in
                _ = try await get(base + "/letters.txt", transport).body.collect()
                try await withThrowingTaskGroup(of: Data.self) { group in
                    for _ in 0..<90 { group.addTask { try await get(base + "/letters.txt", transport).body.collect() } }
                    for try await body in group { #expect(body == Self.letters) }
                }
                #expect(transport.openConnections.map(\.httpVersion) == [.http2])
            }
        }

        /// The server restarts, and sends a GOAWAY on each connection.
        @Test(arguments: Peer.all.filter { $0.restart != nil }) func aGracefulRestartLosesNoRequest(peer: Peer) async throws {
            let process = try peer.server.process()
            let signal = try #require(peer.restart)
            try await peer.run { transport, base in
                _ = try await get(base + "/letters.txt", transport).body.collect()
                let done = Watched(0)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<8 {
                        group.addTask {
                            for _ in 0..<40 {
                                let body = try await get(base + "/letters.txt", transport).body.collect()
                                #expect(body == Self.letters)
                                done.change { $0 += 1 }
                            }
                        }
                    }
                    try await done.wait { $0 > 40 }
                    #expect(kill(process, signal) == 0)
                    try await group.waitForAll()
                }
                #expect(done.value == 320)
            }
        }
    }
}
#endif
