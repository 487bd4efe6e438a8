import ErrandCore
import Testing

@Suite struct EncodedFieldsTests {
    @Test func theFieldsOfTheEncodedBodyLeaveTheHead() {
        var fields: HTTPFields = [.contentEncoding: "gzip", .contentLength: "30", .eTag: "\"a\"", .contentType: "text/plain"]
        fields.append(HTTPField(name: .contentEncoding, value: "br"))
        var response = HTTPResponse(status: .ok, headerFields: fields)
        let removed = response.removeEncodedFields()
        #expect(response.headerFields == [.eTag: "\"a\"", .contentType: "text/plain"])
        #expect(removed[values: .contentEncoding] == ["gzip", "br"] && removed[.contentLength] == "30" && removed.count == 3)
        #expect(response.removeEncodedFields().isEmpty)
    }

    @Test func aBodyIsDecodedIfItsCodingOrItsFieldsAreKnown() {
        var metadata = ResponseMetadata()
        #expect(!metadata.isDecoded)
        metadata.encodedFields = [.contentLength: "30"]
        #expect(metadata.isDecoded)
        metadata = ResponseMetadata()
        metadata.contentCoding = "gzip"
        #expect(metadata.isDecoded)
    }
}
