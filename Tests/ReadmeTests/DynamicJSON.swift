import Errand
import Foundation

// The samples of the article "DynamicJSON", to the letter: `ReadmeTests` holds each block of it against this file.

func printUser(_ client: APIClient, id: Int) async throws {
    let json = try await client.json("/users/\(id, "id")")
    print(json.name.stringValue ?? "nobody")
    print(json.address.city.stringValue ?? "nowhere")
    for tag in json.tags.arrayValue ?? [] { print(tag.stringValue ?? "") }
    print(json[at: "/scores/0"]?.doubleValue ?? 0)
}

func renamed(_ user: JSONValue) throws -> JSONValue {
    var user = user
    try user.set("Ada", at: "/name")
    try user.set("engines", at: "/tags/-")  // appended
    user.merge(["address": ["city": "London", "zip": nil]])  // RFC 7396: null removes
    return user
}

nonisolated struct PostalAddress: Codable, Sendable {
    var city: String
}

func address(of user: JSONValue, in client: APIClient) throws -> PostalAddress {
    try user.address.decoded(as: PostalAddress.self, coding: client.jsonCoding)
}
