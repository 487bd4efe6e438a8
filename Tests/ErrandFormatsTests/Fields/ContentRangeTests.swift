import Testing

@testable import ErrandFormats

@Suite(.timeLimit(.minutes(5))) struct ContentRangeTests {
    @Test(
        arguments: [
            ("bytes 0-499/1234", 0..<500, 1234), ("bytes 500-999/*", 500..<1000, nil), ("BYTES  7-7/8 ", 7..<8, 8), ("bytes */8", nil, 8),
        ] as [(String, Range<Int64>?, Int64?)])
    func valuesAreRead(_ text: String, _ range: Range<Int64>?, _ length: Int64?) throws {
        let value = try #require(ContentRange(text))
        #expect(value.range == range && value.completeLength == length)
        #expect(ContentRange(value.description) == value)
    }

    @Test(
        arguments: [
            "", "bytes", "bytes ", "bytes */*", "bytes 1-0/5", "bytes 0-5/5", "bytes 0-4", "bytes -4/5", "bytes 0-/5", "items 0-4/5",
            "bytes=0-4/5", "bytes 0-4/5 x", "bytes +0-4/5", "bytes 0-9223372036854775807/*", "bytes 0-9999999999999999999999/*",
            "bytes 0 - 4/5", "bytes 0-4/-5",
        ])
    func anInvalidRangeIsNil(_ text: String) { #expect(ContentRange(text) == nil) }

    @Test func rangesAreMade() {
        #expect(ContentRange(0..<5, completeLength: nil)?.description == "bytes 0-4/*")
        #expect(ContentRange(0..<5, completeLength: 5)?.description == "bytes 0-4/5")
        #expect(ContentRange(0..<5, completeLength: 4) == nil && ContentRange(-1..<5, completeLength: 9) == nil)
        #expect(ContentRange(5..<5, completeLength: nil) == nil)
    }

    @Test(
        arguments: [
            ("bytes=0-499", [.bytes(0..<500)]), ("Bytes=500-", [.from(500)]), ("bytes=-500", [.last(500)]),
            ("bytes= 0-0 , ,5-,-1,", [.bytes(0..<1), .from(5), .last(1)]),
        ] as [(String, [ByteRange])])
    func requestedRangesAreRead(_ text: String, _ ranges: [ByteRange]) {
        #expect(ByteRange.parse(text) == ranges)
        #expect(ByteRange.field(ranges).flatMap { ByteRange.parse($0) } == ranges)
    }

    @Test(arguments: [
        "", "bytes", "bytes=", "bytes=-", "bytes=1-0", "bytes=a-", "items=0-1", "bytes=0-1 2-3", "bytes=0--1",
        "bytes=0-9223372036854775807",
    ])
    func anInvalidRequestedRangeIsNil(_ text: String) { #expect(ByteRange.parse(text) == nil) }

    @Test func rangesAreResolved() {
        #expect(ByteRange.bytes(2..<20).resolved(length: 10) == 2..<10 && ByteRange.bytes(10..<20).resolved(length: 10) == nil)
        #expect(ByteRange.from(9).resolved(length: 10) == 9..<10 && ByteRange.from(10).resolved(length: 10) == nil)
        #expect(ByteRange.last(3).resolved(length: 10) == 7..<10 && ByteRange.last(30).resolved(length: 10) == 0..<10)
        #expect(ByteRange.last(0).resolved(length: 10) == nil && ByteRange.last(3).resolved(length: 0) == nil)
        #expect(ByteRange.field([]) == nil && ByteRange.field([.from(-1)]) == nil && ByteRange.field([.bytes(3..<3)]) == nil)
        #expect(ByteRange.field([.bytes(.min ..< .min)]) == nil && !"\(ByteRange.bytes(.min ..< .min))".isEmpty)
        #expect(ByteRange.field([.last(0)]) == "bytes=-0")
        #expect(ByteRange.parse("bytes=" + Array(repeating: "0-1", count: 129).joined(separator: ",")) == nil)
    }
}
