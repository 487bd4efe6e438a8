import Errand
import Foundation

// The samples of the article "Errors in standard formats", unchanged: `ReadmeTests` compares each sample with this file.

func order(_ item: String, from client: APIClient, show: (String) -> Void) async throws {
    do {
        try await client.post("/orders", body: .json(["item": item]))
    } catch let error as StatusError where error.problem?.type == "https://shop.example/problems/out-of-credit" {
        show("Your credit is \(error.problem?.extensions["balance"]?.intValue ?? 0).")
    } catch let error as StatusError {
        show(error.problem?.detail ?? error.problem?.title ?? error.localizedDescription)
    }
}

/// A document of JSON:API: the data, or errors.
nonisolated struct JSONAPIDocument: ResponseEnvelope {
    struct Problem: Decodable, Sendable {
        var id: String?
        var code: String?
        var status: String?
        var title: String?
        var detail: String?
    }

    var errors: [Problem]?

    var failure: ServiceError? {
        errors?.first.map { problem in
            ServiceError(
                .init(problem.code ?? problem.status ?? "unknown"), message: problem.detail ?? problem.title ?? "", requestID: problem.id)
        }
    }
}

nonisolated struct Article: Decodable, Sendable {
    struct Attributes: Decodable, Sendable { var title: String }
    var id: String
    var attributes: Attributes
}

func makeJSONAPI(_ stack: HTTPStack) -> APIClient {
    APIClient(stack.server("https://api.shop.example", headers: [.accept: "application/vnd.api+json"]), envelope: JSONAPIDocument.self)
}

/// A response of GraphQL: the data, or errors, or both.
nonisolated struct GraphQLResponse: ResponseEnvelope {
    struct Problem: Decodable, Sendable {
        var message: String
        var extensions: JSONValue?
    }

    var errors: [Problem]?

    var failure: ServiceError? {
        errors?.first.map { ServiceError(.init($0.extensions?.code.stringValue ?? "unknown"), message: $0.message) }
    }
}

nonisolated extension Endpoint where Output: Decodable {
    static func graphQL(_ query: String, variables: JSONValue = [:]) -> Endpoint {
        .post(
            "/graphql", headers: [.accept: "application/graphql-response+json, application/json;q=0.9"],
            body: .json(["query": .string(query), "variables": variables] as JSONValue))
    }
}

nonisolated struct Viewer: Decodable, Sendable {
    struct User: Decodable, Sendable { var name: String }
    var user: User
}

func viewer(_ stack: HTTPStack, id: Int) async throws -> String {
    let client = APIClient(stack, envelope: GraphQLResponse.self)
    let query = "query Viewer($id: ID!) { user(id: $id) { name } }"
    return try await client.value(Endpoint<Viewer>.graphQL(query, variables: ["id": .string("\(id)")])).user.name
}
