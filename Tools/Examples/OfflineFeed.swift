import Errand
import Foundation

/// A feed of stories that appears immediately, even without a network.
///
/// The stored stories appear first, whatever their age. Then the feed asks the server. If the server can't be reached, the stored stories
/// stay, and a note says how old these stories are.
///
/// In SwiftUI, make `Feed` `@Observable`, call `appear()` in a task of the view, and `refresh()` in `refreshable`. To keep the stories
/// between runs of the app, pass a `SQLiteCacheStore` of the module `ErrandSQLite`.
enum OfflineFeed {
    nonisolated struct Story: Decodable, Sendable, Equatable, Identifiable {
        var articleId: Int
        var title: String
        var id: Int { articleId }
    }

    static let stories: Endpoint<[Story]> = .get("/articles")

    /// - Parameter lifetime: the age up to which stories are shown without a request, if the server states no lifetime.
    static func client(
        _ server: URL, store: some CacheStore, lifetime: Duration = .seconds(60), over network: HTTPStack = .default
    ) -> APIClient {
        // Without a network, the stories of the last 30 days are shown
        let policy = CachePolicy(staleIfUnreachable: .seconds(30 * 24 * 3600)).deciding { received in
            received.isStated || received.response.status != .ok ? .byPolicy : .fresh(for: lifetime)
        }
        return APIClient(
            network.cache(in: store, policy: policy).retry().timeout(.seconds(10)).server(server), json: JSONCoding(keys: .snakeCase))
    }

    @MainActor final class Feed {
        private(set) var stories: [Story] = []
        // Says why the stories may be out of date; nil if the stories are up to date
        private(set) var note: String?
        private let client: APIClient

        init(client: APIClient) { self.client = client }

        func appear() async {
            if stories.isEmpty, let stored = try? await response(.storedOnly) { stories = stored.value }
            await load(.standard)
        }

        // Called when a person asks for the newest stories
        func refresh() async { await load(.reload) }

        private func load(_ mode: CachePolicy.Mode) async {
            do {
                let response = try await response(mode)
                stories = response.value
                let isOld = response.metadata.cacheStatus.map { $0.isStale || $0.isFallback } ?? false
                note = isOld ? Self.note(age: response.headers[.age].flatMap { Int($0) }) : nil
            } catch is CancellationError {
                // The screen has disappeared
            } catch {
                // "This device is offline.", for example
                note = error.localizedDescription
            }
        }

        private func response(_ mode: CachePolicy.Mode) async throws -> TypedResponse<[Story]> {
            try await client.response(OfflineFeed.stories.with(\.cache, .use(mode)))
        }

        private static func note(age seconds: Int?) -> String {
            guard let minutes = seconds.map({ $0 / 60 }), minutes > 0 else { return "No connection. These stories have just been loaded." }
            return "No connection. These stories are \(minutes < 60 ? "\(minutes) min" : "\(minutes / 60) h") old."
        }
    }
}
