#if SWIFT_NIO && MockServer
internal import ErrandCore
internal import TestSupport
internal import Testing

@testable internal import ErrandURLSession

extension URLSessionTransportTests {
    @Suite(.enabled(if: SessionAbilities.current.canSuspend, "not over URLSession: a suspended task continues to receive"))
    struct URLSessionBackPressureTests {
        /// After each of the first 16 MiB, the reader waits until the server can't send more. The reader takes the rest of the 256 MiB at
        /// full speed.
        @Test func aSlowReaderHoldsAtMost4MiB() async throws {
            let stalls = Watched(0)
            let piece = Data(count: 1024 * 1024)
            let server = try RawServer { connection in
                try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(256 * piece.count)\r\n\r\n")
                for _ in 0..<256 {
                    var written = 0
                    while written < piece.count {
                        written += try connection.write(piece.dropFirst(written), stallMilliseconds: 100)
                        if written < piece.count { stalls.change { $0 += 1 } }
                    }
                }
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withTransport(URLSessionTransport()) { transport in
                // The number of bytes of the body that the session has delivered.
                let received = Watched<Int64>(0)
                var request = try Request(.get, url: server.url())
                request.options.eventSink = ClosureEventSink { event in
                    if event.kind == .responseBytesReceived, let total = event.bytes { received.change { $0 = max($0, total) } }
                }
                let response = try await transport.send(request)
                var (read, furthest): (Int64, Int64) = (0, 0)
                for try await chunk in response.body {
                    let before = read / Int64(piece.count)
                    read += Int64(chunk.count)
                    if read / Int64(piece.count) > before, before < 16 {
                        let seen = stalls.value
                        try await stalls.wait("the server to stand still") { $0 > seen }
                    }
                    furthest = max(furthest, received.value - read)
                }
                #expect(read == 256 * Int64(piece.count))
                #expect(furthest <= 4 * 1024 * 1024, "\(furthest) bytes")
            }
        }
    }
}
#endif
