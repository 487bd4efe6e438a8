import Errand
import ErrandTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct DynamicJSONTests {
    private struct User: Codable, Equatable {
        var userName: String
        var joined: Date
    }

    private let coding = JSONCoding(keys: .snakeCase)

    @Test func aCallGivesAnyJSON() async throws {
        let stub = StubTransport(
            Stub(.get, "/users/{id}").responds(.json(["user": ["name": "Ada", "id": 9_007_199_254_740_993]] as JSONValue)),
            Stub(.delete, "/users/{id}").responds(.status(.noContent)), Stub(.get, "/nothing").responds(.status(.notFound)),
            Stub(.get, "/text").responds(.data(Data("[1".utf8))))
        let client = APIClient(stub.server("https://a.example"))
        let json = try await client.json("/users/\(7, "id")", query: ["full": true])
        #expect(json.user.name.stringValue == "Ada" && json.user.id.intValue == 9_007_199_254_740_993)
        #expect(stub.requests[0].headers[.accept] == "application/json" && stub.requests[0].request.url?.query == "full=true")
        #expect(try await client.json(Endpoint<Void>.delete("/users/\(7, "id")")) == .null)
        await #expect(throws: ResponseDecodingError.self) { try await client.json("/text") }
        await #expect(throws: StatusError.self) { try await client.json("/nothing") }
        #expect(stub.openBodyCount == 0)
    }

    @Test func valuesAreConvertedToJSONAndBack() throws {
        let user = User(userName: "Ada", joined: Date(timeIntervalSince1970: 0))
        let json = try JSONValue(encoding: user, coding: coding)
        #expect(json == ["user_name": "Ada", "joined": "1970-01-01T00:00:00Z"])
        #expect(try json.decoded(as: User.self, coding: coding) == user)
        #expect(throws: DecodingError.self) { try json.decoded(as: User.self) }
        #expect(try JSONValue(encoding: [1.5, 2]) == [1.5, 2])
        #expect(try (["a": [1, 2]] as JSONValue).a.decoded(as: [Int].self) == [1, 2])
    }
}
