#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import Foundation
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import TestSupport
import Testing

@testable import ErrandNIO

/// The memory that an HTTP/2 connection keeps for frames that are not part of a response.
@Suite(.timeLimit(.minutes(5))) struct HTTP2MemoryTests {
    /// Frames without DATA, to 64 KiB and more, in reads that end within the header of a frame.
    private static func reads(of frame: H2Frame, _ count: Int, offset: Int) -> [[UInt8]] {
        let one = frame.bytes
        let read = one.repeated(max(1, 65_536 / one.count))
        let shifted = Array(one[offset...]) + read.dropFirst(one.count) + one[..<offset]
        return [Array(one[..<offset])] + Array(repeating: shifted, count: max(1, count / shifted.count))
    }

    /// What the guard hands on is given to the parser of the frames, as in a connection, with a bound that is never reached.
    private func kept(_ frame: H2Frame, of count: Int, offset: Int) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        let limits = FrameAllowance.Limits(
            frames: .max / 2, bytes: .max / 2, framesForEachSent: 0, sentBytesForFrame: 1, time: .seconds(30), spareResets: 0,
            unreadBytes: .max / 2, unreadBytesForEachLeft: 0)
        try channel.pipeline.syncOperations.addHandler(FrameGuard(limits))
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.controlFrameRateLimit.maximumCount = .max
        let parser = NIOHTTP2Handler(mode: .client, connectionConfiguration: connection, streamConfiguration: .init())
        try channel.pipeline.syncOperations.addHandler(parser)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try channel.writeInbound(ByteBuffer(bytes: H2Frame.settings().bytes + H2Frame.settingsAck.bytes))
        for read in Self.reads(of: frame, count, offset: offset) {
            try channel.writeInbound(ByteBuffer(bytes: read))
            while try channel.readOutbound(as: ByteBuffer.self) != nil {}
            while try channel.readInbound(as: HTTP2Frame.self) != nil {}
        }
        return channel
    }

    /// Frames of one byte of data and 254 bytes of padding, in reads that end within the padding.
    private func keptOfPadding(of count: Int, offset: Int) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(FrameGuard())
        try channel.pipeline.syncOperations.addHandler(NIOHTTP2Handler(mode: .client))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try channel.writeInbound(ByteBuffer(bytes: H2Frame.settings().bytes + H2Frame.settingsAck.bytes))
        let request: HPACKHeaders = [":method": "GET", ":path": "/", ":scheme": "http", ":authority": "a"]
        try channel.writeOutbound(HTTP2Frame(streamID: 1, payload: .headers(.init(headers: request, endStream: true))))
        try channel.writeInbound(ByteBuffer(bytes: H2Frame(type: 1, flags: 0x4, stream: 1, payload: [0x88]).bytes))
        let data = H2Frame(type: 0, flags: 0x8, stream: 1, payload: [254, 1] + Array(repeating: 0, count: 254))
        let reads = Self.reads(of: data, count, offset: offset)
        for read in reads {
            try channel.writeInbound(ByteBuffer(bytes: read))
            for stream in [HTTP2StreamID.rootStream, 1] where read.count > 1000 {
                let bytes = read.count / data.bytes.count * 256
                try channel.writeOutbound(HTTP2Frame(streamID: stream, payload: .windowUpdate(windowSizeIncrement: bytes)))
            }
            while try channel.readOutbound(as: ByteBuffer.self) != nil {}
            while try channel.readInbound(as: HTTP2Frame.self) != nil {}
        }
        return channel
    }

    @Test(arguments: [5, 20, 200])
    func paddingIsNotKept(offset: Int) async throws {
        try await expectKept(atMost: 768 * 1024, of: 1 << 20) { count in
            let channel = try keptOfPadding(of: count, offset: offset)
            defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
            return channel
        }
    }

    private static let frames = [
        H2Frame(type: 0x42, payload: Array(repeating: 0, count: 16_000)), H2Frame(type: 0x42, payload: [1]),
        H2Frame.goAway(last: 0x7FFF_FFFF),
        H2Frame(type: 7, payload: [0x7F, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0] + Array(repeating: 0, count: 10_000)),
        .windowUpdate(0, by: 1),
        H2Frame(type: 4, payload: [0x42, 0x42, 0, 0, 0, 0].repeated(2700)),
    ]

    /// 2 MiB, 4 MiB and 8 MiB; of small frames, which take more time, an eighth of that. A frame, its copy, the buffers of two
    /// reads and the frames of one read take less than 768 KiB, whatever the count.
    @Test(arguments: frames)
    func framesAreNotKept(frame: H2Frame) async throws {
        try await expectKept(atMost: 768 * 1024, of: frame.bytes.count < 100 ? 1 << 18 : 1 << 21) { count in
            let channel = try kept(frame, of: count, offset: 5)
            defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
            return channel
        }
    }
}
#endif
