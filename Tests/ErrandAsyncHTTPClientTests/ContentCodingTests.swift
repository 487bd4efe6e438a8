#if AsyncHTTPClient
internal import Errand
@testable internal import ErrandAsyncHTTPClient
internal import Testing

/// Which responses are decoded: the guard of a connection and the exchange ask the same function.
@Suite(.timeLimit(.minutes(5))) struct ContentCodingTests {
    @Test(
        arguments: [
            (["gzip"], "gzip"), (["GZIP"], "gzip"), (["x-gzip"], "gzip"), (["deflate"], "deflate"), (["br"], nil), (["gzip, deflate"], nil),
            (["gzip", "deflate"], nil), (["identity"], nil), ([], nil),
        ] as [([String], String?)])
    func oneKnownCodingIsDecoded(values: [String], coding: String?) {
        #expect(ContentCoding.decoded(values, status: 200, contentLength: nil, answersHead: false) == coding)
        var head = HTTPResponse(status: .ok, headerFields: [.contentLength: "10"])
        head.headerFields[values: .contentEncoding] = values
        #expect(head.removeDecodedCoding(of: .get) == coding)
        #expect(head.headerFields[values: .contentEncoding] == (coding == nil ? values : []))
        #expect(head.headerFields[.contentLength] == (coding == nil ? "10" : nil))
    }

    @Test(
        arguments: [
            (200, HTTPRequest.Method.get, nil, true), (404, .post, "10", true), (200, .get, "00", true), (200, .head, "10", false),
            (204, .get, nil, false), (304, .get, "10", false), (200, .get, "0", false), (103, .get, nil, false),
        ] as [(Int, HTTPRequest.Method, String?, Bool)])
    func aResponseWithoutABodyIsNot(status: Int, method: HTTPRequest.Method, length: String?, isDecoded: Bool) {
        var head = HTTPResponse(status: .init(code: status), headerFields: [.contentEncoding: "gzip"])
        head.headerFields[.contentLength] = length
        #expect(head.removeDecodedCoding(of: method) == (isDecoded ? "gzip" : nil))
        #expect(head.headerFields[.contentEncoding] == (isDecoded ? nil : "gzip"))
    }
}
#endif
