#if SWIFT_NIO && MockServer
internal import Errand
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

extension TransportTests {
    /// Nobody produces more than is wanted. The limits leave room for what the system buffers on both sides.
    @Suite
    struct BackPressureTests {
        private static let totalBytes = 64 * 1024 * 1024

        @Test(arguments: [true, false], TestedTransport.allCases)
        func aServerThatDoesNotReadMakesTheProducerWait(isDeclared: Bool, by tested: TestedTransport) async throws {
            let mayRead = Watched(false)
            let received = Watched(0)
            let server = try RawServer(receiveBufferBytes: 64 * 1024) { connection in
                let request = try connection.readHead()
                try mayRead.waitBlocking { $0 }
                let body = try connection.readBody(of: request)
                received.change { $0 = body.count }
                try connection.respond("201 Created")
            }
            defer { server.stop() }
            try await tested.run { transport in
                let source = CountingBodySource(totalBytes: Self.totalBytes)
                let body = RequestBody.stream(length: isDeclared ? Int64(Self.totalBytes) : nil) { _ in source }
                async let sent = transport.send(Request(.put, url: server.url(), body: body))
                let produced = try await source.producedAtRest()
                #expect(produced < 8 * 1024 * 1024 + 4 * 1024 * 1024)
                mayRead.change { $0 = true }
                #expect(try await sent.status == .created)
                #expect(received.value == Self.totalBytes)
            }
        }

        @Test(arguments: TestedTransport.allCases) func aSlowServerIsNotOverrun(by tested: TestedTransport) async throws {
            let furthest = Watched(0)
            let source = CountingBodySource(totalBytes: Self.totalBytes)
            let server = try RawServer(receiveBufferBytes: 64 * 1024) { connection in
                let request = try connection.readHead()
                _ = try connection.readBody(of: request) { received in
                    let ahead = source.progress.value.produced - received
                    furthest.change { $0 = max($0, ahead) }
                }
                try connection.respond("201 Created")
            }
            defer { server.stop() }
            try await tested.run { transport in
                let body = RequestBody.stream(length: Int64(Self.totalBytes)) { _ in source }
                let response = try await transport.send(Request(.put, url: server.url(), body: body))
                #expect(response.status == .created)
                #expect(furthest.value < 8 * 1024 * 1024 + 4 * 1024 * 1024)
            }
        }

        @Test(arguments: [false, true], TestedTransport.allCases)
        func aReaderThatDoesNotReadMakesTheServerWait(hasReadOnce: Bool, by tested: TestedTransport) async throws {
            let stalledAt = Watched<Int?>(nil)
            let body = Data(count: Self.totalBytes)
            let server = try RawServer { connection in
                try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
                let written = try connection.write(body, stallMilliseconds: 300)
                stalledAt.change { $0 = written }
                try connection.write(body.dropFirst(written))
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await tested.run { transport in
                let response = try await transport.send(Request(.get, url: server.url()))
                var iterator = response.body.makeAsyncIterator()
                var received = hasReadOnce ? try await iterator.next()?.count ?? 0 : 0
                let written = try #require(try await stalledAt.wait("the server to stand still") { $0 != nil })
                #expect(written < 16 * 1024 * 1024)
                #expect(response.exchange.outcome == nil)
                while let chunk = try await iterator.next() { received += chunk.count }
                #expect(received == body.count)
                #expect(try await response.end().isComplete)
            }
        }

        @Test(.enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)), arguments: TestedTransport.allCases)
        func aResponseOfHTTP2ThatIsNotReadIsNotReceived(by tested: TestedTransport) async throws {
            let nginx = try await NginxServer.shared()
            try await tested.run {
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
            } _: { transport in
                let unread = try await transport.send(Request(.get, url: nginx.url("/5m", .tls)))
                // Others on the same connection are not held up by it.
                for _ in 0..<3 {
                    let other = try await transport.send(Request(.get, url: nginx.url("/300k", .tls)))
                    #expect(try await other.body.collect() == NginxServer.middle)
                }
                #expect(unread.exchange.outcome == nil)
                #expect(try await (unread.body.collect() == NginxServer.large) as Bool)
            }
        }
    }
}
#endif
