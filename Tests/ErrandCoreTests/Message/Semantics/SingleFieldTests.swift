import ErrandCore
import Foundation
import Testing

@Suite struct SingleFieldTests {
    private static let refused: [HTTPField.Name] = [.location, .contentRange, .eTag, .lastModified]
    private static let first: [HTTPField.Name] = [
        .contentType, .contentDisposition, .contentLocation, .date, .retryAfter, .age, .expires, .server,
        .strictTransportSecurity,
    ]

    private static func fields(_ name: HTTPField.Name, _ values: String...) -> HTTPFields {
        var fields = HTTPFields()
        for value in values { fields.append(HTTPField(name: name, value: value)) }
        return fields
    }

    @Test(arguments: refused + first)
    func equalRepetitionsCountAsOneField(name: HTTPField.Name) throws {
        #expect(try Self.fields(name, "/a", "/a", "/a").checkedSingle(name) == "/a")
        #expect(Self.fields(name, "/a").single(name) == "/a")
        #expect(HTTPFields().single(name) == nil)
    }

    @Test(arguments: refused)
    func differentValuesOfASingleFieldAreRefused(name: HTTPField.Name) {
        let fields = Self.fields(name, "/a", "/a", "/b")
        #expect(fields.single(name) == nil)
        let error = #expect(throws: RepeatedFieldError.self) { try fields.checkedSingle(name) }
        #expect(error?.description == "the response has several fields \(name.rawName) with different values")
    }

    @Test(arguments: first)
    func theFirstValueOfOtherFieldsCounts(name: HTTPField.Name) { #expect(Self.fields(name, "a", "b").single(name) == "a") }

    @Test func valuesAreComparedByTheirOctets() {
        #expect(Self.fields(.location, "/\u{E9}", "/e\u{301}").single(.location) == nil)
    }

    @Test func aListIsJoined() { #expect(Self.fields(.vary, "a", "b").single(.vary) == "a, b") }

    // MARK: Readers

    private static func head(_ status: HTTPResponse.Status, _ name: HTTPField.Name, _ values: String...) -> HTTPResponse {
        var head = HTTPResponse(status: status)
        for value in values { head.headerFields.append(HTTPField(name: name, value: value)) }
        return head
    }

    @Test func aRepeatedWaitIsTheFirst() {
        #expect(Self.head(.serviceUnavailable, .retryAfter, "7", "7").headerFields.retryAfter == .seconds(7))
        #expect(Self.head(.serviceUnavailable, .retryAfter, "7", "900").headerFields.retryAfter == .seconds(7))
    }

    @Test func theTextOfABodyIsReadByTheFirstCharset() {
        let head = Self.head(.ok, .contentType, "text/plain; charset=latin1", "text/plain; charset=latin1")
        #expect(head.text(of: Data([0xE9])) == "é")
    }

    @Test(arguments: [("Latin1", "ä"), ("\"latin1\u{301}\"", "\u{FFFD}"), ("ISO-8859-1", "ä"), ("UTF-8", "\u{FFFD}")])
    func aCharsetIsReadByItsOctets(charset: String, text: String) {
        #expect(Self.head(.ok, .contentType, "text/plain; charset=\(charset)").text(of: Data([0xE4])) == text)
    }

    @Test func twoLocationsAreARedirect() {
        #expect(Self.head(.found, .location, "/a", "/a").isRedirect)
        // If the reader of redirects refuses a `Location`, the response must not look like a response without a `Location`.
        #expect(Self.head(.found, .location, "/a", "/b").isRedirect)
        #expect(!Self.head(.found, .location, "", "").isRedirect)
    }
}
