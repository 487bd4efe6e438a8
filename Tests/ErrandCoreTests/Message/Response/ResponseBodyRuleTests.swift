import ErrandCore
import Testing

@Suite struct ResponseBodyRuleTests {
    @Test(arguments: [
        (HTTPRequest.Method.get, 200, true), (.post, 201, true), (.get, 206, true), (.get, 404, true), (.options, 500, true),
        (.head, 200, false), (.head, 404, false), (.get, 204, false), (.get, 304, false), (.get, 100, false), (.get, 103, false),
        (.get, 101, false),
    ])
    func theMethodAndTheStatusDecideWhetherThereIsABody(method: HTTPRequest.Method, status: Int, hasBody: Bool) {
        #expect(method.responseHasBody(status: status) == hasBody)
    }

    /// The declared length of a response to HEAD, and of a 304 response, is the length of another body.
    @Test(
        arguments: [
            (HTTPRequest.Method.get, 200, 5, 5), (.get, 200, nil, nil), (.get, 200, 0, 0), (.get, 204, 5, 0), (.get, 204, nil, 0),
            (.get, 304, 5, nil), (.head, 200, 5, nil), (.head, 204, 0, nil),
        ] as [(HTTPRequest.Method, Int, Int64?, Int64?)])
    func theExpectedLengthIsThatOfTheSentBody(method: HTTPRequest.Method, status: Int, declared: Int64?, expected: Int64?) {
        #expect(method.expectedResponseLength(status: status, declared: declared) == expected)
    }
}
