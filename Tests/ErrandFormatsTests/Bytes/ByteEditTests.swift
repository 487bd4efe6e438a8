import ErrandFormats
import Testing

@Suite(.timeLimit(.minutes(5))) struct ByteEditTests {
    @Test func editsAreAppliedInOrder() {
        let edits = [ByteEdit(0..<1, Array("xyz".utf8)), ByteEdit(2..<2, Array("-".utf8)), ByteEdit(3..<4, [])]
        #expect(String(decoding: edits.applied(to: Array("abcde".utf8)), as: UTF8.self) == "xyzb-ce")
    }
}
