import ErrandFormats
import Testing

@Suite(.timeLimit(.minutes(5))) struct MultipartSectionTests {
    private func sections(_ body: String, _ boundary: String?) -> [String] {
        let bytes = Array(body.utf8)
        return MultipartSection.parts(of: bytes, boundary: boundary).map { part in
            "\(part.name ?? "-") \(part.type ?? "-") \(String(decoding: bytes[part.content], as: UTF8.self))"
        }
    }

    @Test func aPartHasNameTypeAndContent() {
        let body =
            "preamble\r\n--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n--b \r\ncontent-type: text/plain\r\n\r\ntwo\r\nlines\r\n--b--\r\n"
        #expect(sections(body, "b") == ["a - one", "- text/plain two\r\nlines"])
        #expect(sections("--b\nContent-Disposition: form-data; name=a\n\none\n--b--", "b") == ["a - one"])
        #expect(sections("--b\r\n\r\nno fields\r\n--b--", "b") == ["- - no fields"])
        #expect(sections("--b\r\nContent-Type: x/y\r\n\r\nbroken o", "b") == ["- x/y broken o"])
    }

    @Test func aDelimiterStartsALineAndEndsTheLine() {
        #expect(sections("--b\r\n\r\none --b\r\n--bc\r\n\r\ntwo\r\n--b--", "b") == ["- - one --b\r\n--bc\r\n\r\ntwo"])
        #expect(sections("--\r\n\r\none", "").isEmpty)
        #expect(sections("--b\r\n\r\none", nil).isEmpty)
    }

    @Test func aBoundaryHasSeventyOctetsAtMost() {
        for (count, isOne) in [(70, true), (71, false)] {
            let boundary = String(repeating: "b", count: count)
            #expect(sections("--\(boundary)\r\n\r\none\r\n--\(boundary)--", boundary).isEmpty == !isOne)
            #expect(MultipartBoundary.isTooLong(boundary) == !isOne)
        }
    }

    @Test func aLongerBoundaryDiffers() {
        let inner = "--b-1\r\n\r\ntwo\r\n--b-1--"
        #expect(sections("--b\r\n\r\n\(inner)\r\n--b--", "b") == ["- - \(inner)"])
        #expect(sections("--b\r\n\r\none\r\n--b-", "b") == ["- - one"])
    }

    @Test func fieldLinesAreBetweenTheDelimiterAndTheEmptyLine() {
        for (body, heads) in [
            ("--b \r\nA: 1\r\nB: 2\r\n\r\none\r\n--b\nC: 3\n\ntwo\n--b--", ["A: 1\r\nB: 2\r", "C: 3"]),
            ("--b\r\n\r\nA: 1\r\n--b--", [""]), ("--b\n\nA: 1\n--b--", [""]),
        ] {
            let bytes = Array(body.utf8)
            let parts = MultipartSection.parts(of: bytes, boundary: "b")
            #expect(parts.map { String(decoding: bytes[$0.head], as: UTF8.self) } == heads)
        }
    }

    @Test(arguments: ["-", "\n", "--b\n", "--b", "-\n", "--bb\n", "\r\n--"]) func eachByteIsReadABoundedNumberOfTimes(_ unit: String) {
        for count in [1_000, 2_000, 4_000] {
            let bytes = Array(String(repeating: unit, count: count).utf8)
            for boundary in ["b", "-", String(repeating: "-", count: 70)] {
                var steps = 0
                _ = MultipartSection.delimiters(of: boundary, in: bytes, steps: &steps)
                #expect(steps <= 3 * bytes.count + 3)
            }
        }
    }

    @Test(
        arguments: [
            ("Content-Disposition: form-data;\r\n name=\"a\";\r\n\tb=c", "a", ["a"]),
            ("content-disposition\t: x; NAME = a ;x", nil, ["a "]),
            (
                "Content-Disposition: x; name=\"a\"; name=b\r\nA: name=d\r\nContent-Disposition: x; filename=\"e\"; name*=UTF-8''%66", "a",
                ["a", "b", "UTF-8''f"]
            ),
            ("Content-Disposition: x; name*0=a; file-name=b; rename=c; name", nil, ["a", "b"]),
            ("Content-Disposition: x; name=\"a", nil, ["a"]),
            ("A: b", nil, []),
        ] as [(String, String?, [String])]) func aPartHasAllItsPossibleNames(_ head: String, _ name: String?, _ names: [String])
    {
        let part = MultipartSection.parts(of: Array("--b\r\n\(head)\r\n\r\none\r\n--b--".utf8), boundary: "b").first
        #expect(part?.name == name)
        #expect(part?.names == names)
    }

    @Test func partsWithoutAnEmptyLineAreReturnedOnDemand() {
        let bytes = Array("--b\r\nA: 1\r\n--b\r\n\r\none\r\n--b--\r\nend".utf8)
        #expect(MultipartSection.parts(of: bytes, boundary: "b").count == 1)
        let parts = MultipartSection.parts(of: bytes, boundary: "b", includingFragments: true)
        #expect(parts.map(\.isFragment) == [true, false, true])
        #expect(parts.map { String(decoding: bytes[$0.head], as: UTF8.self) } == ["A: 1", "", "end"])
        #expect(parts.map { String(decoding: bytes[$0.content], as: UTF8.self) } == ["", "one", ""])
    }

    @Test(
        arguments: [
            ("--b\r\nContent-Type: a/b\r\n", "b"), ("\r\n--b-1 \ncontent-disposition: x", "b-1"), ("--b\r\nA: b\r\n", nil),
            ("--\r\nContent-Type: a", nil), ("-b\r\nContent-Type: a", nil), ("--b", nil), ("", nil),
            ("--\(String(repeating: "b", count: 70))\r\nContent-", String(repeating: "b", count: 70)),
            ("--\(String(repeating: "b", count: 71))\r\nContent-", nil),
        ] as [(String, String?)]) func theFirstLineShowsTheBoundary(_ text: String, _ boundary: String?)
    {
        #expect(MultipartSection.boundary(atFrontOf: Array(text.utf8)) == boundary)
    }
}
