import Errand
import Foundation

/// A screen of orders. The screen loads more rows when the user scrolls, deletes orders, and starts an export that the server makes in the
/// background.
///
/// In SwiftUI, make `Screen` `@Observable`, call `showMore()` in `onAppear` of the last row, and show `message` in an alert.
enum OrderScreen {
    nonisolated struct Order: Decodable, Sendable, Equatable, Identifiable {
        var id: Int
        var item: String
    }

    nonisolated struct OrderPage: Decodable, Sendable {
        var orders: [Order]
        var nextCursor: String?
    }

    nonisolated struct Job: Decodable, Sendable {
        var state: String
        var progress: Double
    }

    struct ExportFailed: LocalizedError {
        var errorDescription: String? { "The export failed." }
    }

    // The calls, in one place
    nonisolated enum API {
        static let orders = Endpoint<OrderPage>.get("/orders", query: ["limit": 10])
        static func delete(_ id: Int) -> Endpoint<Void> { .delete("/orders/\(id, "id")") }
        // The server responds with 202 and a Location. The resource at this Location shows the state of the job
        static let export = Endpoint<Job>.post("/jobs")
    }

    static func client(_ server: URL) -> APIClient {
        APIClient(.default.retry().timeout(.seconds(30)).server(server), json: JSONCoding(keys: .snakeCase))
    }

    @MainActor final class Screen {
        private(set) var orders: [Order] = []
        private(set) var message: String?
        // From 0 to 1; nil if no export is in progress
        private(set) var exportProgress: Double?
        // nil at the end of the list
        private var position: PagePosition? = .first
        private var isLoading = false
        private let client: APIClient
        private let polling: PollingPolicy

        init(client: APIClient, polling: PollingPolicy = .standard) { (self.client, self.polling) = (client, polling) }

        var hasMore: Bool { position != nil }

        func showMore() async {
            guard let start = position, !isLoading else { return }
            isLoading = true
            defer { isLoading = false }
            await showingFailure {
                let page = try await client.page(API.orders, next: .cursor(named: "after", \.nextCursor), at: start)
                orders += page.value.orders
                position = page.next
            }
        }

        func delete(_ order: Order) async {
            await showingFailure {
                try await client.value(API.delete(order.id))
                orders.removeAll { $0.id == order.id }
            }
        }

        func export() async {
            exportProgress = 0
            defer { exportProgress = nil }
            await showingFailure {
                _ = try await client.poll(API.export, policy: polling) { response in
                    show(response.value)
                    if response.value.state == "failed" { throw ExportFailed() }
                    return response.value.state == "done"
                }
                message = "The export is ready."
            }
        }

        private func show(_ job: Job) { exportProgress = job.progress }

        private func showingFailure(_ work: () async throws -> Void) async {
            do {
                try await work()
            } catch  where error.isCancellation {
                // The screen has disappeared
            } catch  where error.needsSignIn {
                message = "Sign in again."
            } catch {
                // "This device is offline.", for example. The advice warns if the server may have done the work of a POST.
                let advice = (error as? any LocalizedError)?.recoverySuggestion
                message = [error.localizedDescription, advice].compactMap { $0 }.joined(separator: " ")
            }
        }
    }
}
