#if MockServer && SWIFT_NIO
import ErrandNIO
import ErrandCore
import ErrandMockServer
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension MockServerTests {
    /// HTTP/2, over TLS and in clear text.
    @Suite
    struct HTTP2Tests {
        private func withServer(_ body: (MockServer, NIOTransport) async throws -> Void) async throws {
            let files = try FileAuthority()
            try await withMockServer(.tls(try files.authority.certificate())) { server in
                try await withNIO {
                    $0.tls.extraRootsPEMFiles = [files.path]
                } _: { transport in
                    try await body(server, transport)
                }
                try await server.waitUntil { $0.openConnections == 0 }
            }
        }

        @Test func streamsShareAConnection() async throws {
            try await withServer { server, transport in
                server.dispatch { request in .text(request.path) }
                #expect(try await transport.text(server.url("/first")) == "/first")
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for index in 0..<20 {
                        group.addTask { () async throws in #expect(try await transport.text(server.url("/\(index)")) == "/\(index)") }
                    }
                    try await group.waitForAll()
                }
                #expect(Set(server.requests.map(\.connectionIndex)) == [0])
                #expect(Set(server.requests.map(\.exchangeIndex)) == Set(0...20))
                #expect(server.acceptedConnectionCount == 1)
            }
        }

        @Test func streamsReportTheirConnection() async throws {
            try await withServer { server, transport in
                server.dispatch { request in
                    #expect(!request.headers.contains { $0.name.rawName.lowercased().hasPrefix("errand") })
                    return .text("fine")
                }
                let sink = RecordingEventSink()
                for _ in 0..<2 {
                    var request = try Request(.get, url: server.url())
                    request.options.eventSink = sink
                    _ = try await transport.send(request).body.collect()
                }
                let connections = sink.events.compactMap(\.connection)
                #expect(connections.map(\.isReused) == [false, true] && Set(connections.map(\.number)) == [1])
                try await poll("an idle connection", value: { transport.openConnections }) {
                    $0.count == 1 && $0[0].exchanges == 0 && $0[0].exchangesStarted == 2
                }
            }
        }

        @Test func bodiesAreSentBothWays() async throws {
            try await withServer { server, transport in
                let content = Data.seeded(3_000_000)
                server.dispatch { $0.path == "/echo" ? .echo : .data(try await $0.body()) }
                for path in ["/echo", "/whole"] {
                    let (response, body) = try await transport.whole(Request(.post, url: server.url(path), body: .data(content)))
                    #expect(response.metadata.httpVersion == .http2)
                    let isSame = body == content
                    #expect(isSame, "\(path)")
                    let kept = try await server.nextRequest()
                    let isKept = kept.body == content
                    #expect(isKept && kept.failure == nil)
                }
            }
        }

        @Test func anAbandonedStreamIsNotRecordedAsWhole() async throws {
            try await withServer { server, transport in
                server.dispatch { request in .data(try await request.body()) }
                let body = RequestBody.stream(AsyncStream<Data> { $0.yield(Data("x".utf8)) })
                let request = try Request(.post, url: server.url(), body: body).within(.seconds(1))
                let failure = try await transportError { try await transport.send(request) }
                #expect(failure.code == .timedOut)
                let kept = try await server.nextRequest()
                #expect(kept.failure != nil)
                #expect(kept.body == Data("x".utf8))
            }
        }

        @Test(.enabled(if: haveCurl, "there is no curl on this machine"))
        func curlSpeaksHTTP2InClearText() async throws {
            try await withMockServer(.http2) { server in
                server.dispatch { _ in
                    .chunks([Data("four".utf8)]).with {
                        $0.informational = [HTTPResponse(status: .init(code: 103, reasonPhrase: ""))]
                        $0.trailers = [.eTag: "at-the-end"]
                    }
                }
                let text = try await curl("--verbose", "--http2-prior-knowledge", server.url())
                #expect(text.contains("< HTTP/2 103"))
                #expect(text.contains("< HTTP/2 200"))
                #expect(text.contains("< etag: at-the-end"))
                #expect(text.contains("four"))
                #expect(server.requests.map(\.httpVersion) == [.http2])
            }
        }

        @Test(.enabled(if: haveCurl, "there is no curl on this machine"))
        func curlSendsALargeBodyInClearText() async throws {
            try await withMockServer(.http2) { server in
                server.dispatch { _ in .echo }
                let folder = try TestFolder("curl")
                let content = Data.seeded(2_000_000)
                try folder.write(content, to: "body")
                _ = try await curl(
                    "--http2-prior-knowledge", "--data-binary", "@" + folder.file("body"), "--output", folder.file("response"), server.url()
                )
                let isSame = try folder.read("response") == content
                #expect(isSame)
            }
        }

        @Test func theServerSurvivesBytesThatAreNotHTTP2() async throws {
            try await withMockServer(.http2) { server in
                let client = try RawClient(port: server.port)
                client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = client.readAll()
                try await server.waitUntil { $0.openConnections == 0 }
                #expect(server.connectionFailures.count == 1)
            }
        }
    }
}
#endif
