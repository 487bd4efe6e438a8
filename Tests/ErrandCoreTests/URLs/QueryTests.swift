import Errand
import Testing

@Suite(.timeLimit(.minutes(5))) struct QueryTests {
    private enum Sort: String, QueryValue { case byName = "by name" }
    private enum Level: Int, QueryValue { case high = 3 }

    @Test func literalsTakeMixedTypesInOrder() {
        let none: String? = nil
        let query: URLQuery = [
            "z": "a+b", "page": 2, "tag": ["x", "y", "x"], "after": none, "on": true, "ratio": 0.5, "sort": Sort.byName,
            "level": Level.high,
            "some": Optional("v"), "ids": [1, 2] as [Int]?, "none": [Int](), "sub": "cd".dropFirst(), "big": UInt64.max,
        ]
        #expect(
            query.encoded
                == "z=a%2Bb&page=2&tag=x&tag=y&tag=x&on=true&ratio=0.5&sort=by%20name&level=3&some=v&ids=1&ids=2&sub=d&big=18446744073709551615"
        )
    }

    @Test(arguments: [
        ("a b", "a%20b"), ("a+b", "a%2Bb"), ("a&b=c;d", "a%26b%3Dc%3Bd"), ("100%", "100%25"), ("%41", "%2541"), ("a#b", "a%23b"),
        ("a/b?c:d@e", "a/b?c:d@e"), ("ä\r\n", "%C3%A4%0D%0A"), ("[]", "%5B%5D"), ("", ""),
    ])
    func namesAndValuesAreEscapedOnce(_ text: String, _ escaped: String) {
        #expect(URLQuery([.init(name: "q", value: text)]).encoded == "q=" + escaped)
        #expect(URLQuery([.init(name: text, value: nil)]).encoded == escaped)
    }

    @Test func itemsAreAppendedAndJoinedWithoutMerging() {
        var query: URLQuery = ["a": 1]
        query.append("b", ["x", "y"])
        query.append("c", nil as Int?)
        query.appendFlag("flag")
        #expect((query + ["a": 2]).encoded == "a=1&b=x&b=y&flag&a=2")
        #expect(URLQuery().encoded == "" && URLQuery().isEmpty)
    }

    @Test func descriptionHidesSecretValues() {
        let query: URLQuery = ["page": 2, "access_token": "s3cret"]
        #expect(query.description == "page=2&access_token=REDACTED")
    }
}
