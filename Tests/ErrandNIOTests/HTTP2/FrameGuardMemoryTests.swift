#if SWIFT_NIO && MockServer
import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import ErrandNIO

/// The bytes of a read that the guard of the frames keeps.
@Suite(.timeLimit(.minutes(5))) struct FrameGuardMemoryTests {
    /// Each connection has read one large buffer that ends within the header of a frame. The 5 bytes that are kept must not keep
    /// the buffer.
    @Test func theBeginningOfAFrameDoesNotKeepTheBufferOfTheRead() async throws {
        let readBytes = 256 * 1024
        let read = H2Frame(type: 0x42, payload: Array(repeating: 0, count: 16_000)).bytes.repeated(17)
        // A connection itself takes a few KiB.
        try await expectKept(atMost: 512 * 1024, of: 1 << 20) { count in
            let limits = FrameAllowance.Limits(
                frames: .max / 2, bytes: .max / 2, framesForEachSent: 0, sentBytesForFrame: 1, time: .seconds(30), spareResets: 0,
                unreadBytes: .max / 2, unreadBytesForEachLeft: 0)
            return try (0..<count / readBytes).map { _ in
                let channel = EmbeddedChannel()
                try channel.pipeline.syncOperations.addHandler(FrameGuard(limits))
                try channel.writeInbound(ByteBuffer(bytes: read + read[..<5]))
                while try channel.readInbound(as: ByteBuffer.self) != nil {}
                return channel
            }
        }
    }
}
#endif
