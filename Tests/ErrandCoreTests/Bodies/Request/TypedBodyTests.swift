import ErrandCore
import ErrandFormats
import ErrandTesting
import Foundation
import TestSupport
import Testing

/// Bodies that bring their media type, as the bodies of endpoints do.
@Suite(.timeLimit(.minutes(5))) struct TypedBodyTests {
    private struct User: Encodable { var fullName = "Ada" }

    private func request(_ body: RequestBody, headers: HTTPFields = HTTPFields()) throws -> Request {
        try Request(.post, url: "https://a.example/x", headers: headers, body: body)
    }

    private func text(_ request: Request) -> String { String(decoding: request.body.bufferedData ?? Data(), as: UTF8.self) }

    @Test func eachKindSetsItsType() throws {
        let rows: [(RequestBody, String?, String)] = [
            (try .json(User()), "application/json", #"{"fullName":"Ada"}"#),
            (try .json(User(), coding: JSONCoding(keys: .snakeCase)), "application/json", #"{"full_name":"Ada"}"#),
            (try .json(User(), contentType: "application/vnd.api+json"), "application/vnd.api+json", #"{"fullName":"Ada"}"#),
            (try .json(["name": ["Ada", 36]]), "application/json", #"{"name":["Ada",36]}"#),
            (try .json(["name": "Ada"]), "application/json", #"{"name":"Ada"}"#),
            (.form(["b": "1", "a": "2 3"]), "application/x-www-form-urlencoded", "b=1&a=2+3"),
            (try .form(User()), "application/x-www-form-urlencoded", "fullName=Ada"),
            (.text("a,b", contentType: "text/csv"), "text/csv", "a,b"),
            (.data(Data("x".utf8), contentType: "image/png"), "image/png", "x"),
            (.text("x"), nil, "x"), (.data(Data("x".utf8)), nil, "x"), (.empty, nil, ""),
        ]
        for (body, type, content) in rows {
            let request = try request(body)
            #expect(request.headers[.contentType] == type && text(request) == content)
            #expect(body.length == Int64(content.utf8.count) && body.replay == .seekable && body.bufferedData == Data(content.utf8))
            #expect("\(body)" == (content.isEmpty ? "empty" : content.utf8.count.counted("byte")))
        }
        let fields = ["b": "1", "a": "2"]
        #expect(text(try request(.form(fields))) == "a=2&b=1")
    }

    /// A media type may come from data. A changed type must not be sent.
    @Test(arguments: ["a/b\r\nX: y", "a/b\n", "\u{0}"]) func anInvalidTypeFailsTheRequest(_ type: String) async throws {
        let stub = StubTransport(Stub().responds(.status(.ok), repeatingLast: true))
        let request = try request(.data(Data("x".utf8), contentType: type))
        let error = await #expect(throws: InvalidFieldError.self) { try await HTTPStack(stub).send(request) }
        #expect(error?.name == .contentType && stub.requests.isEmpty)
        var changed = request
        changed.headers[.contentType] = "text/plain"
        _ = try await HTTPStack(stub).send(changed)
        #expect(stub.requests.map { $0.headers[.contentType] } == ["text/plain"])
    }

    @Test func aTypeOfTheRequestStays() throws {
        let request = try request(.json(User()), headers: [.contentType: "application/scim+json"])
        #expect(request.headers[.contentType] == "application/scim+json")
    }

    @Test func aBodyThatIsSetLaterSetsItsTypeOnce() throws {
        var request = try Request(.post, "/x")
        request.body = try .json(User())
        #expect(request.headers[.contentType] == "application/json")
        // A layer that replaces the body does not bring the type back.
        request.headers[.contentType] = nil
        request.body = request.body.observed { _ in }
        #expect(request.headers[.contentType] == nil)
    }

    @Test func anotherBodyBringsItsOwnType() throws {
        let forms = ["1", "2"].map { MultipartForm([.init("a", .text($0))]) }
        var request = try request(.multipart(forms[0]))
        request.body = try .multipart(forms[1])
        #expect(request.headers[.contentType] == forms[1].contentType && forms[0].contentType != forms[1].contentType)
        request.body = try .json(User())
        request.body = .form(["a": "1"])
        #expect(request.headers[.contentType] == "application/x-www-form-urlencoded")
        // The field that the caller has set stays.
        request.headers[.contentType] = "text/x-own"
        request.body = try .json(User())
        #expect(request.headers[.contentType] == "text/x-own")
    }

    @Test func theBodyOfAnotherRequestHasItsType() throws {
        let first = try request(.json(User()))
        #expect(try request(first.body).headers[.contentType] == "application/json")
    }

    @Test func aChangedBodyKeepsItsType() async throws {
        let observed = try request(RequestBody.json(User()).observed { _ in })
        #expect(observed.headers[.contentType] == "application/json")
        #expect(try await observed.body.collected() == Data(#"{"fullName":"Ada"}"#.utf8))
        let form = MultipartForm([.init("a", .text("1"))])
        let sent = try request(.multipart(form).reportingProgress { _ in })
        #expect(sent.headers[.contentType] == form.contentType)
    }

    @Test func aFileHasATypeToo() async throws {
        let folder = try TestFolder("typed")
        try folder.write("<svg/>", to: "a.svg")
        let body = try RequestBody.file(atPath: folder.file("a.svg"), contentType: "image/svg+xml")
        #expect(body.length == 6 && "\(body)" == "file, 6 bytes")
        #expect(try await body.collected() == Data("<svg/>".utf8))
        #expect(try request(body).headers[.contentType] == "image/svg+xml")
        let url = URL(fileURLWithPath: folder.file("a.svg"))
        #expect(try request(.file(url, contentType: "image/svg+xml")).headers[.contentType] == "image/svg+xml")
    }

    @Test func responsesHaveTheSameNames() async throws {
        #expect(try await ResponseBody.data(Data("x".utf8)).collect() == Data("x".utf8))
        #expect(try await ResponseBody.text("é").collect() == Data("é".utf8))
    }
}

extension RequestBody {
    fileprivate func collected() async throws -> Data {
        let source = try await open()
        var data = Data()
        while let chunk = try await source.next() { data += chunk }
        return data
    }
}
