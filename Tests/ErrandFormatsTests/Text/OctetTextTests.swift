import ErrandFormats
import Testing

@Suite struct OctetTextTests {
    private static let marks = "a" + String(repeating: "\u{300}\u{316}", count: 200_000)

    @Test func textsAreEqualByTheirOctets() {
        #expect("clear".isExactly("clear"))
        #expect(!"clear".isExactly("Clear"))
        // Equal as texts of Unicode, in two forms.
        #expect("\u{e9}" == "e\u{301}")
        #expect(!"\u{e9}".isExactly("e\u{301}"))
        #expect("GZip".isExactlyIgnoringCase("gzip"))
        #expect(!"gzi".isExactlyIgnoringCase("gzip"))
        // The Kelvin sign becomes a `k` in lower case, but has other octets.
        #expect(!"\u{212a}ey".isExactlyIgnoringCase("key"))
        #expect(!"@".isExactlyIgnoringCase("`"))
    }

    /// The functions of `String` and the generic functions, which a part of a text calls.
    @Test(arguments: [
        ("abc", "abc"), ("abc", "ab"), ("abc", "bc"), ("abc", "abd"), ("ab", "abc"), ("", ""), ("", "a"), ("a", ""), ("\u{e9}", "e\u{301}"),
        ("a text of more than fifteen octets", "a text of more than fifteen octets"), ("a text of more than fifteen octets", "octets"),
    ])
    func textsAndPartsOfTextsAreComparedAlike(_ one: String, _ other: String) {
        let part = other[...]
        #expect(one.isExactly(other) == one.isExactly(part) && one.hasOctetPrefix(other) == one.hasOctetPrefix(part))
        #expect(one.hasOctetSuffix(other) == one.hasOctetSuffix(part))
        #expect(one.isExactly(other) == (Array(one.utf8) == Array(other.utf8)))
    }

    @Test func aCombiningMarkHidesNoOctet() {
        let text = "..\u{2f}\u{301}evil"
        #expect(!text.contains("/" as Character))
        #expect(text.containsOctet(UInt8(ascii: "/")))
        #expect(text.containsOctets("./") && !text.containsOctets("//"))
        #expect(text.split(atOctet: UInt8(ascii: "/")).map { Array($0.utf8) } == [Array("..".utf8), Array("\u{301}evil".utf8)])
        #expect("a//b".split(atOctet: UInt8(ascii: "/"), omittingEmptyPieces: false).count == 3)
        #expect("a=b=c".split(atOctet: UInt8(ascii: "="), maxSplits: 1) == ["a", "b=c"])
        // Not within the macro, which would not compile.
        let quoted = "\"\u{301}x"
        #expect(quoted.hasOctetPrefix("\""))
        #expect("x;\u{301}".hasOctetPrefix("x;"))
        #expect("bytes".hasOctetSuffix("tes"))
        #expect(!"es".hasOctetSuffix("tes"))
    }

    @Test func octetsAreEscapedUnderAMark() {
        let quotes = ByteSet { $0 == UInt8(ascii: "\"") }
        let escaped = "joe\"\u{301}".escapingOctets(quotes) { "\\" + String(UnicodeScalar($0)) }
        #expect(Array(escaped.utf8) == Array("joe\\\"\u{301}".utf8))
    }

    @Test func missingTextsAreEqual() {
        let (composed, decomposed, missing): (String?, String?, String?) = ("\u{e9}", "e\u{301}", nil)
        #expect(composed.isExactly(composed) && missing.isExactly(nil))
        #expect(!composed.isExactly(decomposed) && !composed.isExactly(nil) && !missing.isExactly(""))
    }

    @Test func aQuotedStringHasBackslashes() { #expect(#"a "b\c"#.quotedString == #""a \"b\\c""#) }

    @Test(.timeLimit(.minutes(5)))
    func longMarksTakeLinearTime() {
        let clock = ContinuousClock()
        let time = clock.measure {
            for index in 0..<20 {
                let other = Self.marks + "\(index)"
                #expect(!other.isExactly(Self.marks))
                #expect(!other.isExactlyIgnoringCase(Self.marks))
            }
            #expect(Set((0..<20).map { OctetKey(Self.marks + "\($0)") }).count == 20)
        }
        // Quadratic work takes many minutes.
        #expect(time < .seconds(60))
    }

    @Test(
        arguments: [
            ("", []), (",", []), (" a ,\tb,, c d ,", ["a", "b", "c d"]), ("\"a,b\"", ["\"a", "b\""]), ("ä, \u{301}", ["ä", "\u{301}"]),
        ] as [(String, [String])])
    func emptyMembersOfAListAreLeftOut(_ text: String, _ members: [String]) {
        #expect(text.listMembers == members)
        var count = 0
        text.withUTF8Bytes { $0.forEachListElement { _ in count += 1 } }
        #expect(count == text.utf8.count { $0 == UInt8(ascii: ",") } + 1)
    }

    @Test func theOctetsOfAMessageAreVisible() {
        let octets = UInt8.min...UInt8.max
        let visible = octets.filter { (0x21...0x7E).contains($0) }
        #expect(octets.filter(\.isTargetOctet) == visible.filter { $0 != UInt8(ascii: "#") })
        #expect(octets.filter(\.isAuthorityOctet) == visible.filter { !"/\\?#@".utf8.contains($0) })
    }
}
