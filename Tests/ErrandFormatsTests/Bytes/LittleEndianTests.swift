import ErrandFormats
import Testing

@Suite(.timeLimit(.minutes(5))) struct LittleEndianTests {
    @Test func theLeastSignificantOctetIsTheFirst() {
        #expect(UInt32(0x0102_0304).littleEndianOctets == [4, 3, 2, 1])
        #expect(UInt32(littleEndianOctets: [4, 3, 2, 1]) == 0x0102_0304)
        #expect(UInt32(littleEndianOctets: [4, 3]) == 0x0304 && UInt32(littleEndianOctets: [UInt8]()) == 0)
    }

    @Test(arguments: [Int64.min, -2, -1, 0, 1, 0x7F, 0x80, 0x1234_5678_9ABC, .max])
    func numbersAreReadAsTheyWereWritten(_ number: Int64) {
        let octets = number.littleEndianOctets
        #expect(octets.count == 8 && Int64(littleEndianOctets: octets) == number)
        #expect(Int32(littleEndianOctets: octets.prefix(4)) == Int32(truncatingIfNeeded: number))
    }
}
