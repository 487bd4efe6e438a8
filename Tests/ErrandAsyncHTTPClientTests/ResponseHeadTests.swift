#if AsyncHTTPClient
internal import Errand
@testable internal import ErrandAsyncHTTPClient
internal import Testing

/// What is read of the head of a response.
@Suite(.timeLimit(.minutes(5))) struct ResponseHeadTests {
    @Test(arguments: [
        (200, [("Content-Length", "5")], Int64?(5), Int64?(5)), (200, [], nil, nil), (200, [("content-length", "0")], 0, 0),
        (200, [("Content-Length", "5"), ("Content-Length", "5")], nil, nil), (200, [("Content-Length", "5, 5")], nil, nil),
        (200, [("Content-Length", "five")], nil, nil), (200, [("Content-Length", "5"), ("Content-Encoding", "gzip")], nil, 5),
        (200, [("Transfer-Encoding", "chunked"), ("Content-Length", "5")], nil, 5),
        (200, [("Content-Lengths", "5"), ("Content-Length-", "5"), ("X-ontent-Length", "5")], nil, nil),
        (204, [("Content-Length", "5")], 0, nil), (304, [("Content-Length", "5")], 0, nil),
    ])
    func theLengthsOfABody(status: Int, fields: [(String, String)], onTheWire: Int64?, expected: Int64?) throws {
        var head = HTTPResponse(status: .init(code: status))
        for (name, value) in fields { head.headerFields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value)) }
        let lengths = head.bodyLengths(answering: .get)
        #expect(lengths.onTheWire == onTheWire && lengths.expected == expected)
        let answeringHead = head.bodyLengths(answering: .head)
        #expect(answeringHead.onTheWire == 0 && answeringHead.expected == nil)
    }

    @Test(arguments: ["Content-Type", "content-type", "ETag", "Strict-Transport-Security", "x-content-type-options"])
    func aUsualNameIsKeptAsItIsWritten(text: String) throws {
        let name = try #require(UsualNames.name(text))
        #expect(name.rawName == text)
        #expect(name == HTTPField.Name(text))
        #expect(name.canonicalName == text.lowercased())
    }

    @Test(arguments: [
        "", "CONTENT-TYPE", "Content-Typ", "Content-Types", "content type", "X-Something-That-Is-Longer-Than-All-Of-The-Others",
    ])
    func anotherNameIsNotAmongTheUsual(text: String) { #expect(UsualNames.name(text) == nil) }
}
#endif
