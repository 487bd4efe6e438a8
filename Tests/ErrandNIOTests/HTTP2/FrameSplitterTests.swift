#if SWIFT_NIO
import ErrandCore
import Testing

@testable import ErrandNIO

@Suite(.timeLimit(.minutes(5))) struct FrameSplitterTests {
    private static let limit = 16_384

    private static func frame(_ type: UInt8, _ count: Int, stream: UInt8 = 1) -> [UInt8] {
        [UInt8(count >> 16), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF), type, 0, 0, 0, 0, stream]
            + (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    }

    /// The pieces that a splitter passes on, and the headers that it reports.
    private struct Reading: Equatable {
        var pieces: [[UInt8]] = []
        var types: [UInt8] = []
        var kept: [UInt8] = []
        var mostKept = 0

        init(_ chunks: [[UInt8]]) {
            var splitter = FrameSplitter(longestBytes: limit)
            for chunk in chunks {
                kept += chunk
                let step = kept.withUnsafeBytes { bytes in
                    splitter.next(in: bytes) {
                        types.append($0.type)
                        return true
                    }
                }
                expect((step.missing == 0) == (step.consumed == kept.count))
                if step.consumed > 0 { pieces.append(Array(kept[..<step.consumed])) }
                kept.removeFirst(step.consumed)
                mostKept = max(mostKept, kept.count)
            }
        }
    }

    private static let frames = [
        frame(4, 12, stream: 0), frame(1, 5), frame(0, 20), frame(0, 0), frame(0x42, 30), frame(8, 4), frame(9, 0), frame(7, 8, stream: 0),
    ]

    /// Everything is handed on in its order, in pieces that end with a frame or within DATA.
    @Test func framesAreTheSameAtEverySplit() {
        let bytes = Self.frames.flatMap { $0 }
        var ends: Set<Int> = [0]
        var position = 0
        for frame in Self.frames {
            if frame[3] == 0 { for end in 9..<frame.count { ends.insert(position + end) } }
            position += frame.count
            ends.insert(position)
        }
        for first in 0...bytes.count {
            for second in first...bytes.count {
                let reading = Reading([Array(bytes[..<first]), Array(bytes[first..<second]), Array(bytes[second...])])
                expect(reading.pieces.flatMap { $0 } == bytes)
                expect(reading.types == Self.frames.map { $0[3] })
                var end = 0
                for piece in reading.pieces {
                    end += piece.count
                    expect(ends.contains(end))
                }
            }
        }
        let bytewise = Reading(bytes.map { [$0] })
        #expect(bytewise.pieces.flatMap { $0 } == bytes)
        #expect(bytewise.types == Self.frames.map { $0[3] })
        #expect(bytewise.mostKept < 9 + 30)
    }

    @Test func partsOfDataFramesAreDeliveredImmediately() {
        let data = Self.frame(0, 1000)
        let reading = Reading([Array(data[..<9]), Array(data[9..<10]), Array(data[10..<500]), Array(data[500...])])
        #expect(reading.pieces.map(\.count) == [9, 1, 490, 509])
        #expect(reading.mostKept == 0)
    }

    @Test func aPaddedDataFrameIsDeliveredWhole() {
        var data = Self.frame(0, 256)
        data[4] = 0x8
        let reading = Reading([Array(data[..<9]), Array(data[9..<10]), Array(data[10..<200]), Array(data[200...] + data)])
        #expect(reading.pieces == [data + data])
        #expect(reading.types == [0, 0])
    }

    /// `NIOHTTP2Handler` refuses it by its header.
    @Test func aTooLongFrameIsDeliveredImmediately() {
        let long = Self.frame(0x42, Self.limit + 1)
        #expect(Reading([Array(long[..<9])]).pieces.map(\.count) == [9])
        let longest = Self.frame(0x42, Self.limit)
        #expect(Reading([Array(longest[..<9])]).pieces.isEmpty)
        #expect(Reading([Array(longest[..<100]), Array(longest[100...])]).pieces.map(\.count) == [longest.count])
    }

    @Test func noFrameFollowsARefusedFrame() {
        var splitter = FrameSplitter(longestBytes: Self.limit)
        let bytes = Self.frame(4, 6) + Self.frame(0x42, 1) + Self.frame(4, 6)
        let step = bytes.withUnsafeBytes { splitter.next(in: $0) { $0.type != 0x42 } }
        #expect(step == .init(consumed: 15, missing: 0))
    }

    @Test func aHeaderIsRead() {
        let bytes: [UInt8] = [1, 2, 3, 4, 5, 0xFF, 0, 0, 7]
        let header = bytes.withUnsafeBytes { FrameHeader($0) }
        #expect(header.length == 0x010203)
        #expect((header.type, header.flags, header.stream) == (4, 5, 0x7F00_0007))
    }

    // MARK: - The allowance

    private func header(_ type: UInt8, _ length: Int = 0) -> FrameHeader { Self.frame(type, length).withUnsafeBytes { FrameHeader($0) } }

    private static let limits = FrameAllowance.Limits(
        frames: 10, bytes: 500, framesForEachSent: 2, sentBytesForFrame: 100, time: .seconds(30), spareResets: 3,
        unreadBytes: 300, unreadBytesForEachLeft: 1000)

    /// How many frames pass until one exceeds a bound.
    private func passing(
        _ allowance: inout FrameAllowance, _ header: FrameHeader, at now: Duration = .seconds(100)
    ) -> (count: Int, excess: FrameAllowance.Excess) {
        var count = 0
        while true {
            if let excess = allowance.receive(header, at: now) { return (count, excess) }
            count += 1
        }
    }

    @Test func framesAndBytesAreBounded() {
        var allowance = FrameAllowance(Self.limits)
        expect(passing(&allowance, header(8, 4)) == (10, .frames(limit: 10)))
        allowance = FrameAllowance(Self.limits)
        expect(passing(&allowance, header(0x42, 91)) == (5, .bytes(limit: 500)))
    }

    @Test func sentFramesRaiseTheAllowance() {
        var allowance = FrameAllowance(Self.limits)
        allowance.send(nil)
        allowance.send(250)
        allowance.send(50)
        expect(passing(&allowance, header(8, 4)) == (10 + 3 * 2 + 3, .frames(limit: 19)))
    }

    /// Frames that were sent in the former time also count, because a server may respond later.
    @Test func timeRenewsTheBound() {
        var allowance = FrameAllowance(Self.limits)
        allowance.send(nil)
        expect(passing(&allowance, header(8, 4), at: .seconds(10)).count == 12)
        expect(passing(&allowance, header(8, 4), at: .seconds(29)).count == 0)
        expect(passing(&allowance, header(8, 4), at: .seconds(30)).count == 12)
        expect(passing(&allowance, header(8, 4), at: .seconds(60)).count == 10)
    }

    /// The bytes of a message that comes after its reset, in frames of 100 bytes.
    @Test func anAbandonedStreamHasItsOwnLimit() {
        func passing(_ allowance: inout FrameAllowance, at now: Duration) -> Int {
            var count = 0
            while count < 1_000, allowance.receiveUnread(header(0, 91), at: now) == nil { count += 1 }
            return count
        }
        var allowance = FrameAllowance(Self.limits)
        expect(passing(&allowance, at: .seconds(1)) == 3)
        allowance = FrameAllowance(Self.limits)
        allowance.leave()
        allowance.leave()
        expect(passing(&allowance, at: .seconds(29)) == 23)
        expect(allowance.receiveUnread(header(0, 91), at: .seconds(29)) == .unread(limit: 2300))
        // What was left in the time before counts as well, and no longer.
        expect(passing(&allowance, at: .seconds(30)) == 23)
        expect(passing(&allowance, at: .seconds(60)) == 3)
        // An empty frame counts as 64 bytes.
        allowance = FrameAllowance(Self.limits)
        for _ in 0..<4 { expect(allowance.receiveUnread(header(0, 0), at: .seconds(1)) == nil) }
        expect(allowance.receiveUnread(header(0, 0), at: .seconds(1)) == .unread(limit: 300))
        // It takes nothing of the bounds of other frames.
        expect(allowance.receive(header(8, 4), at: .seconds(60)) == nil)
    }

    /// However long ago the frames were sent. Some servers reset a stream again for each DATA frame that comes after.
    @Test func eachFrameOfARequestMayBeReset() {
        var allowance = FrameAllowance(Self.limits)
        for _ in 0..<40 { allowance.send(nil) }
        for _ in 0..<10 { allowance.send(8) }
        for _ in 0..<9 { expect(allowance.receive(header(8, 4), at: .seconds(500)) == nil) }
        expect(passing(&allowance, header(3, 4), at: .seconds(900)) == (53, .resets(limit: 53)))
    }
}
#endif
