#if MockServer && SWIFT_NIO
import ErrandNIO
import ErrandCore
import ErrandMockServer
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension MockServerTests {
    /// The octets on the wire.
    @Suite
    struct WireTests {
        private func exchange(_ server: MockServer, _ text: String) throws -> String {
            let client = try RawClient(port: server.port)
            client.send(text)
            return client.readAll()
        }

        private let get = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

        @Test(arguments: [
            (
                MockResponse.text("four"),
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfour"
            ),
            (
                .chunks([Data("fo".utf8), Data("ur".utf8)]),
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nfo\r\n2\r\nur\r\n0\r\n\r\n"
            ),
            (
                .data(Data("four".utf8)).with { $0.trailers = [.eTag: "x"] },
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n4\r\nfour\r\n0\r\nETag: x\r\n\r\n"
            ),
            (.data(Data("four".utf8)).with { $0.framing = .untilClose }, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfour"),
            (.raw("HTTP/1.0 299 Odd\r\n\r\nfour"), "HTTP/1.0 299 Odd\r\n\r\nfour"),
            (
                .status(.ok).with {
                    $0.informational = [HTTPResponse(status: .init(code: 103, reasonPhrase: "Early Hints"), headerFields: [.eTag: "a"])]
                },
                "HTTP/1.1 103 Early Hints\r\nETag: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            ),
        ])
        func aResponseIsWrittenToTheWire(response: MockResponse, wanted: String) async throws {
            try await withMockServer { server in
                server.enqueue(response)
                #expect(try exchange(server, get) == wanted)
                try await server.waitUntil { $0.openConnections == 0 }
            }
        }

        @Test func requestsInOneWriteGetResponsesInOrder() async throws {
            try await withMockServer { server in
                server.dispatch { .text($0.path) }
                let text = try exchange(server, "GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                #expect(text.components(separatedBy: "HTTP/1.1 200 OK").count == 3)
                #expect(text.hasSuffix("/b"))
                #expect(server.requests.map(\.exchangeIndex) == [0, 1])
            }
        }

        @Test func aClientThatExpects100GetsContinueWithTheFirstRead() async throws {
            try await withMockServer { server in
                server.dispatch { request in .data(try await request.body()) }
                let client = try RawClient(port: server.port)
                client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n")
                #expect(client.read(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
                client.send("four")
                #expect(client.readAll().hasSuffix("\r\n\r\nfour"))
            }
        }

        @Test(arguments: [false, true])
        func aClientThatExpects100CanGetAFinalResponse(isEarly: Bool) async throws {
            var configuration = MockServer.Configuration()
            configuration.sendsContinue = isEarly
            try await withMockServer(configuration) { server in
                server.enqueue(.status(.contentTooLarge).with { $0.isEarly = isEarly })
                let client = try RawClient(port: server.port)
                client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
                if !isEarly { client.send("four") }
                let response = client.read(until: "\r\n\r\n")
                #expect(response.hasPrefix("HTTP/1.1 413 "))
                #expect(response.contains("Connection: close") == isEarly)
                #expect(try await server.nextRequest().failure == (isEarly ? "the response was sent before the request body" : nil))
            }
        }

        @Test func aDispatcherSendsInformationalResponsesBeforeItReads() async throws {
            try await withMockServer { server in
                server.dispatch { request in
                    let status = HTTPResponse.Status(code: 103, reasonPhrase: "Early Hints")
                    try await request.inform(HTTPResponse(status: status, headerFields: [.eTag: "a"]))
                    return .data(try await request.body())
                }
                let client = try RawClient(port: server.port)
                client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n")
                #expect(
                    client.read(until: "Continue\r\n\r\n") == "HTTP/1.1 103 Early Hints\r\nETag: a\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
                client.send("four")
                #expect(client.readAll().hasSuffix("\r\n\r\nfour"))
            }
        }

        @Test func trailersOfARequestAreKept() async throws {
            try await withMockServer { server in
                server.enqueue(.echo)
                let text = try exchange(
                    server,
                    "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\nX-Sum: 9\r\n\r\n"
                )
                #expect(text.hasSuffix("4\r\nfour\r\n0\r\nX-Sum: 9\r\n\r\n"))
                #expect(server.requests.first?.trailers?[HTTPField.Name("X-Sum")!] == "9")
            }
        }

        @Test func anEchoIsStreamed() async throws {
            try await withMockServer { server in
                server.dispatch { _ in .echo }
                let client = try RawClient(port: server.port)
                client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
                #expect(client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200 OK\r\n"))
                for word in ["one", "two", "ten"] {
                    client.send("3\r\n\(word)\r\n")
                    #expect(client.read(until: "\(word)\r\n") == "3\r\n\(word)\r\n")
                }
                client.send("0\r\n\r\n")
                #expect(client.read(until: "0\r\n\r\n") == "0\r\n\r\n")
                #expect(try await server.nextRequest().body == Data("onetwoten".utf8))
            }
        }

        @Test(arguments: [
            "\0\u{1}\u{2}\r\n\r\n", "HELO there\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\nBad Name: x\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "GET / HT",
            "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nfour", "\r\n\r\n\r\n", "",
        ])
        func theServerSurvivesBytesThatAreNoRequest(octets: String) async throws {
            try await withMockServer { server in
                server.dispatch { _ in .text("fine") }
                var client: RawClient? = try RawClient(port: server.port)
                client?.send(octets)
                client = nil
                try await withNIO { transport async throws in #expect(try await transport.text(server.url()) == "fine") }
                try await server.waitUntil { $0.openConnections == 0 }
                #expect(server.requests.filter { $0.failure == nil }.count == 1)
            }
        }

        @Test func seededOctetsDoNoHarm() async throws {
            try await withMockServer { server in
                server.dispatch { _ in .text("fine") }
                for seed in 1...20 {
                    let client = try RawClient(port: server.port)
                    client.send(Data.seeded(2_000, seed: UInt64(seed)))
                }
                try await server.waitUntil { $0.acceptedConnections == 20 && $0.openConnections == 0 }
                try await withNIO { transport async throws in #expect(try await transport.text(server.url()) == "fine") }
            }
        }

        @Test func invalidHTTPIsReported() async throws {
            try await withMockServer { server async throws in
                #expect(try self.exchange(server, "HELO there\r\n\r\n").hasPrefix("HTTP/1.1 400 "))
                #expect(server.connectionFailures.count == 1)
            }
        }

        @Test(.enabled(if: haveCurl, "there is no curl on this machine"))
        func curlSeesInformationalResponsesAndTrailers() async throws {
            try await withMockServer { server in
                server.dispatch { _ in
                    .chunks([Data("four".utf8)]).with {
                        $0.informational = [HTTPResponse(status: .init(code: 103, reasonPhrase: "Early Hints"))]
                        $0.trailers = [.eTag: "at-the-end"]
                    }
                }
                let text = try await curl("--verbose", "--dump-header", "-", server.url())
                #expect(text.contains("< HTTP/1.1 103 Early Hints"))
                #expect(text.contains("< HTTP/1.1 200 OK"))
                #expect(text.contains("ETag: at-the-end"), "\(text)")
                #expect(text.contains("four"))
            }
        }

        @Test(.enabled(if: haveCurl, "there is no curl on this machine"))
        func curlSendsABodyAfterContinue() async throws {
            try await withMockServer { server in
                server.dispatch { _ in .echo }
                let folder = try TestFolder("curl")
                let content = Data.seeded(2_000_000)
                try folder.write(content, to: "body")
                let text = try await curl(
                    "--verbose", "--header", "Expect: 100-continue", "--data-binary", "@" + folder.file("body"), "--output",
                    folder.file("response"),
                    server.url())
                #expect(text.contains("< HTTP/1.1 100 Continue"))
                let isSame = try folder.read("response") == content
                #expect(isSame)
            }
        }

        @Test func pausesUseTheClockOfTheServer() async throws {
            let clock = ManualClock()
            var configuration = MockServer.Configuration()
            configuration.clock = clock
            try await withMockServer(configuration) { server in
                server.enqueue(
                    .chunks([Data("one".utf8), Data("two".utf8)]).with {
                        $0.headDelay = .seconds(3600)
                        $0.chunkPause = .seconds(60)
                    })
                let response = Task { try exchange(server, get) }
                try await clock.sleepers(atLeast: 1)
                clock.advance(by: .seconds(3600))
                for _ in 0..<2 {
                    try await clock.sleepers(atLeast: 1)
                    clock.advance(by: .seconds(60))
                }
                #expect(try await response.value.hasSuffix("3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"))
            }
        }

        @Test func theBodyObeysItsRate() async throws {
            try await withMockServer { server in
                server.enqueue(.data(Data(count: 20_000)).with { $0.bytesPerSecond = 100_000 })
                let start = ContinuousClock.now
                try await withNIO { transport async throws in
                    #expect(try await transport.whole(Request(.get, url: server.url())).body.count == 20_000)
                }
                #expect(ContinuousClock.now - start >= .milliseconds(190))
            }
        }
    }
}
#endif
