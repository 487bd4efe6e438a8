#if SWIFT_NIO && MockServer
import ErrandCore
import Foundation
import NIOCore
import TestSupport
import Testing

@testable import ErrandNIO

extension NIOTransportTests {
    /// Bytes that were read are not kept. The memory in use does not grow with the number of received bytes.
    @Suite(.timeLimit(.minutes(5))) struct KeptMemoryTests {
        /// A server that sends interim responses without end. The target of a request has the number of bytes. A read of the client almost
        /// always ends within a line, so that something is unread.
        private func interimServer(
            _ written: Watched<Int>, bytesOf count: @escaping @Sendable (_ target: String) -> Int?
        ) throws -> RawServer {
            try RawServer { connection in
                let bytes = count(try connection.readHead().target) ?? 0
                let interim = "HTTP/1.1 103 Early Hints\r\nA: " + String(repeating: "a", count: 1000) + "\r\n\r\nHTTP"
                try connection.write("HTTP")
                let piece = Data(String(repeating: String(interim.dropFirst(4)), count: 16).utf8)
                for _ in 0..<bytes / piece.count { try connection.write(piece) }
                written.change { $0 += 1 }
                connection.waitForEnd()
            }
        }

        /// Expects that a call keeps little of the bytes that a server of ``interimServer(_:bytesOf:)`` has written.
        private func expectLittleIsKept(
            of server: RawServer, _ written: Watched<Int>, by transport: NIOTransport, url: (_ bytes: Int) -> String
        ) async throws {
            try await expectKept(
                atMost: 2_000_000, of: 6 * 1024 * 1024,
                settle: { try await server.counts.wait("the end of the earlier connection") { $0.open == 0 } }
            ) { bytes in
                let before = written.value
                let request = try Request(.get, url: url(bytes)).within(.seconds(60))
                let call = Task { try await transport.send(request) }
                try await written.wait("all bytes of the server") { $0 > before }
                return CallbackOnDeinit { call.cancel() }
            }
        }

        @Test func parsedBytesAreReleasedBeforeUnparsedBytes() async throws {
            let written = Watched(0)
            let server = try interimServer(written) { Int($0.dropFirst()) }
            defer { server.stop() }
            try await withNIO {
                $0.responseLimits.interimResponseCount = .max
            } _: { transport in
                try await expectLittleIsKept(of: server, written, by: transport) { server.url("/\($0)") }
            }
        }

        /// The limit is half of the buffer, so that a buffer with a long unread part is not copied at each read.
        @Test(arguments: [(parsed: 100, isCopied: false), (parsed: 101, isCopied: true)])
        func aBufferWithMoreParsedThanUnparsedBytesIsCopied(parsed: Int, isCopied: Bool) {
            var buffer = ByteBufferAllocator().buffer(capacity: 256 * 1024)
            buffer.writeRepeatingByte(1, count: parsed + 100)
            buffer.moveReaderIndex(forwardBy: parsed)
            #expect(buffer.withoutParsedBytes == buffer)
            #expect((buffer.withoutParsedBytes.storageCapacity < 256 * 1024) == isCopied)
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

        @Test func bytesOfAProxyBeforeTheTunnelAreReleased() async throws {
            let written = Watched(0)
            // The number is the name of the host: 4000.invalid
            let proxy = try interimServer(written) { Int($0.prefix { $0 != "." }) }
            defer { proxy.stop() }
            try await withNIO {
                $0.proxy = .all(.http(host: "127.0.0.1", port: proxy.port))
                $0.responseLimits.interimResponseCount = .max
                $0.connectTimeout = .seconds(60)
            } _: { transport in
                try await expectLittleIsKept(of: proxy, written, by: transport) { "https://\($0).invalid/" }
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
