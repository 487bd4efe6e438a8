import ErrandFormats
import Testing

@Suite(.timeLimit(.minutes(5))) struct CountedTests {
    @Test(arguments: [(-1, "-1 bytes"), (0, "0 bytes"), (1, "1 byte"), (2, "2 bytes"), (1000, "1000 bytes")] as [(Int, String)])
    func onlyOneIsSingular(_ number: Int, _ text: String) {
        #expect(number.counted("byte") == text && Int64(number).counted("byte") == text)
    }

    @Test func aNounCanHaveAPluralOfItsOwn() {
        #expect(1.counted("entry", "entries") == "1 entry" && 2.counted("entry", "entries") == "2 entries")
    }
}
