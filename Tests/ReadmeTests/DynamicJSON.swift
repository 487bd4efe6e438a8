import Errand
import Foundation

// The samples of the article "DynamicJSON", unchanged: `ReadmeTests` compares each sample with this file.

func printUser(_ client: APIClient, id: Int) async throws {
    let json = try await client.json("/users/\(id, "id")")
    print(json.name.stringValue ?? "nobody")
    print(json.address.city.stringValue ?? "nowhere")
    for tag in json.tags.arrayValue ?? [] { print(tag.stringValue ?? "") }
    print(json[at: "/scores/0"]?.doubleValue ?? 0)
}

func renamed(_ user: JSONValue, street: String) throws -> JSONValue {
    var user = user
    user.name = "Ada"
    user.address.street = JSONValue(street)  // what is not an object becomes one
    try user.set("engines", at: "/tags/-")  // appended
    user.merge(["address": ["city": "London", "zip": nil]])  // RFC 7396: null removes
    return user
}

func sendChanges(from old: JSONValue, to new: JSONValue, by client: APIClient) async throws {
    try await client.patch("/users/7", body: .mergePatch(old.mergePatch(to: new)))
}

nonisolated struct PostalAddress: Codable, Sendable {
    var city: String
}

func address(of user: JSONValue, in client: APIClient) throws -> PostalAddress {
    try user.address.decoded(as: PostalAddress.self, coding: client.jsonCoding)
}
