import Errand
import Foundation

// The samples of the article "Formats of bodies", unchanged: `ReadmeTests` compares each sample with this file.

nonisolated struct DeviceProfile: Codable, Sendable, Equatable {
    var name: String
    var features: [String]
}

func renameDevice(_ client: APIClient, to name: String) async throws {
    var profile = try await client.value(Endpoint<DeviceProfile>.get("/profile", decoding: .propertyList))
    profile.name = name
    try await client.put("/profile", body: .propertyList(profile))
}

nonisolated extension ResponseDecoding where Output == [[String]] {
    /// Lines of values with a tab between them.
    static var tabSeparated: Self {
        ResponseDecoding(accept: "text/tab-separated-values") { data, _, _ in
            String(decoding: data, as: UTF8.self).split(separator: "\n").map { $0.components(separatedBy: "\t") }
        }
    }
}

func table(_ client: APIClient) async throws -> [[String]] {
    try await client.value(Endpoint(.get, "/table", decoding: .tabSeparated))
}

nonisolated struct Person: Sendable, Equatable {
    var name: String
}

nonisolated struct PersonDTO: Decodable, Sendable {
    var first: String
    var last: String
}

nonisolated enum People {
    static func one(_ id: Int) -> Endpoint<Person> {
        Endpoint<PersonDTO>.get("/people/\(id, "id")").map { Person(name: "\($0.first) \($0.last)") }
    }
}
