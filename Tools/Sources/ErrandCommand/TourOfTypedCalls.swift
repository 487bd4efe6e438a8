import DemoServer
import Errand
import ErrandNIO
import Foundation
import Synchronization

/// The chapters of the tour about a whole API: organization, envelopes, lists in pages, polling, JSON without a type, formats of
/// bodies and of errors.
enum TourOfTypedCalls {
    private struct Envelope: ResponseEnvelope {
        var code: Int
        var message: String?
        var requestId: String?

        var failure: ServiceError? {
            code == 0 ? nil : ServiceError(.init(code), message: message ?? "", requestID: requestId)
        }
    }

    private struct User: Decodable, Sendable {
        var id: Int
        var name: String
    }

    private struct OrderPage: Decodable, Sendable {
        struct Order: Decodable, Sendable { var id: Int }
        var orders: [Order]
        var nextCursor: String?
    }

    private struct Grant: Codable, Sendable, Equatable {
        var accessToken: String
        var scope: [String]
    }

    private struct Job: Decodable, Sendable {
        var state: String
    }

    /// Each domain of the API is a namespace.
    private enum ShopAPI {
        enum Articles {
            static let all = Endpoint<JSONValue>.get("/articles").with(\.timeout, .seconds(5))
        }
    }

    static func walk(port: Int) async throws {
        try await withTransport(NIOTransport()) { transport in
            let stack = transport.timeout(.seconds(20)).server("http://127.0.0.1:\(port)/v1")
            let json = JSONCoding(keys: .snakeCase)
            try await envelopes(APIClient(stack, json: json, envelope: Envelope.self))
            let client = APIClient(stack, json: json)
            try await organization(over: transport.timeout(.seconds(20)), port: port)
            try await pages(client)
            try await jobs(client)
            try await anyJSON(client)
            try await formats(client)
        }
    }

    /// A second server runs beside the first one.
    private static func organization(over network: HTTPStack, port: Int) async throws {
        Tour.step("Endpoints are values, and several servers share one network stack", "try await shop.value(ShopAPI.Articles.all)")
        try await DemoServer.run { otherPort in
            let shop = APIClient(network.server("http://127.0.0.1:\(port)/v1", headers: [.authorization: "Bearer shop"]))
            let other = APIClient(network.server("http://127.0.0.1:\(otherPort)/v1"))
            let articles = try await shop.value(ShopAPI.Articles.all)
            let echo = try await other.json("/echo")
            try Tour.expect(
                articles.arrayValue?.count == 2 && echo.headers.authorization.isNull,
                "\(SafeText.counted(articles.arrayValue?.count ?? 0, "article")), and the token went to the shop alone")
        }
    }

    private static func envelopes(_ shop: APIClient) async throws {
        Tour.step("The envelope of a back end, stated once", "APIClient(stack, envelope: Envelope.self)")
        let user: User = try await shop.get("/envelope/user")
        try Tour.expect(user.name == "Ada", "\(user)")

        Tour.step("The errors of an envelope have codes", "catch let error as ServiceError where error.code == 40_012")
        do {
            try await shop.post("/envelope/orders", body: .json(["item": "tea"]))
            try Tour.expect(false, "no error")
        } catch let error as ServiceError {
            try Tour.expect(error.code == 40_012 && error.requestID == "r-18", "\(error)")
        }
    }

    private static func pages(_ client: APIClient) async throws {
        let list = Endpoint<OrderPage>.get("/orders", query: ["limit": 10])
        Tour.step("A list in pages, which changes while it is read", "client.pages(list, next: .cursor(named: \"after\", \\.nextCursor))")
        var ids: [Int] = []
        for try await order in client.pages(list, next: .cursor(named: "after", \.nextCursor)).elements(\.orders) {
            ids.append(order.id)
            guard ids.count == 10 else { continue }
            try await client.delete("/orders/3")
            try await client.delete("/orders/15")
            try await client.post("/orders", body: .json(["item": "late"]))
        }
        let orders = SafeText.counted(ids.count, "order")
        try Tour.expect(ids == Array(1...14) + Array(16...26), "\(orders), none twice: \(ids.first ?? 0) to \(ids.last ?? 0)")

        Tour.step("A list that leads back to a page is refused", "catch let error as PaginationError")
        do {
            for try await _ in client.pages(list, next: NextPage { _ in .query(["after": "10"]) }) {}
            try Tour.expect(false, "no error")
        } catch let error as PaginationError {
            try Tour.expect(error.code == .loop, "\(error)")
        }
    }

    private static func jobs(_ client: APIClient) async throws {
        Tour.step("Work that takes a while: 202, Location, ETag", "try await client.poll(.post(\"/jobs\")) { $0.value.state == \"done\" }")
        let job = try await client.poll(Endpoint<Job>.post("/jobs"), policy: PollingPolicy(backoff: .constant(.milliseconds(10)))) {
            $0.value.state == "done"
        }
        try Tour.expect(job.value.state == "done", "\(job.value), by \(job.request)")
    }

    private static func anyJSON(_ client: APIClient) async throws {
        Tour.step("JSON without a type", "try await client.json(\"/articles\")[1].title.stringValue")
        let articles = try await client.json("/articles")
        try Tour.expect(
            articles[1].title.stringValue == "Two" && articles[at: "/0/article_id"]?.intValue == 1,
            "\(articles[1].title.stringValue ?? "")")
    }

    private static func formats(_ client: APIClient) async throws {
        Tour.step("Forms and property lists, both ways", "Endpoint<Grant>(.post, \"/token\", body: .form(grant), decoding: .form)")
        let grant = Grant(accessToken: "a b", scope: ["read", "write"])
        let form = try await client.value(Endpoint<Grant>(.post, "/mirror", body: .form(grant), decoding: .form))
        let list = try await client.value(
            Endpoint<Grant>(.post, "/mirror", body: .propertyList(grant, format: .binary), decoding: .propertyList))
        try Tour.expect(form == grant && list == grant, "scopes \(form.scope.joined(separator: ", "))")

        Tour.step("An error as problem details", "catch let error as StatusError where error.problem?.type == …")
        do {
            _ = try await client.json("/problem")
            try Tour.expect(false, "no error")
        } catch let error as StatusError {
            try Tour.expect(error.problem?.extensions["balance"]?.intValue == 3, error.localizedDescription)
        }
    }
}
