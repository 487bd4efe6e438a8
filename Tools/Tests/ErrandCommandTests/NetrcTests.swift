import Testing

@testable import ErrandCommand

@Suite(.timeLimit(.minutes(1))) struct NetrcTests {
    private typealias Entry = Netrc.Entry

    @Test func entriesAreReadWhereverTheirLinesEnd() throws {
        let netrc = try Netrc(
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
        #expect(try Netrc("").entries.isEmpty && Netrc(" \n# x").entries.isEmpty)
    }

    @Test(arguments: [
        ("machine", "line 1: there is no value after 'machine'"), ("machine a\n login", "line 2: there is no value after 'login'"),
        ("login x", "line 1: there is an unknown word"), ("machine a\n\nsecret word", "line 3: there is an unknown word"),
        ("machine a password \"x", "line 1: a quotation has no end"), ("machine a password \"x\\", "line 1: a quotation has no end"),
    ]) func whatIsWrongIsNamedWithoutTheText(text: String, expected: String) {
        let failure = #expect(throws: Netrc.Failure.self) { try Netrc(text) }
        #expect(failure?.description == expected)
    }
}
