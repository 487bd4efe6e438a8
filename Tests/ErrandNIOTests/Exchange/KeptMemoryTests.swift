#if SWIFT_NIO && MockServer
import ErrandCore
import Foundation
import NIOCore
import TestSupport
import Testing

@testable import ErrandNIO

extension NIOTransportTests {
    /// What was read is not kept: the memory in use does not grow with the bytes that were received.
    @Suite(.timeLimit(.minutes(5))) struct KeptMemoryTests {
        /// Each write ends within the line of a chunk, so that something is always unread.
        @Test func parsedBytesAreReleasedBeforeUnparsedBytes() async throws {
            let server = try RawServer { connection in
                let request = try connection.readHead()
                let count = Int(request.target.dropFirst()) ?? 0
                try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40")
                let chunk = "0\r\n" + String(repeating: "a", count: 1024) + "\r\n40"
                let piece = Data(String(repeating: chunk, count: 16).utf8)
                for _ in 0..<count / (16 * 1024) { try connection.write(piece) }
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                try await expectKept(atMost: 3_000_000, of: 4 * 1024 * 1024) { count in
                    let response = try await transport.send(Request(.get, url: server.url("/\(count)")).within(.seconds(60)))
                    var received = 0
                    for try await piece in response.body {
                        received += piece.count
                        if received == count { break }
                    }
                    #expect(received == count)
                    return response
                }
            }
        }

        /// A piece that waits for its reader must not pin the buffer of the read that brought it.
        @Test func aSmallPieceDoesNotKeepItsBuffer() async {
            await expectKept(atMost: 1_000_000, of: 8 * 1024 * 1024) { count in
                (0..<count / (256 * 1024)).map { _ in
                    var buffer = ByteBufferAllocator().buffer(capacity: 256 * 1024)
                    buffer.writeRepeatingByte(1, count: 256 * 1024)
                    return buffer.received(at: 100, 20)
                }
            }
        }

        /// A proxy that sends interim responses without end.
        @Test func bytesOfAProxyBeforeTheTunnelAreReleased() async throws {
            let written = Watched(0)
            let proxy = try RawServer { connection in
                let request = try connection.readHead()
                // The count is the name of the host: 4000.invalid
                let count = Int(request.target.prefix { $0 != "." }) ?? 0
                let interim = "HTTP/1.1 103 Early Hints\r\nA: " + String(repeating: "a", count: 1000) + "\r\n\r\nHTTP"
                try connection.write("HTTP")
                let piece = Data(String(repeating: String(interim.dropFirst(4)), count: 16).utf8)
                for _ in 0..<count / piece.count { try connection.write(piece) }
                written.change { $0 += 1 }
                connection.waitForEnd()
            }
            defer { proxy.stop() }
            try await withNIO {
                $0.proxy = .all(.http(host: "127.0.0.1", port: proxy.port))
                $0.responseLimits.interimResponseCount = .max
                $0.connectTimeout = .seconds(60)
            } _: { transport in
                try await expectKept(atMost: 2_000_000, of: 6 * 1024 * 1024) { count in
                    let before = written.value
                    let request = try Request(.get, url: "https://\(count).invalid/").within(.seconds(60))
                    let call = Task { try await transport.send(request) }
                    try await written.wait("all bytes of the proxy") { $0 > before }
                    return CallbackOnDeinit { call.cancel() }
                }
            }
        }

        /// Calls a closure when the memory was measured.
        private final class CallbackOnDeinit: Sendable {
            private let end: @Sendable () -> Void
            init(_ end: @escaping @Sendable () -> Void) { self.end = end }
            deinit { end() }
        }
    }
}
#endif
