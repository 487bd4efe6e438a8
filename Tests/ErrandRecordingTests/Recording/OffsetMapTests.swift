import ErrandFormats
import Testing

@testable import ErrandRecording

@Suite(.timeLimit(.minutes(5))) struct OffsetMapTests {
    /// The end of a chunk stays known after an edit within the chunk, or over the end of the chunk.
    @Test func offsetsAreMappedThroughEdits() {
        var map = OffsetMap([ByteEdit(2..<4, [9]), ByteEdit(6..<6, [7, 7])])
        #expect((0...7).map { map.mapped($0) } == [0, 1, 2, 3, 3, 4, 7, 8])
    }
}
