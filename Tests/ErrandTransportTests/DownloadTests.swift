#if SWIFT_NIO && MockServer
internal import Errand
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

extension TransportTests {
    @Suite(.enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)))
    struct DownloadTests {
        @Test(
            arguments: [
                ("/empty", NginxServer.empty), ("/small", NginxServer.small), ("/300k", NginxServer.middle), ("/5m", NginxServer.large),
            ], TestedTransport.allCases)
        func aFileArrivesWhole(_ example: (String, Data), by tested: TestedTransport) async throws {
            let (path, content) = example
            let nginx = try await NginxServer.shared()
            try await tested.run { transport in
                let response = try await transport.send(Request(.get, url: nginx.url(path)))
                #expect(response.status == .ok)
                #expect(response.body.expectedLength == Int64(content.count))
                #expect(try await (response.body.collect() == content) as Bool)
                #expect(try await response.end().isComplete)
            }
        }

        @Test(arguments: TestedTransport.allCases) func aBodyIsReadChunkByChunk(by tested: TestedTransport) async throws {
            let nginx = try await NginxServer.shared()
            try await tested.run { transport in
                let response = try await transport.send(Request(.get, url: nginx.url("/5m")))
                var whole = Data()
                var chunks = 0
                for try await chunk in response.body {
                    #expect(!chunk.isEmpty)
                    chunks += 1
                    whole.append(chunk)
                }
                #expect((whole == NginxServer.large) as Bool)
                #expect(chunks > 5)
            }
        }

        @Test(arguments: TestedTransport.allCases) func headReturnsTheLengthAndNoBody(by tested: TestedTransport) async throws {
            let nginx = try await NginxServer.shared()
            try await tested.run { transport in
                let response = try await transport.send(Request(.head, url: nginx.url("/5m")))
                #expect(response.headers[.contentLength] == "\(NginxServer.large.count)")
                #expect(response.body.expectedLength == nil)
                #expect(try await response.body.collect(upTo: 10).isEmpty)
                #expect(try await response.end().isComplete)
            }
        }

        @Test(
            arguments: [
                ("/no-content", 204, nil, ""),
                ("/missing", 404, "application/json", #"{"error":"no such thing"}"#),
                (
                    "/problem", 422, "application/problem+json",
                    #"{"type":"https://problems.example/amount","title":"Amount too large","status":422,"limit":100}"#
                ),
            ], TestedTransport.allCases)
        func everyStatusIsAResponse(_ example: (String, Int, String?, String), by tested: TestedTransport) async throws {
            let (path, code, type, text) = example
            let nginx = try await NginxServer.shared()
            try await tested.run { transport in
                let response = try await transport.send(Request(.get, url: nginx.url(path)))
                #expect(response.status.code == code)
                #expect(type == nil || response.headers[.contentType] == type)
                #expect(String(decoding: try await response.body.collect(), as: UTF8.self) == text)
            }
        }

        @Test(arguments: [HTTPRequest.Method.get, .post, .put, .delete, .patch, .options], TestedTransport.allCases)
        func methodTargetAndFieldsArriveUnchanged(method: HTTPRequest.Method, by tested: TestedTransport) async throws {
            let nginx = try await NginxServer.shared()
            try await tested.run { transport in
                let name = try #require(HTTPField.Name("X-Test"))
                let target = "/echo/a%2Fb%20c/~d?q=1%262&empty=&flag"
                let response = try await transport.send(Request(method, url: nginx.url(target), headers: [name: "a value"]))
                let text = String(decoding: try await response.body.collect(), as: UTF8.self)
                #expect(text == "\(method.rawValue)\n\(target)\na value\n")
            }
        }

        @Test(arguments: TestedTransport.allCases) func aBodyThatIsDeclaredLargerThanTheLimitIsNotRead(by tested: TestedTransport)
            async throws
        {
            let nginx = try await NginxServer.shared()
            try await tested.run { transport in
                let response = try await transport.send(Request(.get, url: nginx.url("/5m")))
                let failure = try await transportError { try await response.body.collect(upTo: 1_000_000) }
                #expect(failure.code == .bodyTooLarge)
                #expect(try await response.end().isAbandoned)
            }
        }
    }

    @Suite
    struct BodyFramingTests {
        /// What the server says, whether it closes behind it, and what is read of it.
        @Test(
            arguments: [
                ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole", false),
                ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nwho\r\n2\r\nle\r\n0\r\nX-Trailer: x\r\n\r\n", false),
                ("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nwhole", true),
                ("HTTP/1.0 200 OK\r\n\r\nwhole", true),
                (
                    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole",
                    false
                ),
            ], TestedTransport.allCases)
        func aBodyIsWholeHoweverItIsFramed(_ example: (String, Bool), by tested: TestedTransport) async throws {
            let (octets, closes) = example
            let server = try RawServer { connection in
                try connection.readHead()
                try connection.write(octets)
                if !closes { connection.waitForEnd() }
            }
            defer { server.stop() }
            try await tested.run { transport in
                let response = try await transport.send(Request(.get, url: server.url()))
                #expect(response.status == .ok)
                #expect(String(decoding: try await response.body.collect(), as: UTF8.self) == "whole")
                #expect(try await response.end().isComplete)
            }
        }

        /// RFC 9110, 8.6: the length is that of the body that is not there.
        @Test(arguments: TestedTransport.allCases) func theLengthOfANotModifiedResponseIsIgnored(by tested: TestedTransport) async throws {
            let server = try RawServer.responding { connection, _, _ in
                try connection.write("HTTP/1.1 304 Not Modified\r\nContent-Length: 1000000\r\n\r\n")
            }
            defer { server.stop() }
            try await tested.run { transport in
                let response = try await transport.send(Request(.get, url: server.url()))
                #expect(response.status == .notModified)
                #expect(response.body.expectedLength == nil)
                #expect(try await response.body.collect(upTo: 1000).isEmpty)
            }
        }

        @Test(arguments: TestedTransport.allCases) func aChunkCanBeReadBeforeTheNextIsSent(by tested: TestedTransport) async throws {
            let isRead = Watched(false)
            let server = try RawServer { connection in
                try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nfirst ")
                try isRead.waitBlocking { $0 }
                try connection.write("later")
            }
            defer { server.stop() }
            try await tested.run { transport in
                let response = try await transport.send(Request(.get, url: server.url()))
                var iterator = response.body.makeAsyncIterator()
                #expect(try await iterator.next() == Data("first ".utf8))
                isRead.change { $0 = true }
                #expect(try await iterator.next() == Data("later".utf8))
                #expect(try await iterator.next() == nil)
            }
        }

        @Test(arguments: TestedTransport.allCases) func manySmallChunksArriveInOrder(by tested: TestedTransport) async throws {
            let lines = (0..<2_000).map { "line \($0)\n" }
            let server = try RawServer.responding { connection, _, _ in
                let chunks = lines.map { String($0.utf8.count, radix: 16) + "\r\n" + $0 + "\r\n" }.joined()
                try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + "0\r\n\r\n")
            }
            defer { server.stop() }
            try await tested.run { transport in
                let response = try await transport.send(Request(.get, url: server.url()))
                #expect(String(decoding: try await response.body.collect(), as: UTF8.self) == lines.joined())
            }
        }

        @Test(.enabled(if: LoopbackPorts.haveIPv6, "no IPv6 on the loopback interface"), arguments: TestedTransport.allCases)
        func anIPv6AddressIsReached(by tested: TestedTransport) async throws {
            let server = try RawServer(host: "::1") { connection in
                let request = try connection.readHead()
                try connection.respond(body: Data((request.value("host") ?? "").utf8))
            }
            defer { server.stop() }
            try await tested.run { transport in
                let response = try await transport.send(Request(.get, url: server.url()))
                #expect(String(decoding: try await response.body.collect(), as: UTF8.self) == "[::1]:\(server.port)")
            }
        }
    }
}
#endif
