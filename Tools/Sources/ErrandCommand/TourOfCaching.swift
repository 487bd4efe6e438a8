import Errand
import ErrandNIO
import Foundation
import Synchronization

/// The chapter of the tour about the cache.
enum TourOfCaching {
    static func walk(port: Int) async throws {
        let url = "http://127.0.0.1:\(port)/v1/cached"
        let store = MemoryCacheStore()
        try await withTransport(NIOTransport()) { transport in
            let sent = Counter()
            let stack = transport.wrapped(by: sent).cache(in: store).validateStatus()
            func status(of mode: CachePolicy.Mode = .standard) async throws -> String {
                var request = try Request(.get, url: url)
                request.options.cache = .use(mode)
                let response = try await stack.send(request)
                _ = try await response.body.collect()
                return response.metadata.cacheStatus?.description ?? ""
            }

            Tour.step("A response is stored while it is read, and used again", "transport.cache(in: .memory(bytes: 50_000_000))")
            let (first, second) = (try await status(), try await status())
            try Tour.expect(
                first.hasPrefix("fwd=uri-miss; fwd-status=200") && second.hasPrefix("hit; ttl=") && sent.count == 1,
                "\(first), then \(second)")

            Tour.step("The server confirms the stored response, without its body", "request.options.cache = .use(.revalidate)")
            let confirmed = try await status(of: .revalidate)
            try Tour.expect(confirmed.contains("fwd-status=304") && sent.count == 2, confirmed)
        }
        Tour.step("The stored response without a network", "request.options.cache = .use(.storedOnly)")
        try await withTransport(NIOTransport()) { transport in
            let stack = transport.cache(in: store).validateStatus()
            var request = try Request(.get, url: url)
            request.options.cache = .use(.storedOnly)
            let text = String(decoding: try await stack.send(request).body.collect(), as: UTF8.self)
            try Tour.expect(transport.openConnections.isEmpty, "\(text.trimmingCharacters(in: .newlines)), over no connection")
            do {
                _ = try await stack.send(Request(.get, url: "\(url)?other", headers: [.cacheControl: "only-if-cached"]))
                try Tour.expect(false, "no error")
            } catch let error as StatusError {
                try Tour.expect(error.status == .gatewayTimeout, "\(error)")
            }
        }
    }

    /// Counts the exchanges.
    private final class Counter: HTTPMiddleware, Sendable {
        private let requests = Atomic(0)
        var count: Int { requests.load(ordering: .relaxed) }

        func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
            requests.wrappingAdd(1, ordering: .relaxed)
            return try await next.send(request)
        }
    }
}
