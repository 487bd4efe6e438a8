import Errand
import Foundation

// The samples of the article "Pagination", to the letter: `ReadmeTests` holds each block of it against this file.

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

func readOrders(_ client: APIClient, after saved: PagePosition?, show: ([OrderPage.Order]) -> Void) async throws -> PagePosition? {
    let list = Endpoint<OrderPage>.get("/orders", query: ["limit": 100])
    let pages = client.pages(
        list, next: .cursor(named: "after", \.nextCursor), from: saved ?? .first, policy: PaginationPolicy(maxPages: 20, prefetches: true))
    var last: PagePosition?
    for try await page in pages {
        show(page.value.orders)
        last = page.next
    }
    return last
}
