import Foundation
import Testing

@testable import ErrandCommand

@Suite(.timeLimit(.minutes(5))) struct NetrcTests {
    private typealias Entry = Netrc.Entry

    @Test func entriesAreReadAcrossLines() throws {
        let netrc = Netrc(
            """
            # machine commented.example login no password no
            machine a.example login joe password pw
            machine B.example
            \tlogin jim\r
            \tpassword "a \\"quoted\\" pass\\\\word\\twith white space"
            \taccount unused
            macdef init
            machine not.example login a macro password x

            machine a.example login jane password other
            default login anonymous password me@a.example
            """)
        #expect(netrc.entries.map(\.host) == ["a.example", "B.example", "a.example", nil])
        #expect(netrc.entry(for: "A.EXAMPLE", user: nil) == Entry(host: "a.example", user: "joe", password: "pw"))
        #expect(netrc.entry(for: "a.example", user: "jane")?.password == "other")
        #expect(netrc.entry(for: "b.example", user: nil)?.password == "a \"quoted\" pass\\word\twith white space")
        #expect(netrc.entry(for: "c.example", user: nil)?.user == "anonymous")
        #expect(netrc.entry(for: "c.example", user: "joe") == nil)
        #expect(Netrc("").entries.isEmpty && Netrc(" \n# x").entries.isEmpty)
    }

    @Test(arguments: [
        ("machine a login", "line 1: there is no value after 'login'"),
        ("machine a\n login", "line 2: there is no value after 'login'"),
        ("machine a logn x password y", "line 1: there is an unknown word"),
        ("machine a\n\nsecret word", "line 3: there is an unknown word"),
        ("machine a login x password \"x", "line 1: a quotation has no end"),
        ("machine a login x password \"x\\", "line 1: a quotation has no end"),
    ]) func theErrorOfANetrcNamesTheLineWithoutItsText(text: String, expected: String) throws {
        let entry = try #require(Netrc(text).entry(for: "a", user: nil))
        let failure = #expect(throws: Netrc.Failure.self) { try entry.checked() }
        #expect(failure?.description == expected)
    }

    /// As in curl, an invalid entry does not change the other entries.
    @Test(arguments: [
        "machine odd.example login x password\nmachine a.example login joe password pw",
        "machine odd.example password \"never ends\nmachine a.example login joe password pw",
        "machine odd.example what is this\nmachine a.example login joe password pw", "login x\nmachine a.example login joe password pw",
        "word\nmachine a.example port 80 login joe password pw", "machine\nmachine a.example login joe password pw",
        "machine odd.example login x machine a.example login joe password pw # machine c.example",
        "\u{FEFF}machine a.example login joe account x password pw", "machine a.example\rlogin\tjoe\u{0B}password\u{0C}pw",
        "default login x password y machine a.example login joe password pw",
        "macdef m\nmachine a.example login no password no\n \nmachine a.example login joe password pw",
    ]) func anInvalidEntryDoesNotDisableTheOthers(text: String) throws {
        let entry = try Netrc(text).entry(for: "a.example", user: nil)?.checked()
        #expect(entry?.user == "joe" && entry?.password == "pw")
    }

    @Test func aNumberSignInAValueIsACharacter() {
        let entry = Netrc("machine a login joe password #1\n# machine a login x\n").entry(for: "a", user: nil)
        #expect(entry?.password == "#1")
    }

    @Test func namesAreComparedByOctetsAndAddressesWithoutBrackets() {
        let netrc = Netrc("machine ::1 login joe password pw machine a\u{301} login x password y")
        #expect(netrc.entry(for: "[::1]", user: nil)?.user == "joe")
        #expect(netrc.entry(for: "\u{E1}", user: nil) == nil)
    }

    /// One entry in Latin-1 does not disable the others.
    @Test func invalidUTF8AffectsOnlyItsEntry() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)-netrc")
        defer { try? FileManager.default.removeItem(at: file) }
        var data = Data("# Caf".utf8) + Data([0xE9]) + Data("\nmachine odd login x password p".utf8)
        data += Data([0xE9]) + Data("\nmachine a login joe password pw\n".utf8)
        try data.write(to: file)
        let netrc = try Netrc(atPath: file.path)
        #expect(netrc.entry(for: "a", user: nil)?.password == "pw")
        let failure = #expect(throws: Netrc.Failure.self) { try netrc.entry(for: "odd", user: nil)?.checked() }
        #expect(failure?.description == "line 2: a value is not text in UTF-8")
    }
}
