#if AsyncHTTPClient
internal import Errand
@testable internal import ErrandAsyncHTTPClient
internal import Testing

/// What is read of the head of a response.
@Suite(.timeLimit(.minutes(5))) struct ResponseHeadTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let status: Int
        /// `Name: value`, one a line.
        let fields: String
        let onTheWire: Int64?
        let expected: Int64?

        init(_ status: Int, _ fields: String, _ onTheWire: Int64?, _ expected: Int64?) {
            (self.status, self.fields, self.onTheWire, self.expected) = (status, fields, onTheWire, expected)
        }

        var testDescription: String { "\(status) \(fields)" }
    }

    static let cases: [Case] = [
        Case(200, "", nil, nil),
        Case(200, "Content-Length: 5", 5, 5),
        Case(200, "content-length: 0", 0, 0),
        Case(200, "Content-Length: 5\nContent-Length: 5", nil, nil),
        Case(200, "Content-Length: 5, 5", nil, nil),
        Case(200, "Content-Length: five", nil, nil),
        Case(200, "Content-Length: 5\nContent-Encoding: gzip", nil, 5),
        Case(200, "Transfer-Encoding: chunked\nContent-Length: 5", nil, 5),
        Case(200, "Content-Lengths: 5\nContent-Length-: 5\nX-ntent-Length: 5", nil, nil),
        Case(204, "Content-Length: 5", 0, nil),
        Case(304, "Content-Length: 5", 0, nil),
    ]

    @Test(arguments: cases) func bodyLengthsAreReadFromTheHead(example: Case) throws {
        var head = HTTPResponse(status: .init(code: example.status))
        for line in example.fields.split(separator: "\n") {
            let parts = line.split(separator: ": ")
            head.headerFields.append(HTTPField(name: try #require(HTTPField.Name(String(parts[0]))), value: String(parts[1])))
        }
        let lengths = head.bodyLengths(to: .get)
        #expect(lengths.onTheWire == example.onTheWire && lengths.expected == example.expected)
        let toHead = head.bodyLengths(to: .head)
        #expect(toHead.onTheWire == 0 && toHead.expected == nil)
    }

    @Test(arguments: ["Content-Type", "content-type", "ETag", "Strict-Transport-Security", "x-content-type-options"])
    func aUsualNameKeepsItsSpelling(text: String) throws {
        let name = try #require(UsualNames.name(text))
        #expect(name.rawName == text)
        #expect(name == HTTPField.Name(text))
        #expect(name.canonicalName == text.lowercased())
    }

    @Test(arguments: [
        "", "CONTENT-TYPE", "Content-Typ", "Content-Types", "content type", "X-Something-That-Is-Longer-Than-All-Of-The-Others",
    ])
    func anUnusualFieldNameIsNotFound(text: String) { #expect(UsualNames.name(text) == nil) }
}
#endif
