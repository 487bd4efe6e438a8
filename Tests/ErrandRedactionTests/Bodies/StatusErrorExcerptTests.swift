import Errand
import ErrandTesting
import Foundation
import Testing

/// The beginning of the body of a refusal, for developers.
@Suite(.timeLimit(.minutes(5))) struct StatusErrorExcerptTests {
    private func error(_ body: String, type: String? = "application/json") async throws -> StatusError {
        var headers = HTTPFields()
        if let type { headers[.contentType] = type }
        let stub = StubTransport(Stub().responds(.status(.badRequest, headers: headers, text: body)))
        let stack = stub.validateStatus()
        return try #require(await #expect(throws: StatusError.self) { try await stack.send(Request(.get, url: "https://a.example/x")) })
    }

    @Test(arguments: [
        (#"{"error":"no such user"}"#, "application/json", #"; body: {"error":"no such user"}"#),
        (
            "{\n  \"token\": \"s3cretvalue\",\n  \"error\": \"expired\"\n}", "application/problem+json",
            #"; body: {"token":"REDACTED","error":"expired"}"#
        ),
        ("error=no+user&password=s3cretvalue", "application/x-www-form-urlencoded", "; body: error=no+user&password=REDACTED"),
        ("<html>s3cretvalue</html>", "text/html", "; body: 24 bytes (text/html); see bodyPrefix"),
        ("s3cretvalue", "text/plain", "; body: 11 bytes (text/plain); see bodyPrefix"),
        ("\u{0}\u{1}", "application/octet-stream", "; body: 2 bytes (binary); see bodyPrefix"),
        ("", "application/json", ""),
    ]) func theBodyIsShownWithoutSecrets(_ body: String, _ type: String, _ shown: String) async throws {
        let error = try await error(body, type: type)
        #expect(error.debugDescription == "GET https://a.example/x: status 400 Bad Request" + shown)
        #expect(String(reflecting: error) == error.debugDescription)
    }

    @Test func textsForPeopleAndTheDescriptionHaveNoBody() async throws {
        let error = try await error(#"{"error":"no such user"}"#)
        let texts = ["\(error)", error.localizedDescription, error.failureReason ?? "", error.recoverySuggestion ?? ""]
        for text in texts { #expect(!text.contains("no such user"), "\(text)") }
    }

    @Test func aLongBodyIsCutAndItsLastValueIsHidden() async throws {
        let long = #"{"error":""# + String(repeating: "x", count: 100_000) + #""}"#
        let text = try await error(long).debugDescription
        #expect(text.count < 400 && text.hasSuffix(" …"), "\(text)")
        let cut = try await error(#"{"a":""# + String(repeating: "x", count: 180) + #"","token":"s3cretvalue"}"#).debugDescription
        #expect(!cut.contains("s3cre") && cut.hasSuffix(" …"), "\(cut)")
    }

    private static let secret = "hunter2SECRETVALUE"

    /// Returns the error of a refused request that carries the secret in a field, in its URL and in its body.
    private func echoed(_ body: String, type: String = "application/json", sent: RequestBody) async throws -> StatusError {
        let stub = StubTransport(Stub().responds(.data(Data(body.utf8), status: .unprocessableContent, headers: [.contentType: type])))
        var request = try Request(.post, url: "https://a.example/x", body: sent)
        if sent.isEmpty { request.headers[.authorization] = "Bearer " + Self.secret }
        return try #require(await #expect(throws: StatusError.self) { try await stub.validateStatus().send(request) })
    }

    private static let echoes = [
        #"{"error":"Bearer \#(secret) is expired"}"#, #"{"errors":[{"field":"password","rejectedValue":"\#(secret)"}]}"#,
        #"{"detail":[{"loc":["body","password"],"msg":"short","input":"\#(secret)"}]}"#, #"{"message":"no such token \#(secret)"}"#,
        #"{"path":"/x/\#(secret)"}"#, #"{"\#(secret)":1}"#, #"["password","\#(secret)"]"#, #""\#(secret)""#,
        #"{"a":"hunter2\u0053ECRETVALUE"}"#, #"{"note":"\#(Data(secret.utf8).base64EncodedString())"}"#,
    ]

    @Test(arguments: echoes) func aSecretOfTheRequestIsHiddenUnderAnyName(_ body: String) async throws {
        let sent: [RequestBody] = [
            .empty, try .json(["password": Self.secret]), .form(["password": Self.secret]),
            try .json(["user": ["name": "joe", "api_key": Self.secret]]),
        ]
        for sent in sent {
            let error = try await echoed(body, sent: sent)
            let text = error.debugDescription
            #expect(!text.contains(Self.secret) && !text.contains("SECRET") && !text.contains("aHVudGVy"), "\(text)")
        }
        let url = StubTransport(
            Stub().responds(.data(Data(body.utf8), status: .notFound, headers: [.contentType: "application/json"])))
        let request = try Request(.get, url: "https://a.example/?token=" + Self.secret)
        let error = await #expect(throws: StatusError.self) { try await url.validateStatus().send(request) }
        #expect(error?.debugDescription.contains("SECRET") == false)
    }

    @Test func noCutShowsASecretOfTheRequest() async throws {
        for count in stride(from: 120, to: 200, by: 3) {
            let body = #"{"a":""# + String(repeating: "x", count: count) + #"","b":"\#(Self.secret)","c":"ok"}"#
            let text = try await echoed(body, sent: .json(["password": Self.secret])).debugDescription
            #expect(!text.contains("hunter"), "\(count): \(text)")
        }
    }

    @Test func otherValuesOfTheRequestAreShown() async throws {
        let error = try await echoed(#"{"error":"joe is unknown"}"#, sent: .json(["user": "joe", "password": Self.secret]))
        #expect(error.debugDescription.hasSuffix(#"; body: {"error":"joe is unknown"}"#))
    }

    @Test(arguments: [
        "Invalid parameter access_token=\(secret)", "no such token \(secret)", "see https://u:\(secret)@a.example/",
        "see https://a.example/?token=\(secret)", "password: \(secret)",
    ]) func aTitleWithASecretIsLeftOut(_ title: String) async throws {
        for sent in [RequestBody.empty, try .json(["password": Self.secret])] {
            let body = #"{"title":"\#(title)","password":"\#(Self.secret)","detail":"\#(Self.secret)"}"#
            let error = try await echoed(body, type: ProblemDetails.mediaType, sent: sent)
            var dumped = ""
            dump(error, to: &dumped)
            for text in ["\(error)", String(reflecting: error), error.localizedDescription, error.failureReason ?? "", dumped] {
                #expect(!text.contains(Self.secret), "\(text)")
            }
            #expect(error.failureReason == "The server responded with status 422 Unprocessable Content.")
        }
    }
}
