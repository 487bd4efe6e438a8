import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandAPI

/// The bodies of calls, and the media types that the bodies set.
@Suite(.timeLimit(.minutes(5))) struct EndpointBodyTests {
    private struct Login: Encodable, Sendable {
        var userName = "joe"
        var remember = true
        var note: String?
    }

    /// A body, its media type, its text and the name of its encoded type.
    private static let bodies: [(EndpointBody, type: String?, text: String, name: String?)] = [
        (.none, nil, "", nil),
        (.json(["a": 1, "b": nil]), "application/json", #"{"a":1,"b":null}"#, "JSONValue"),
        (.json([1, 2]), "application/json", "[1,2]", "JSONValue"),
        (.json(Login(), contentType: "application/vnd.a+json"), "application/vnd.a+json", #"{"remember":true,"userName":"joe"}"#, "Login"),
        (.json(Login(), coding: JSONCoding(keys: .snakeCase)), "application/json", #"{"remember":true,"user_name":"joe"}"#, "Login"),
        (.mergePatch(["a": nil]), "application/merge-patch+json", #"{"a":null}"#, "JSONValue"),
        (.form(["b": "2", "a": "1 ä"]), "application/x-www-form-urlencoded", "b=2&a=1+%C3%A4", nil),
        (.form(Dictionary(uniqueKeysWithValues: [("b", "2"), ("a", "1")])), "application/x-www-form-urlencoded", "a=1&b=2", nil),
        (.form(Login(), bools: .numbers), "application/x-www-form-urlencoded", "userName=joe&remember=1", "Login"),
        (.text("ä"), "text/plain; charset=utf-8", "ä", nil),
        (.text("a,b", contentType: "text/csv"), "text/csv", "a,b", nil),
        (.data(Data("x".utf8)), "application/octet-stream", "x", nil),
        (.raw(.text("x")), nil, "x", nil),
        (.raw(.text("x"), contentType: "text/x"), "text/x", "x", nil),
    ]

    @Test func eachBodyHasItsTypeAndBytes() throws {
        for (body, type, text, name) in Self.bodies {
            #expect(body.contentType == type && body.typeName == name && body.boundary == nil)
            let made = try body.requestBody(.standard)
            #expect(made.bufferedData.map { String(decoding: $0, as: UTF8.self) } ?? "" == text)
            if let type { #expect(try Endpoint<Void>.post("/x", body: body).request().headers[.contentType] == type) }
        }
    }

    @Test func aFormWithPartsHasTheBoundaryOfItsType() throws {
        let form: MultipartForm = ["title": "Sunset"]
        let body = EndpointBody.multipart(form)
        #expect(body.contentType == form.contentType && body.boundary == form.boundary.text)
        let reporting = body.reportingProgress { _ in }
        #expect(reporting.contentType == form.contentType && reporting.boundary == form.boundary.text)
        #expect(throws: RequestEncodingError.self) {
            try Endpoint<Void>.post("/x", headers: [.contentType: "multipart/form-data; boundary=other"], body: reporting).request()
        }
    }

    @Test func aFileIsOpenedForTheRequest() throws {
        let folder = try TestFolder("endpoint-body")
        let url = URL(fileURLWithPath: folder.file("photo"))
        let body = EndpointBody.file(url, contentType: "image/x")
        #expect(body.contentType == "image/x")
        #expect(throws: FileReadError.self) { try Endpoint<Void>.post("/x", body: body).request() }
        try folder.write("hello", to: "photo")
        #expect(try Endpoint<Void>.post("/x", body: body).request().body.length == 5)
    }

    @Test func aBodyThatReportsItsProgressHasTheSameBytes() async throws {
        let reports = RecordingList<TransferProgress>()
        let body = EndpointBody.json(Login()).reportingProgress(reports.record)
        #expect(body.contentType == "application/json" && body.typeName == "Login")
        let source = try await body.requestBody(.standard).open()
        var data = Data()
        while let chunk = try await source.next() { data += chunk }
        #expect(data == Data(#"{"remember":true,"userName":"joe"}"#.utf8))
        #expect(reports.all.last == TransferProgress(bytes: 34, total: 34))
    }

    @Test func aValueThatCannotBeEncodedIsNamed() {
        let error = #expect(throws: RequestEncodingError.self) { try Endpoint<Void>.post("/x", body: .json([Double.nan])).request() }
        #expect(error?.description == "POST /x: cannot encode [Double] at [0]: a number that is not finite (not sent)")
    }
}
