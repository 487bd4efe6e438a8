internal import ErrandCore
internal import Testing

@testable internal import ErrandURLSession

@Suite struct ReceivedHeadTests {
    private func head(
        _ fields: HTTPFields, status: Int = 200, to method: HTTPRequest.Method = .get
    ) -> ReceivedHead {
        ReceivedHead(HTTPResponse(status: .init(code: status), headerFields: fields), to: method)
    }

    @Test func aDecodedBodyLosesTheFieldsOfTheEncodedBody() {
        let head = head([.contentEncoding: "gzip", .contentLength: "30", .eTag: "\"a\""])
        #expect(head.head.headerFields == [.eTag: "\"a\""])
        #expect(head.encodedFields[.contentEncoding] == "gzip" && head.encodedFields[.contentLength] == "30")
        #expect(head.contentCoding == "gzip" && head.isDecoded && head.expectedLength == nil && head.wireLength == nil)
    }

    @Test(arguments: ["GZIP", "x-gzip", "deflate", "br", "gzip, br", "identity, gzip"]) func theSessionDecodes(coding: String) {
        #expect(head([.contentEncoding: coding]).isDecoded)
    }

    @Test(arguments: ["compress", "gzip, unknown", "identity", "", "gzip\u{301}"]) func theSessionDoesNotDecode(coding: String) {
        let head = head([.contentEncoding: coding, .contentLength: "30"])
        #expect(!head.isDecoded && head.encodedFields.isEmpty && head.head.headerFields[.contentEncoding] == coding)
    }

    @Test func anUnknownCodingHasNoCertainLength() {
        let head = head([.contentEncoding: "compress", .contentLength: "30"])
        #expect(head.wireLength == nil && head.expectedLength == 30)
    }

    @Test(arguments: [(200, HTTPRequest.Method.head, nil), (204, .get, 0), (304, .get, nil)])
    func aResponseWithoutABodyKeepsItsFields(status: Int, method: HTTPRequest.Method, expectedLength: Int64?) {
        let head = head([.contentEncoding: "gzip", .contentLength: "30"], status: status, to: method)
        #expect(!head.isDecoded && head.wireLength == 0 && head.expectedLength == expectedLength)
        #expect(head.head.headerFields[.contentLength] == "30")
    }

    @Test func anEmptyBodyIsNotDecoded() { #expect(!head([.contentEncoding: "gzip", .contentLength: "0"]).isDecoded) }

    @Test(arguments: ["x", "-1", ""]) func anInvalidLengthIsNoLength(value: String) {
        let head = head([.contentLength: value])
        #expect(head.expectedLength == nil && head.wireLength == nil)
    }

    @Test func severalLengthsAreNoLength() {
        var fields = HTTPFields()
        for _ in 0..<2 { fields.append(HTTPField(name: .contentLength, value: "3")) }
        #expect(head(fields).wireLength == nil)
    }

    @Test(arguments: [
        ("a=1", ["a=1"]),
        ("a=1, b=2", ["a=1", "b=2"]),
        ("a=1; Expires=Wed, 21 Oct 2015 07:28:00 GMT, b=2; Path=/", ["a=1; Expires=Wed, 21 Oct 2015 07:28:00 GMT", "b=2; Path=/"]),
        (
            "a=1; Expires=Wed, 21 Oct 2015 07:28:00 GMT; Path=/, b=2; Expires=Thu, 22 Oct 2015 07:28:00 GMT",
            ["a=1; Expires=Wed, 21 Oct 2015 07:28:00 GMT; Path=/", "b=2; Expires=Thu, 22 Oct 2015 07:28:00 GMT"]
        ),
        ("a=1,2; Path=/", ["a=1,2; Path=/"]), ("a=1,b=2", ["a=1,b=2"]), ("a=1, ", ["a=1, "]), ("a=1, =2", ["a=1, =2"]),
        ("a=1, b c=2", ["a=1, b c=2"]), ("a=1, b", ["a=1, b"]), ("", [""]), (",", [","]),
    ])
    func joinedCookiesAreSeparated(joined: String, values: [String]) { #expect(SetCookieFields.separated(joined) == values) }
}
