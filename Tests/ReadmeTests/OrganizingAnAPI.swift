import Errand
import ErrandTesting
import Foundation
import Testing

// The samples of the article "Organizing an API", unchanged: `ReadmeTests` compares each sample with this file.

nonisolated struct Customer: Codable, Sendable, Equatable {
    var id: Int
    var name: String
}

nonisolated enum ShopAPI {
    enum Customers {
        static let me = Endpoint<Customer>.get("/customers/me")
        static func one(_ id: Int) -> Endpoint<Customer> { .get("/customers/\(id, "id")") }
        static func rename(_ id: Int, to name: String) -> Endpoint<Void> {
            .patch("/customers/\(id, "id")", body: .json(["name": name]))
        }
    }
}

nonisolated extension ShopAPI {
    enum Search {
        /// A suggestion that is late is of no use: two seconds, and no second attempt.
        static func suggestions(for text: String) -> Endpoint<[String]> {
            .get("/suggestions", query: ["q": text]).with { options in
                options.timeout = .use(.seconds(2))
                options.retry = .off
            }
        }
    }
}

nonisolated extension ShopAPI {
    /// The form of names and dates, for the client and for queries.
    static let coding = JSONCoding(keys: .snakeCase)
}

nonisolated extension ShopAPI.Customers {
    struct Filter: Encodable {
        var lastName: String
    }

    /// The query is `last_name=…`.
    static func list(_ filter: Filter) throws -> Endpoint<[Customer]> {
        try .get("/customers", query: URLQuery(encoding: filter, coding: ShopAPI.coding))
    }
}

nonisolated struct Shop: Sendable {
    let api: APIClient
    let images: APIClient

    init(tokens: TokenSource) {
        api = APIClient(
            Self.stack(.default.authenticate(.bearer(tokens)), "https://api.shop.example"), json: JSONCoding(keys: .snakeCase),
            envelope: ShopEnvelope.self)
        images = APIClient(Self.stack(.default, "https://images.shop.example"))
    }

    private static func stack(_ network: HTTPStack, _ server: String) -> HTTPStack {
        network.retry().timeout(.seconds(30)).server(server)
    }
}

@Test func customerIsRenamed() async throws {
    let stub = StubTransport(Stub(.patch, "/customers/7").responds(.status(.noContent)))
    let client = APIClient(stub.server("https://api.shop.example"))
    try await client.value(ShopAPI.Customers.rename(7, to: "Ada"))
    #expect(stub.requests.map(\.text) == [#"{"name":"Ada"}"#])
}

nonisolated struct CustomerClient: Sendable {
    var me: @Sendable () async throws -> Customer

    static func live(_ shop: Shop) -> CustomerClient { CustomerClient { try await shop.api.value(ShopAPI.Customers.me) } }
}
