import Errand
import Foundation

// The samples of the article "Pagination", unchanged: `ReadmeTests` compares each sample with this file.

nonisolated struct OrderPage: Decodable, Sendable {
    struct Order: Decodable, Sendable { var id: Int }
    var orders: [Order]
    var nextCursor: String?
}

func printOrders(_ client: APIClient) async throws {
    let list = Endpoint<OrderPage>.get("/orders", query: ["limit": 100])
    for try await order in client.pages(list, next: .cursor(named: "after", \.nextCursor)).elements(\.orders) {
        print(order.id)
    }
}

nonisolated struct UserPage: Decodable, Sendable {
    var users: [String]
}

func printUsers(_ client: APIClient) async throws {
    let list = Endpoint<UserPage>.get("/users", query: ["page": 1])
    for try await user in client.pages(list, next: .number { !$0.users.isEmpty }).elements(\.users) { print(user) }
}

/// Shows orders until there are enough of them. Returns where to go on; `nil` at the end of the list.
func readOrders(
    _ client: APIClient, atLeast count: Int, from start: PagePosition = .first, show: ([OrderPage.Order]) -> Void
) async throws -> PagePosition? {
    let list = Endpoint<OrderPage>.get("/orders", query: ["limit": 100])
    let policy = PaginationPolicy(prefetches: true)
    var shown = 0
    for try await page in client.pages(list, next: .cursor(named: "after", \.nextCursor), from: start, policy: policy) {
        show(page.value.orders)
        shown += page.value.orders.count
        if shown >= count { return page.next }
    }
    return nil
}

@MainActor final class OrderList {
    private(set) var orders: [OrderPage.Order] = []
    private var position: PagePosition? = .first
    private var isLoading = false
    private let client: APIClient

    init(client: APIClient) { self.client = client }

    func showMore() async throws {
        guard let start = position, !isLoading else { return }
        isLoading = true
        defer { isLoading = false }
        let list = Endpoint<OrderPage>.get("/orders", query: ["limit": 20])
        let page = try await client.page(list, next: .cursor(named: "after", \.nextCursor), at: start)
        orders += page.value.orders
        position = page.next
    }
}
