#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// Messages as they are on the wire.
    @Suite(.timeLimit(.minutes(5))) struct MessageTests {
        @Test func everyByteBeforeABreakIsDelivered() async throws {
            let server = try RawServer { connection in
                _ = try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour")
            }
            defer { server.stop() }
            try await withNIO { transport in
                let response = try await transport.send(Request(.get, url: server.url()).within(.seconds(5)))
                var read = Data()
                let error = await #expect(throws: TransportError.self) { for try await chunk in response.body { read += chunk } }
                #expect(read == Data("four".utf8))
                #expect(error?.code == .connectionLost)
                #expect(error?.phase == .body)
                #expect(error?.delivery == .sent)
                #expect(error?.response?.status == .ok)
            }
        }

        @Test func aBodyMayLastUntilTheConnectionEnds() async throws {
            let server = try RawServer { connection in
                _ = try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\n\r\nall of it")
            }
            defer { server.stop() }
            try await withNIO { transport in
                let response = try await transport.send(Request(.get, url: server.url()).within(.seconds(5)))
                #expect(try await response.body.collect() == Data("all of it".utf8))
            }
        }

        @Test func aRefusalDuringAnUploadIsTheResponse() async throws {
            let server = try RawServer { connection in
                _ = try connection.readHead()
                try connection.respond("413 Content Too Large", body: Data("no".utf8))
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let endless = RequestBody.stream(length: nil) { _ in CountingBodySource() }
                let request = try Request(.put, url: server.url(), body: endless).within(.seconds(10))
                let response = try await transport.send(request)
                #expect(response.status.code == 413)
                #expect(try await response.body.collect() == Data("no".utf8))
            }
        }

        @Test func aBodyIsHeldUntilContinue() async throws {
            let order = Watched<[String]>([])
            let server = try RawServer { connection in
                let request = try connection.readHead()
                order.change { $0.append("head") }
                connection.pause(milliseconds: 50)  // for a body that does not wait
                try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
                let body = try connection.readBody(of: request)
                order.change { $0.append("body \(body.count)") }
                try connection.respond()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let request = try Request(.put, url: server.url(), headers: [.expect: "100-continue"], body: .text("data"))
                let response = try await transport.send(request.within(.seconds(10)))
                #expect(response.status == .ok)
            }
            #expect(order.value == ["head", "body 4"])
        }

        @Test func aBodyIsSentAfterASecondWithoutContinue() async throws {
            let server = try RawServer.responding { connection, _, body in try connection.respond(body: body) }
            defer { server.stop() }
            try await withNIO { transport in
                let request = try Request(.put, url: server.url(), headers: [.expect: "100-continue"], body: .text("data"))
                let response = try await transport.send(request.within(.seconds(10)))
                #expect(try await response.body.collect() == Data("data".utf8))
            }
        }

        @Test func aRefusedExpectationSendsNoBody() async throws {
            let server = try RawServer { connection in
                _ = try connection.readHead()
                try connection.respond("413 Content Too Large")
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let request = try Request(
                    .put, url: server.url(), headers: [.expect: "100-continue"], body: .data(Data(count: 100_000)))
                let response = try await transport.send(request.within(.seconds(10)))
                #expect(response.status.code == 413)
            }
            #expect(server.counts.value.bytesRead < 1000)
        }

        @Test func aLargeBodyGoesBothWaysUnchanged() async throws {
            let server = try RawServer.responding { connection, _, body in try connection.respond(body: body) }
            defer { server.stop() }
            let data = Data.seeded(3_000_017)
            try await withNIO { transport in
                let bodies: [RequestBody] = [
                    .data(data), .stream(stream(of: data), length: Int64(data.count)), .stream(stream(of: data)),
                ]
                for body in bodies {
                    let request = try Request(.put, url: server.url(), body: body).within(.seconds(30))
                    let isEqual = try await transport.send(request).body.collect() == data
                    #expect(isEqual)
                }
            }
        }

        @Test func anUnrequestedProtocolChangeIsAFailure() async throws {
            let server = try RawServer { connection in
                _ = try connection.readHead()
                try connection.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let error = await #expect(throws: TransportError.self) {
                    try await transport.send(Request(.get, url: server.url()).within(.seconds(5)))
                }
                #expect(error?.code == .invalidResponse)
                #expect(error?.message.contains("101") == true)
            }
        }

        @Test func anAbandonedBodyEndsItsConnection() async throws {
            let server = try RawServer { connection in
                _ = try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nbeginning")
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let response = try await transport.send(Request(.get, url: server.url()).within(.seconds(10)))
                response.body.abandon()
                try await server.counts.wait("the end of the connection") { $0.seenEnds == 1 }
                try await poll("the pool to forget it", value: { transport.openConnections.count }) { $0 == 0 }
            }
        }
    }
}

/// A stream of one chunk.
private func stream(of data: Data) -> AsyncStream<Data> {
    AsyncStream { continuation in
        continuation.yield(data)
        continuation.finish()
    }
}
#endif
