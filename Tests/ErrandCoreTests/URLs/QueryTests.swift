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

    @Test(arguments: [
        "", "a=1", "a=%41+b&&=x&flag&q=%zz&%FF=1&A=b=c", "a=1&", "?=/", "utf8=%E2%9C%93", "a=;b",
    ])
    func aQueryThatWasReadKeepsItsOctets(_ text: String) {
        #expect(URLQuery(percentEncoded: text).encoded == text)
    }

    @Test func aQueryThatWasReadHasItsValuesWithoutEscapes() {
        let query = URLQuery(percentEncoded: "q=a%20b+c&flag&empty=&q=%zz&%71=3")
        #expect(query["q"] == "a b+c" && query["empty"] == "" && query["flag"] == nil && query["other"] == nil)
        #expect(query.values(of: "q") == ["a b+c", "%zz", "3"] && query.contains("flag") && !query.contains("other"))
        #expect(query.items.count == 5 && query.items[1] == .init(name: "flag", value: nil))
        #expect(URLQuery(percentEncoded: "a=%41") == ["a": "A"], "escapes make no difference")
        #expect(Set([URLQuery(percentEncoded: "a=%41"), ["a": "A"]]).count == 1)
    }

    @Test func settingReplacesAllItemsOfANameInPlace() {
        var query = URLQuery(percentEncoded: "z=%7e&page=1&x=2&page=9")
        query.set("page", 2)
        #expect(query.encoded == "z=%7e&page=2&x=2")
        query.set("tag", ["a", "b"])
        query["x"] = "y z"
        #expect(query.encoded == "z=%7e&page=2&x=y%20z&tag=a&tag=b")
        query.set("tag", [Int]())
        query["page"] = nil
        query.remove("x")
        query.items[0].value = "~"
        #expect(query.encoded == "z=~")
        query.set("ids", [1, 2], style: .brackets)
        query.set("ids", [3], style: .brackets)
        query.set("n", [1, 2], style: .commas)
        query.set("n", [3, 4], style: .commas)
        #expect(query.encoded == "z=~&ids%5B%5D=3&n=3,4" && query["n"] == "3,4" && query["ids[]"] == "3")
    }

    @Test func descriptionHidesSecretValues() {
        let query: URLQuery = ["page": 2, "access_token": "s3cret"]
        #expect(query.description == "page=2&access_token=REDACTED")
    }
}
