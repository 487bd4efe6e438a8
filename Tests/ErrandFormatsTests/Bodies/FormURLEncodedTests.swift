import ErrandFormats
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct FormURLEncodedTests {
    private struct Vectors: Decodable {
        struct Form: Decodable {
            let pairs: [[String]]
            let expect: String
            let why: String
        }

        let forms: [Form]
    }

    @Test(
        arguments: [
            ([], ""), ([("q", "a b")], "q=a+b"), ([("q", "a+b~")], "q=a%2Bb%7E"), ([("a&b", "c=d")], "a%26b=c%3Dd"), ([("", "")], "="),
            ([("q", "*-._Az09")], "q=*-._Az09"), ([("b", "1"), ("a", "2"), ("b", "1")], "b=1&a=2&b=1"),
            ([("ä", "😀\r\n\0")], "%C3%A4=%F0%9F%98%80%0D%0A%00"),
        ] as [([(String, String)], String)])
    func pairsAreEncodedInOrder(_ pairs: [(String, String)], _ expected: String) {
        #expect(FormURLEncoded.encode(pairs.map { (name: $0.0, value: $0.1) }) == expected)
    }

    @Test(
        arguments: [
            ("", []), ("q=a+b&%71=%2B", [("q", "a b"), ("q", "+")]), ("a&b=&=c&&", [("a", nil), ("b", ""), ("", "c")]),
            ("a=b=c", [("a", "b=c")]), ("a=%zz+%41&b=%FF", [("a", "%zz %41"), ("b", "%FF")]),
            ("a=1&\u{301}b=2", [("a", "1"), ("\u{301}b", "2")]),
        ] as [(String, [(String, String?)])])
    func pairsAreDecodedInOrder(_ text: String, _ expected: [(String, String?)]) {
        let pairs = FormURLEncoded.decode(text)
        #expect(pairs.map(\.name) == expected.map(\.0) && pairs.map(\.value) == expected.map(\.1))
        let query = FormURLEncoded.decode(text, plusIsSpace: false)
        #expect(
            query.map(\.value) == (text.contains("a+b") ? ["a+b", "+"] : text.contains("%zz") ? ["%zz+%41", "%FF"] : expected.map(\.1)))
    }

    @Test(.enabled(if: Suites.folder != nil, Comment(rawValue: Suites.missing)))
    func everyVectorIsEncoded() throws {
        let forms = try Suites.load("urls.json", as: Vectors.self).forms
        #expect(!forms.isEmpty)
        for test in forms {
            #expect(FormURLEncoded.encode(test.pairs.map { (name: $0[0], value: $0[1]) }) == test.expect, "\(test.pairs): \(test.why)")
        }
    }
}
