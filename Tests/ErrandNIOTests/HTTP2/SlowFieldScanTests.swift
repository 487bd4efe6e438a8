#if SWIFT_NIO
import ErrandCore
import NIOCore
import NIOHPACK
import Testing

@testable import ErrandNIO

@Suite(.timeLimit(.minutes(5))) struct SlowFieldScanTests {
    private static func text(_ bytes: [UInt8], isCoded: Bool = false) -> [UInt8] {
        let coded: UInt8 = isCoded ? 0x80 : 0
        guard bytes.count >= 127 else { return [coded | UInt8(bytes.count)] + bytes }
        var (length, rest): ([UInt8], Int) = ([coded | 127], bytes.count - 127)
        while rest >= 128 {
            length.append(0x80 | UInt8(rest & 127))
            rest >>= 7
        }
        return length + [UInt8(rest)] + bytes
    }

    private static let marks = Array(repeatElement("\u{300}", count: 600).joined().utf8)
    private static let status = Array(":status".utf8)
    private static let other: [UInt8] = [0x41, 1, 0x61]
    private static func joined(_ parts: [UInt8]...) -> [UInt8] { Array(parts.joined()) }
    private static let codedStatus: [UInt8] = [0xB8, 0x84, 0x8D, 0x36, 0xA3]

    private static let sections: [(name: String, bytes: [UInt8], verdict: SlowFieldScan.Verdict)] = [
        ("the usual", [0x88, 0x40] + text(Array("x-a".utf8)) + text([1, 2]), .quick),
        ("a long name", [0] + text(Array(repeating: 0x61, count: 1024)) + text([]), .quick),
        ("a name that is too long", [0] + text(Array(repeating: 0x61, count: 1025)) + text([]), .slow),
        ("a name that is too long, in the code", [0x10] + text(Array(repeating: 0, count: 1025), isCoded: true) + text([]), .slow),
        ("a long value", [0x88, 0x0F, 0x10] + text(marks + marks), .quick),
        ("a long value in the code", [0x0F, 0x10] + text(Array(repeating: 0, count: 20_000), isCoded: true), .quick),
        ("a status of marks", [0x08] + text([0x31] + marks), .slow),
        ("a status of marks, enters the table", [0x48] + text([0x31] + marks), .slow),
        ("a status of marks by its name", joined([0], text(status), text([0x31] + marks)), .slow),
        ("a status in the code", [0x08] + text(Array(repeating: 0, count: 16_385), isCoded: true), .slow),
        ("a status with a long text of ASCII", [0x08] + text(Array(repeating: 0x31, count: 5000)), .quick),
        ("a status in the code by its name", joined([0], text(codedStatus, isCoded: true), text([0x31] + marks)), .slow),
        ("a name like that of the status", [0] + text(Array(":statut".utf8)) + text(marks), .quick),
        ("a name that begins like the status", [0] + text(Array(":status-".utf8)) + text(marks), .quick),
        ("another name in the code", [0] + text([0xB8, 0x84, 0x8D, 0x36, 0xA7], isCoded: true) + text(marks), .quick),
        ("an entry that does not exist, with marks", [0x7E] + text(marks), .slow),
        ("a field of the table, with marks", joined([0x40], text(Array("x-a".utf8)), text(marks), [0x7E], text(marks)), .quick),
        ("a field of the table with a long index", joined([0x40], text(Array("x-a".utf8)), text(marks), [0x7F, 0x00], text(marks)), .slow),
        ("the status of the table, with marks", joined([0x48], text([0x31]), [0x7E], text(marks)), .slow),
        ("a status of the table by its name", joined([0x40], text(status), text([0x31]), [0x0F, 0x2F], text(marks)), .slow),
        (
            "a status of the table that is not the newest", joined([0x48], text([0x31]), [0x41], text([0x61]), [0x0F, 0x30], text(marks)),
            .slow
        ),
        ("another field after a status", joined([0x48], text([0x31]), [0x41], text([0x61]), [0x0F, 0x2F], text(marks)), .quick),
        (
            "a status that the table still has after 127 others",
            joined([0x48], text([0x31]), Array(repeatElement(other, count: 127).joined()), [0x0F, 0xAE, 0x01], text(marks)), .slow
        ),
        ("a change of the table", [0x3F, 0xE1, 0x1F, 0x88, 0x0F, 0x10] + text(marks), .quick),
        ("an index without end", [0x88, 0x7F] + Array(repeating: 0xFF, count: 20), .invalid),
        ("a length without end", [0x00, 0x7F] + Array(repeating: 0xFF, count: 20), .invalid),
    ]

    @Test(arguments: sections.indices)
    func verdictsAreTheSameAtEverySplit(index: Int) {
        let (name, bytes, verdict) = Self.sections[index]
        for split in stride(from: 0, through: bytes.count, by: bytes.count > 100 ? 7 : 1) {
            var scan = SlowFieldScan()
            var result = scan.read(bytes[..<split], isLast: false)
            if result == .quick { result = scan.read(bytes[split...], isLast: true) }
            #expect(result == verdict, "\(name), at \(split)")
            // The scan of the next section begins again.
            guard verdict == .quick else { continue }
            expect(scan.read([0x88, 0x40] + Self.text([0x61]) + Self.text([0x62]), isLast: true) == .quick)
        }
    }

    /// Fields as another encoder writes them.
    @Test func usualSectionsAreRead() throws {
        var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
        var scan = SlowFieldScan()
        for round in 0..<20 {
            var buffer = ByteBuffer()
            let fields = HPACKHeaders([
                (":status", "200"), ("content-type", "text/html; charset=utf-8"),
                ("set-cookie", String(repeating: "a", count: 3000 + round)),
                ("x-own", "value \(round)"), ("x-long", String(repeating: "b", count: 100 * round)), ("x-é", "ü"), ("vary", ""),
            ])
            try encoder.encode(headers: fields, to: &buffer)
            expect(scan.read(Array(buffer.readableBytesView), isLast: true) == .quick)
        }
    }

    @Test func paddingAndPriorityAreSkipped() {
        func fields(_ type: UInt8, _ flags: UInt8, _ payload: [UInt8]) -> [UInt8] {
            let bytes: [UInt8] = [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, 1]
            let header = bytes.withUnsafeBytes { FrameHeader($0) }
            return payload.withUnsafeBytes { Array(header.fields(in: $0)) }
        }
        #expect(fields(1, 0x4, [1, 2, 3]) == [1, 2, 3])
        #expect(fields(1, 0x8, [1, 2, 3]) == [2])
        #expect(fields(1, 0x28, [1, 0, 0, 0, 0, 9, 7, 8, 0]) == [7, 8])
        #expect(fields(1, 0x8, [200, 2, 3]) == [])
        #expect(fields(1, 0x20, [1]) == [])
        #expect(fields(5, 0x4, [0, 0, 0, 2, 7]) == [7])
        #expect(fields(9, 0x4, [7, 8]) == [7, 8])
        #expect(fields(9, 0x8, [7, 8]) == [7, 8])
    }
}
#endif
