import Foundation
import HTTPTypes
import Hummingbird
import Synchronization

// A list that changes while it is read, and jobs that run in the background.

extension DemoServer {
    private struct Order: Codable, Sendable {
        var id: Int
        var item: String
    }

    private struct OrderPage: Encodable {
        var orders: [Order]
        var nextCursor: String?

        enum CodingKeys: String, CodingKey {
            case orders
            case nextCursor = "next_cursor"
        }
    }

    /// A list of orders, sorted by their numbers, with 25 orders at the start. A number is never used again.
    private final class Orders: Sendable {
        private let orders = Mutex<[Order]>((1...25).map { Order(id: $0, item: "Item \($0)") })
        private let last = Mutex(25)

        var all: [Order] { orders.withLock { $0 } }

        func remove(_ id: Int) { orders.withLock { $0.removeAll { $0.id == id } } }

        func add(_ item: String) -> Order {
            orders.withLock { orders in
                let id = last.withLock { last in
                    last += 1
                    return last
                }
                orders.append(Order(id: id, item: item))
                return Order(id: id, item: item)
            }
        }
    }

    static func addLists(to router: Router<BasicRequestContext>) {
        let orders = Orders()
        // The query names a page: `after` is the order before the page, `offset` is the position of its first order, and `page` is its
        // number.
        router.get("v1/orders") { request, _ -> Response in
            let query = request.uri.queryParameters
            let limit = min(100, max(1, query.get("limit", as: Int.self) ?? 10))
            var rest = orders.all[...]
            if let after = query.get("after", as: Int.self) {
                rest = rest.drop { $0.id <= after }
            } else if let offset = query.get("offset", as: Int.self) {
                rest = rest.dropFirst(max(0, offset))
            } else if let page = query.get("page", as: Int.self) {
                rest = rest.dropFirst((min(max(1, page), 1_000_000) - 1) * limit)
            }
            let page = Array(rest.prefix(limit))
            let next = rest.count > limit ? page.last.map { "\($0.id)" } : nil
            var response = try value(OrderPage(orders: page, nextCursor: next))
            if let next, let link = HTTPField.Name("Link") {
                response.headers[link] = "</v1/orders?limit=\(limit)&after=\(next)>; rel=\"next\""
            }
            return response
        }
        router.post("v1/orders") { request, context -> Response in
            let draft = try await request.decode(as: [String: String].self, context: context)
            return try value(orders.add(draft["item"] ?? ""), status: .created)
        }
        router.delete("v1/orders/:id") { _, context in
            orders.remove(try context.parameters.require("id", as: Int.self))
            return HTTPResponse.Status.noContent
        }
    }

    /// A job is accepted, responds once that the server is busy, runs, and is done at the fifth request.
    static func addJobs(to router: Router<BasicRequestContext>) {
        let looks = Mutex<[Int: Int]>([:])
        router.post("v1/jobs") { _, _ -> Response in
            let id = looks.withLock { looks in
                looks[looks.count + 1] = 0
                return looks.count
            }
            return Response(status: .accepted, headers: [.location: "/v1/jobs/\(id)"])
        }
        router.get("v1/jobs/:id") { request, context -> Response in
            let id = try context.parameters.require("id", as: Int.self)
            let look = looks.withLock { looks -> Int? in
                guard let count = looks[id] else { return nil }
                looks[id] = count + 1
                return count + 1
            }
            guard let look else { return Response(status: .notFound) }
            switch look {
            case 1: return Response(status: .accepted)
            case 2: return Response(status: .serviceUnavailable)
            case 3, 4:
                let headers: HTTPFields = [.eTag: "\"running\""]
                if request.headers[.ifNoneMatch] == "\"running\"" { return Response(status: .notModified, headers: headers) }
                var response = json(#"{"state":"running","progress":0.5}"#)
                response.headers.append(contentsOf: headers)
                return response
            default: return json(#"{"state":"done","progress":1}"#)
            }
        }
    }

    private static func value(_ value: some Encodable, status: HTTPResponse.Status = .ok) throws -> Response {
        var response = json(String(decoding: try JSONEncoder().encode(value), as: UTF8.self))
        response.status = status
        return response
    }
}
