import Errand
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandMiddleware

/// The records of redirects.
@Suite struct RedirectTrailTests {
    @Test func aRecordHasBothURLsAndTheFieldsWithoutSecrets() throws {
        var trail = RedirectTrail()
        var request = try Request(.get, url: "https://a.example/x?token=s3cret")
        request.options.sensitivity = Sensitivity(fields: [HTTPField.Name("X-Own")!], queryNames: ["card"])
        var head = HTTPResponse(status: .seeOther, headerFields: [.location: "https://b.example/y?card=s3cret", .server: "nginx"])
        head.headerFields[HTTPField.Name("X-Own")!] = "s3cret"
        head.headerFields[values: .setCookie] = ["a=s3cret", "b=s3cret"]
        head.headerFields[HTTPField.Name("X-Long")!] = String(repeating: "x", count: 10_000)
        _ = try trail.step(after: head, to: request, by: .standard)
        let record = try #require(trail.records.first)
        #expect(record.status == .seeOther && record.from == "https://a.example/x?token=REDACTED")
        #expect(record.to == "https://b.example/y?card=REDACTED" && record.reason == .redirect && !record.isInternal)
        #expect(record.headerFields[.location] == "https://b.example/y?card=REDACTED" && record.headerFields[.server] == "nginx")
        #expect(record.headerFields[values: .setCookie] == ["<redacted>", "<redacted>"] && record.keptCredentials == nil)
        #expect(try #require(record.headerFields[HTTPField.Name("X-Long")!]).utf8.count < 9000)
        var dumped = ""
        dump(record, to: &dumped)
        #expect(!dumped.contains("s3cret"))
    }

    /// Such records take no hop from the limit.
    @Test func theRecordsOfInnerLayersAreKeptInOrder() async throws {
        let stub = StubTransport(Stub(nil, "/x").responds(.redirect(to: "/y")), Stub(nil, "/y").responds(.status(.ok)))
        let upgrading = ClosureMiddleware { request, next in
            var response = try await next.send(request)
            let path = request.path
            response.metadata.redirects = [
                RedirectRecord(status: .temporaryRedirect, from: "http://a.example\(path)", to: request.redactedURL, reason: .hsts)
            ]
            return response
        }
        let response = try await HTTPStack(stub).wrapped(by: upgrading).redirect(RedirectPolicy(maxHops: 1)).send(try request())
        #expect(response.metadata.redirects.map(\.isInternal) == [true, false, true])
        #expect(
            response.metadata.redirects.map(\.from) == ["http://a.example/x", "https://a.example/x", "http://a.example/y"])
    }

    @Test func aRecordOfTheClientIsInternal() {
        let record = RedirectRecord(
            status: .temporaryRedirect, from: "http://a.example/", to: "https://a.example/", reason: .hsts)
        #expect(record.isInternal && record.headerFields.isEmpty && "\(record.reason)" == "HSTS")
        #expect(record != RedirectRecord(status: .temporaryRedirect, from: "http://a.example/", to: "https://a.example/"))
    }
}
