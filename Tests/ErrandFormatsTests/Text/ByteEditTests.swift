import ErrandFormats
import Testing

@Suite(.timeLimit(.minutes(5))) struct ByteEditTests {
    @Test func editsAreAppliedInOrder() {
        let edits = [ByteEdit(0..<1, Array("xyz".utf8)), ByteEdit(2..<2, Array("-".utf8)), ByteEdit(3..<4, [])]
        #expect(String(decoding: edits.applied(to: Array("abcde".utf8)), as: UTF8.self) == "xyzb-ce")
    }

    /// Every list of few edits after every other, on a short text.
    @Test func aJoinedListEqualsTwoLists() {
        let bytes = Array("abcdef".utf8)
        func lists(in count: Int, _ marks: String) -> [[ByteEdit]] {
            let ranges = (0...count).flatMap { start in (start...min(count, start + 3)).map { start..<$0 } }
            let edits = ranges.flatMap { range in [0, 1, 3].map { ByteEdit(range, Array(marks.utf8.prefix($0))) } }
            let pairs = edits.indices.filter { $0 % 2 == 0 }.flatMap { first in
                edits.indices.filter { $0 % 3 == 0 && edits[$0].range.lowerBound >= edits[first].range.upperBound }
                    .map { [edits[first], edits[$0]] }
            }
            return [[]] + edits.map { [$0] } + pairs
        }
        var count = 0
        for first in lists(in: bytes.count, "123") {
            let edited = first.applied(to: bytes)
            for (index, second) in lists(in: edited.count, "XYZ").enumerated() where (index + count) % 7 == 0 {
                let both = first.followed(by: second, in: edited)
                let isInOrder = zip(both, both.dropFirst()).allSatisfy { $0.range.upperBound <= $1.range.lowerBound }
                guard isInOrder, both.applied(to: bytes) == second.applied(to: edited) else {
                    Issue.record("\(first) and \(second) became \(both)")
                    return
                }
            }
            count += 1
        }
        #expect(count > 100)
    }
}
