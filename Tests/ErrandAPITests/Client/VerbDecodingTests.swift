import Errand
import ErrandTesting
import Foundation
import Testing

/// The verbs of a client take a decoding, as endpoints do.
@Suite(.timeLimit(.minutes(5))) struct VerbDecodingTests {
    private struct Wrapper: ResponseEnvelope {
        var code: Int
        var failure: ServiceError? { code == 0 ? nil : ServiceError(.init(code)) }
    }

    private struct Health: Codable, Sendable, Equatable { var code: Int }

    private let stub = StubTransport(Stub().responds(.json(["code": 7])))
    private var client: APIClient { APIClient(stub.server("https://a.example"), envelope: Wrapper.self) }

    @Test func eachVerbTakesADecoding() async throws {
        let whole = [
            try await client.get("/health", as: Health.self, decoding: .json.withoutEnvelope),
            try await client.post("/health", body: .json(["a": 1]), decoding: .json.withoutEnvelope),
            try await client.put("/health", as: Health.self, decoding: .json.withoutEnvelope),
            try await client.patch("/health", as: Health.self, decoding: .json.withoutEnvelope),
            try await client.delete("/health", timeout: .seconds(5), decoding: .json.withoutEnvelope) { $0.tags = ["a": "b"] },
        ]
        #expect(whole.allSatisfy { $0 == Health(code: 7) })
        #expect(stub.requests.map(\.request.method) == [.get, .post, .put, .patch, .delete])
    }

    @Test func theEnvelopeStaysTheDefault() async throws {
        await #expect(throws: ServiceError.self) { try await client.get("/health", as: Health.self) }
    }
}
