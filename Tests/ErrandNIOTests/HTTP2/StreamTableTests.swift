#if SWIFT_NIO
@testable import ErrandNIO
import ErrandTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct StreamTableTests {
    @Test func aValueIsChangedInPlaceAndRemoved() {
        var table = StreamTable<Int>()
        table.change(1) { $0 += 1 }
        #expect(table.isEmpty)
        table[1] = 10
        table[3] = 30
        table.change(1) { $0 += 1 }
        let found = (table[1], table[3], table[5], table[2], table[0])
        #expect(found == (11, 30, nil, nil, nil))
        #expect(table.keys == [1, 3])
        let removed = (table.removeValue(forKey: 1), table.removeValue(forKey: 1))
        #expect(removed == (11, nil))
        table[3] = nil
        table[5] = nil
        #expect(table.isEmpty && table.keys == [])
    }

    /// Streams that last, and many that come and go: their places are the same again and again.
    @Test(arguments: 0..<20) func aStreamTableAgreesWithADictionary(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var (table, expected) = (StreamTable<Int>(), [Int32: Int]())
        var number: Int32 = 1
        for step in 0..<4000 {
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                (table[number], expected[number]) = (step, step)
                // Also numbers whose places are the same.
                number += [2, 2, 2, 16, 64, 256].randomElement(using: &random) ?? 2
            case 2:
                guard let one = expected.keys.sorted().randomElement(using: &random) else { continue }
                table.change(one) { $0 += 1 }
                expected[one]? += 1
            default:
                guard let one = expected.keys.sorted().randomElement(using: &random) else { continue }
                let removed = table.removeValue(forKey: one)
                expect(removed == expected.removeValue(forKey: one))
            }
            expect(table.count == expected.count)
            if step % 50 == 0 {
                let isEqual = table.keys == expected.keys.sorted() && expected.allSatisfy { table[$0.key] == $0.value }
                #expect(isEqual)
            }
        }
        #expect(table[number] == nil)
    }
}
#endif
