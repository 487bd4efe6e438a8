import Errand
import ErrandTesting
import TestSupport
import Testing

/// Secrets within values that have a format of their own, and in the words of an app's own errors.
@Suite(.timeLimit(.minutes(5)))
struct RecordingNestedSecretTests {
    private struct AppBroke: Error, CustomStringConvertible { var description: String { "hunter2hunter2" } }

    private func file(of requests: [Request], over transport: ClosureTransport) async throws -> String {
        let folder = try TestFolder("recording")
        try await folder.record(requests, over: transport)
        return try folder.text("a.har")
    }

    @Test func theTextOfAnAppErrorIsNotRecorded() async throws {
        for (message, underlying) in [("hunter2hunter2", AppBroke() as any Error), ("it said: hunter2hunter2", AppBroke())] {
            let transport = ClosureTransport { request in
                throw TransportError(
                    .requestBody, phase: .send, message: message, underlying: underlying, request: request, delivery: .unknown)
            }
            let text = try await file(of: [post("/a", .text("x"))], over: transport)
            #expect(!text.contains("hunter2hunter2"))
            #expect(text.contains("request body failed: AppBroke (may have been sent)"))
        }
        // What the library itself says stays.
        let counted = ClosureTransport { request in
            throw TransportError(
                .requestBody, phase: .send, message: "3 bytes were declared, and 10 came", request: request, delivery: .unknown)
        }
        #expect(try await file(of: [post("/a", .text("x"))], over: counted).contains("3 bytes were declared, and 10 came"))
    }

    @Test func secretsInJSONWithinAStringOfJSONAreReplaced() async throws {
        let body = #"{"Message":"{\"password\":\"hunter2hunter2\"}","plain":{"password":"hunter3hunter3"}}"#
        let text = try await file(
            of: [get("/a")], over: ClosureTransport(.ok, headers: [.contentType: "application/json"], data: Data(body.utf8)))
        #expect(!text.contains("hunter3hunter3"))
        #expect(!text.contains("hunter2hunter2"))
    }

    @Test func secretsInURLsThatAreValuesOfAFormAreReplaced() async throws {
        let form = "next=https%3A%2F%2Fa.example%2F%3Faccess_token%3Dhunter2hunter2&password=hunter3hunter3"
        let text = try await file(
            of: [post("/a", .text(form), type: "application/x-www-form-urlencoded")], over: ClosureTransport(.ok))
        #expect(!text.contains("hunter3hunter3"))
        #expect(!text.contains("hunter2hunter2"))
    }
}
