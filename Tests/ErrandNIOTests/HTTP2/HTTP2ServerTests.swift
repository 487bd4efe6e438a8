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
    /// HTTP/2 with servers of others, and with many streams.
    @Suite(.timeLimit(.minutes(5))) struct HTTP2ServerTests {
        // MARK: - nginx

        private func withNginx(_ body: (NIOTransport, NginxServer) async throws -> Void) async throws {
            let nginx = try await NginxServer.shared()
            try await withNIO {
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
            } _: {
                try await body($0, nginx)
            }
        }

        @Test(.enabled(if: NginxServer.isHere, "\(NginxServer.missing)"))
        func nginxChoosesHTTP2() async throws {
            try await withNginx { transport, nginx in
                let files = [("/small", NginxServer.small), ("/300k", NginxServer.middle), ("/5m", NginxServer.large), ("/empty", Data())]
                for (path, expected) in files {
                    let sink = RecordingEventSink()
                    var request = try Request(.get, url: nginx.url(path, .tls)).within(.seconds(20))
                    request.options.eventSink = sink
                    let response = try await transport.send(request)
                    #expect(response.metadata.httpVersion == .http2)
                    #expect(try await response.body.collect() == expected, "\(path)")
                    #expect(EventGrammar.violations(sink.events, isCall: false) == [])
                }
                let head = try await transport.send(Request(.head, url: nginx.url("/300k", .tls)).within(.seconds(10)))
                #expect(head.headers[.contentLength] == "\(NginxServer.middle.count)")
                #expect(try await head.body.collect() == Data())
                let missing = try await transport.send(Request(.get, url: nginx.url("/no-content", .tls)).within(.seconds(10)))
                #expect(missing.status.code == 204)
                #expect(transport.openConnections.count == 1)
            }
        }

        /// nginx refuses a large body before it is whole.
        @Test(.enabled(if: NginxServer.isHere, "\(NginxServer.missing)"))
        func aRefusalOfAnUploadIsTheResponse() async throws {
            try await withNginx { transport, nginx in
                let body = RequestBody.data(Data(repeating: 7, count: 4 * 1024 * 1024))
                let response = try await transport.send(Request(.post, url: nginx.url("/limited", .tls), body: body).within(.seconds(10)))
                #expect(response.status.code == 413)
                _ = try await response.body.collect()
                let next = try await transport.send(Request(.get, url: nginx.url("/small", .tls)).within(.seconds(10)))
                #expect(try await next.body.collect() == NginxServer.small)
            }
        }

        @Test(.enabled(if: NginxServer.isHere, "\(NginxServer.missing)"))
        func theVersionIsHTTP1WithoutHTTP2() async throws {
            let nginx = try await NginxServer.shared()
            try await withNIO {
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
                $0.allowsHTTP2 = false
            } _: { transport in
                let response = try await transport.send(Request(.get, url: nginx.url("/small", .tls)).within(.seconds(10)))
                #expect(response.metadata.httpVersion == .http1_1)
                #expect(try await response.body.collect() == NginxServer.small)
            }
        }

        /// Until the server has chosen the version, each request opens a connection. After the choice, the requests share one connection.
        @Test(.enabled(if: NginxServer.isHere, "\(NginxServer.missing)"))
        func aBurstOfFirstRequestsEndsOnOneConnection() async throws {
            try await withNginx { transport, nginx in
                for _ in 0..<2 {
                    try await withThrowingTaskGroup(of: Data.self) { group in
                        for _ in 0..<30 {
                            group.addTask {
                                try await transport.send(Request(.get, url: nginx.url("/small", .tls)).within(.seconds(20))).body.collect()
                            }
                        }
                        for try await body in group { #expect(body == NginxServer.small) }
                    }
                }
                await eventually { transport.openConnections.allSatisfy { $0.exchanges == 0 } }
                #expect(transport.openConnections.allSatisfy { $0.httpVersion == .http2 })
            }
        }

        // MARK: - nghttpd

        private func withNghttpd(streams: Int = 100, _ body: (NIOTransport, NghttpdServer) async throws -> Void) async throws {
            let folder = try TestFolder("www")
            try folder.write(Data("small".utf8), to: "small")
            try folder.write(NginxServer.large, to: "large")
            let server = try await NghttpdServer(serving: folder, streams: streams)
            do {
                try await withNIO {
                    $0.usesHTTP2WithoutTLS = true
                } _: {
                    try await body($0, server)
                }
            } catch {
                try? await server.stopped()
                throw error
            }
            try await server.stopped()
        }

        private func get(_ url: String, _ transport: NIOTransport) async throws -> Data {
            try await transport.send(Request(.get, url: url).within(.seconds(20))).body.collect()
        }

        @Test(.enabled(if: NghttpdServer.isHere, "\(NghttpdServer.missing)"))
        func bodiesAndTrailersOfNghttpdArrive() async throws {
            try await withNghttpd { transport, server in
                let response = try await transport.send(Request(.get, url: server.url("/large")).within(.seconds(20)))
                #expect(response.metadata.httpVersion == .http2)
                let body = response.body
                #expect(try await body.collect() == NginxServer.large)
                #expect(body.trailers?[HTTPField.Name("x-trailer")!] == "end")
                let sent = NginxServer.middle
                let echo = try await transport.send(Request(.post, url: server.url("/echo"), body: .data(sent)).within(.seconds(20)))
                #expect(try await echo.body.collect() == sent)
            }
        }

        /// Without the setting, requests go out by HTTP/1.1, and nghttpd responds by SETTINGS and GOAWAY.
        @Test(.enabled(if: NghttpdServer.isHere, "\(NghttpdServer.missing)"))
        func theErrorOfACleartextHTTP2ServerNamesTheSetting() async throws {
            try await withNghttpd { _, server in
                try await withNIO { transport in
                    let error = try await transportError { try await get(server.url("/small"), transport) }
                    #expect(error.code == .invalidResponse, "\(error)")
                    #expect(error.message.hasPrefix("the server speaks HTTP/2, not HTTP/1.1; set usesHTTP2WithoutTLS ("), "\(error)")
                }
            }
        }

        /// All requests are in progress at the same time, on one connection.
        @Test(.enabled(if: NghttpdServer.isHere, "\(NghttpdServer.missing)"))
        func aThousandStreamsShareOneConnection() async throws {
            try await withNghttpd(streams: 1000) { transport, server in
                // The first response brings the settings of the server.
                _ = try await get(server.url("/small"), transport)
                try await withThrowingTaskGroup(of: Data.self) { group in
                    for _ in 0..<1000 { group.addTask { try await get(server.url("/small"), transport) } }
                    for try await body in group { #expect(body == Data("small".utf8)) }
                }
                #expect(transport.openConnections.count == 1)
                #expect(transport.openConnections.first?.exchangesStarted == 1001)
            }
        }

        /// Half of the exchanges are cancelled. The other exchanges get their responses.
        @Test(.enabled(if: NghttpdServer.isHere, "\(NghttpdServer.missing)"))
        func cancelledStreamsCostTheirNeighborsNothing() async throws {
            try await withNghttpd(streams: 1000) { transport, server in
                _ = try await get(server.url("/small"), transport)
                await withTaskGroup(of: (Int, Data?).self) { group in
                    for number in 0..<200 {
                        group.addTask {
                            let task = Task { try await get(server.url(number % 20 == 0 ? "/large" : "/small"), transport) }
                            if number % 2 == 1 { task.cancel() }
                            return (number, try? await task.value)
                        }
                    }
                    for await (number, body) in group where number % 2 == 0 {
                        #expect(body == (number % 20 == 0 ? NginxServer.large : Data("small".utf8)), "\(number)")
                    }
                }
                #expect(transport.openConnections.count == 1)
                await eventually { transport.openConnections.map(\.exchanges) == [0] }
            }
        }

        /// A reader that waits holds back only its own stream.
        @Test(.enabled(if: NghttpdServer.isHere, "\(NghttpdServer.missing)"))
        func unreadBodiesDoNotBlockOtherBodies() async throws {
            try await withNghttpd { transport, server in
                var unread: [Response] = []
                for _ in 0..<20 { unread.append(try await transport.send(Request(.get, url: server.url("/large")).within(.seconds(20)))) }
                for _ in 0..<20 {
                    let body = try await get(server.url("/small"), transport)
                    #expect(body == Data("small".utf8))
                }
                for response in unread {
                    let body = try await response.body.collect()
                    #expect(body == NginxServer.large)
                }
                #expect(transport.openConnections.count == 1)
            }
        }

        /// Small bodies do not wait for large ones.
        @Test(.enabled(if: NghttpdServer.isHere, "\(NghttpdServer.missing)"))
        func smallBodiesAreNotStarvedByLargeOnes() async throws {
            try await withNghttpd { transport, server in
                let ended = Watched<[String]>([])
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<60 {
                        let name = number < 30 ? "/large" : "/small"
                        group.addTask {
                            _ = try await get(server.url(name), transport)
                            ended.change { $0.append(name) }
                        }
                    }
                    try await group.waitForAll()
                }
                // No small body is among the last bodies.
                #expect(ended.value.suffix(10).allSatisfy { $0 == "/large" }, "\(ended.value)")
                #expect(transport.openConnections.count == 1)
            }
        }

        /// While large bodies fill the socket, the heads of others wait, and their bodies behind them.
        @Test(.enabled(if: NghttpdServer.isHere, "\(NghttpdServer.missing)"))
        func smallUploadsArriveDuringLargeUploads() async throws {
            try await withNghttpd { transport, server in
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<40 {
                        let sent = number % 8 == 0 ? NginxServer.large : Data("small \(number)".utf8)
                        group.addTask {
                            let request = try Request(.post, url: server.url("/echo"), body: .data(sent)).within(.seconds(20))
                            return try await transport.send(request).body.collect() == sent
                        }
                    }
                    for try await isEqual in group { #expect(isEqual) }
                }
                #expect(transport.openConnections.count == 1)
            }
        }

        // MARK: - The mock server

        private func withMock(_ body: (NIOTransport, MockServer) async throws -> Void) async throws {
            try await withMockServer(.http2) { server in
                try await withNIO {
                    $0.usesHTTP2WithoutTLS = true
                } _: {
                    try await body($0, server)
                }
            }
        }

        @Test func trailersGoBothWays() async throws {
            try await withMock { transport, server in
                server.enqueue(.echo)
                let end = HTTPField.Name("X-End")!
                let body = RequestBody.stream(length: nil) { _ in
                    ScriptedBodySource(steps: [{ Data("a".utf8) }, { Data("b".utf8) }], trailers: [end: "2"])
                }
                let response = try await transport.send(Request(.post, url: server.url(), body: body).within(.seconds(10)))
                let stream = response.body
                #expect(try await stream.collect() == Data("ab".utf8))
                #expect(stream.trailers?[end] == "2")
                let received = try await server.nextRequest()
                #expect(received.body == Data("ab".utf8))
                #expect(received.trailers?[end] == "2")
                #expect(received.httpVersion == .http2)
            }
        }

        @Test func aPreconnectedConnectionIsUsed() async throws {
            try await withMock { transport, server in
                try await transport.preconnect(to: server.url(), count: 1)
                #expect(transport.openConnections.map(\.httpVersion) == [.http2])
                server.enqueue(.text("ok"))
                _ = try await transport.send(Request(.get, url: server.url()).within(.seconds(10)))
                #expect(server.acceptedConnectionCount == 1)
            }
        }

        /// A change of the protocol needs HTTP/1.1.
        @Test func anUpgradeUsesAConnectionOfHTTP1() async throws {
            let folder = try TestFolder("authority")
            let authority = try TestAuthority()
            try authority.writeCertificate(toPath: folder.file("authority.pem"))
            try await withMockServer(.tls(try authority.certificate())) { server in
                server.dispatch { _ in .text("ok") }
                try await withNIO {
                    $0.tls.extraRootsPEMFiles = [folder.file("authority.pem")]
                } _: { transport in
                    let plain = try await transport.send(Request(.get, url: server.url()).within(.seconds(10)))
                    #expect(plain.metadata.httpVersion == .http2)
                    var request = try Request(.get, url: server.url()).within(.seconds(10))
                    request.options.upgrade = UpgradeRequest(protocolName: "websocket")
                    let response = try await transport.send(request)
                    #expect(response.metadata.httpVersion == .http1_1)
                    #expect(server.requests.map(\.httpVersion) == [.http2, .http1_1])
                    #expect(server.requests.map(\.negotiatedProtocol) == ["h2", "http/1.1"])
                }
            }
        }
    }
}
#endif
