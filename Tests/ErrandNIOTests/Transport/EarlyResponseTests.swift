#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// A server may respond before it has read the request (RFC 9112, 9.5; RFC 9110, 15.5.14).
    @Suite(.timeLimit(.minutes(5))) struct EarlyResponseTests {
        /// Large enough to fill every buffer on the way.
        private static let uploadBytes = 64 * 1024 * 1024

        @Test(arguments: pairs(["413 Content Too Large", "403 Forbidden", "503 Service Unavailable"], [0, 20]))
        func aRefusalBeforeTheBodyWasReadIsAResponse(_ example: (String, Int)) async throws {
            let (status, bodyBytes) = example
            let mayEnd = Watched(false)
            let server = try RawServer(receiveBufferBytes: 64 * 1024) { connection in
                try connection.readHead()
                _ = try connection.read()  // the upload has begun
                try connection.respond(status, fields: ["Connection: close"], body: Data(repeating: 0x61, count: bodyBytes))
                try mayEnd.waitBlocking { $0 }
            }
            defer { server.stop() }
            try await withNIO { transport in
                let source = CountingBodySource(totalBytes: Self.uploadBytes)
                let body = RequestBody.stream(length: Int64(Self.uploadBytes)) { _ in source }
                let response = try await transport.send(Request(.put, url: server.url(), body: body))
                #expect(response.status.code == Int(status.prefix(3)))
                #expect(try await response.body.collect().count == bodyBytes)
                #expect(try await response.end().isComplete)
                try await source.progress.wait("the source to be given up") { $0.isAbandoned }
                #expect(source.progress.value.produced < Self.uploadBytes)
                mayEnd.change { $0 = true }
                try await server.counts.wait("the connection to be closed") { $0.open == 0 }
            }
        }

        /// The server does not read the upload. Therefore the upload waits when the refusal comes.
        @Test func aRefusalWhileTheUploadWaitsIsAResponse() async throws {
            let mayRespond = Watched(false)
            let server = try RawServer(receiveBufferBytes: 64 * 1024) { connection in
                try connection.readHead()
                try mayRespond.waitBlocking { $0 }
                try connection.respond("413 Content Too Large", fields: ["Connection: close"], body: Data("too large".utf8))
                connection.finishWriting()
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let source = CountingBodySource(totalBytes: Self.uploadBytes)
                let body = RequestBody.stream(length: Int64(Self.uploadBytes)) { _ in source }
                async let sent = transport.send(Request(.put, url: server.url(), body: body))
                _ = try await source.producedAtRest()
                mayRespond.change { $0 = true }
                let response = try await sent
                #expect(response.status.code == 413)
                #expect(String(decoding: try await response.body.collect(), as: UTF8.self) == "too large")
                #expect(try await response.end().isComplete)
                try await source.progress.wait("the source to be given up") { $0.isAbandoned }
                try await server.counts.wait("the connection to be closed") { $0.open == 0 }
            }
        }

        /// The end of the refusal comes in a later read than its last bytes.
        @Test(arguments: pairs(["413 Content Too Large", "307 Temporary Redirect"], ["", "4\r\nlate\r\n"]))
        func aRefusalInChunksIsAResponse(_ example: (String, String)) async throws {
            let (status, chunks) = example
            let isRead = Watched(false)
            let server = try RawServer(receiveBufferBytes: 64 * 1024) { connection in
                try connection.readHead()
                try connection.write("HTTP/1.1 \(status)\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)")
                try isRead.waitBlocking { $0 }
                try connection.write("0\r\n\r\n")
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let source = CountingBodySource(totalBytes: Self.uploadBytes)
                let body = RequestBody.stream(length: Int64(Self.uploadBytes)) { _ in source }
                let response = try await transport.send(Request(.put, url: server.url(), body: body).within(.seconds(10)))
                #expect(response.status.code == Int(status.prefix(3)))
                var iterator = response.body.makeAsyncIterator()
                if !chunks.isEmpty { #expect(try await iterator.next() == Data("late".utf8)) }
                isRead.change { $0 = true }
                #expect(try await iterator.next() == nil)
                #expect(try await response.end().isComplete)
                // A response that comes before the body is opened leaves it unopened.
                try await source.progress.wait("the source to be given up") { $0.isAbandoned || $0.produced == 0 }
                try await server.counts.wait("the connection to be closed") { $0.open == 0 }
            }
        }

        @Test(
            .enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)), arguments: [NginxServer.Listener.plain, .tls])
        func nginxRefusesATooLargeBody(listener: NginxServer.Listener) async throws {
            let nginx = try await NginxServer.shared()
            try await withNIO {
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
            } _: { transport in
                for _ in 0..<5 {
                    let request = try Request(.put, url: nginx.url("/limited", listener), body: .data(Data(count: 8 * 1024 * 1024)))
                    do {
                        let response = try await transport.send(request.within(.seconds(10)))
                        #expect(response.status.code == 413)
                        #expect(try await response.body.collect().isEmpty == false)
                    } catch let failure as TransportError {
                        // nginx closes with data unread: its reset may overtake the response.
                        #expect(failure.code == .connectionLost, "\(failure)")
                        #expect(failure.delivery != .notSent)
                    }
                }
            }
        }

        /// nginx responds immediately to a location with `return`, and drops the body. Over HTTP/2, it resets the stream after the
        /// response, and SwiftNIO drops a response that arrives together with the reset.
        @Test(
            .enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)), arguments: [NginxServer.Listener.plain, .tls])
        func nginxAcceptsAnUnreadBody(listener: NginxServer.Listener) async throws {
            let nginx = try await NginxServer.shared()
            try await withNIO {
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
                $0.maxConnectionsPerOrigin = 1
            } _: { transport in
                for _ in 0..<5 {
                    let request = try Request(.post, url: nginx.url("/echo", listener), body: .data(Data(count: 8 * 1024 * 1024)))
                    do {
                        let response = try await transport.send(request.within(.seconds(10)))
                        #expect(response.status == .ok)
                        #expect(String(decoding: try await response.body.collect(), as: UTF8.self) == "POST\n/echo\n\n")
                        #expect(try await response.end().isComplete)
                    } catch let failure as TransportError where listener == .tls {
                        #expect(failure.code == .connectionLost, "\(failure)")
                    }
                }
            }
        }

        /// A success before the body was read: the rest is still sent, and the connection is not lost to the pool.
        @Test(
            arguments: [
                "Content-Length: 0\r\n\r\n", "Content-Length: 4\r\n\r\ndone", "Transfer-Encoding: chunked\r\n\r\n4\r\ndone\r\n0\r\n\r\n",
            ])
        func aSuccessBeforeTheBodyWasReadDoesNotEndTheUpload(rest: String) async throws {
            let received = Watched(0)
            let server = try RawServer(receiveBufferBytes: 64 * 1024) { connection in
                while true {
                    let request = try connection.readHead()
                    try connection.write("HTTP/1.1 200 OK\r\n\(rest)")
                    let body = try connection.readBody(of: request)
                    received.change { $0 = body.count }
                }
            }
            defer { server.stop() }
            try await withNIO {
                $0.maxConnectionsPerOrigin = 1
            } _: { transport in
                let source = CountingBodySource(totalBytes: Self.uploadBytes)
                let body = RequestBody.stream(length: Int64(Self.uploadBytes)) { _ in source }
                let response = try await transport.send(Request(.put, url: server.url(), body: body).within(.seconds(20)))
                #expect(response.status == .ok)
                #expect(try await response.body.collect().count == (rest.contains("done") ? 4 : 0))
                #expect(try await response.end().isComplete)
                try await received.wait("the whole body") { $0 == Self.uploadBytes }
                try await poll("an idle connection", value: { transport.openConnections }) { $0.map(\.exchanges) == [0] }
                let second = try await transport.send(Request(.get, url: server.url()).within(.seconds(5)))
                #expect(second.status == .ok)
            }
        }

        /// Both directions are in use at the same time: the bytes return before the whole body was sent.
        @Test func aServerMayRespondWhileItReads() async throws {
            let server = try RawServer { connection in
                _ = try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                for _ in 0..<3 {
                    let line = try connection.read(exactly: 3 + 4 + 2)  // "4", the bytes, and their ends
                    try connection.write(line)
                }
                _ = try connection.read(exactly: 5)
                try connection.write("0\r\n\r\n")
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let (stream, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
                let response = try await transport.send(Request(.post, url: server.url(), body: .stream(stream)).within(.seconds(10)))
                var iterator = response.body.makeAsyncIterator()
                for word in ["ping", "pong", "ping"] {
                    continuation.yield(Data(word.utf8))
                    #expect(try await iterator.next() == Data(word.utf8))
                }
                continuation.finish()
                #expect(try await iterator.next() == nil)
                #expect(try await response.end().isComplete)
            }
        }

        /// A success, after which the connection ends with the upload unread. Nothing hangs, whether the exchange succeeds or fails.
        @Test(arguments: [false, true])
        func aSuccessBeforeTheEndOfTheConnectionDoesNotHang(isUploadAtRest: Bool) async throws {
            let mayRespond = Watched(!isUploadAtRest)
            let server = try RawServer(receiveBufferBytes: 64 * 1024) { connection in
                try connection.readHead()
                try mayRespond.waitBlocking { $0 }
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
            }
            defer { server.stop() }
            try await withNIO { transport in
                let source = CountingBodySource(totalBytes: Self.uploadBytes)
                let body = RequestBody.stream(length: Int64(Self.uploadBytes)) { _ in source }
                async let sent = transport.send(Request(.put, url: server.url(), body: body))
                if isUploadAtRest {
                    _ = try await source.producedAtRest()
                    mayRespond.change { $0 = true }
                }
                do {
                    let response = try await sent
                    #expect(try await response.body.collect().count == 4)
                } catch let failure as TransportError {
                    #expect(failure.code == .connectionLost)
                    #expect(failure.delivery != .notSent)
                }
                try await source.progress.wait("the source to be given up") { $0.isAbandoned || $0.produced == 0 }
            }
        }
    }
}
#endif
