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
        ("<html>s3cretvalue</html>", "text/html", "; body: 24 bytes (text/html)"),
        ("s3cretvalue", "text/plain", "; body: 11 bytes (text/plain)"),
        ("\u{0}\u{1}", "application/octet-stream", "; body: 2 bytes (binary)"),
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
}
