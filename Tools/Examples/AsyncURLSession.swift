import Errand
import Foundation

/// The samples of Apple's talk about the async API of URLSession, rewritten with Errand.
///
/// On Apple's platforms, `HTTPStack.default` sends each request with `URLSession`. On Linux, a test passes a stack over
/// `URLSessionTransport`.
///
/// `authenticate` and `request.options.onChallenge` handle challenges such as HTTP Basic, and `tls` of the transport handles server trust.
///
/// Not in Errand yet: downloads that resume.
struct AsyncURLSession: Sendable {
    var stack = HTTPStack.default

    // data(from:) and data(for:)
    func data(from url: URL) async throws -> (Data, HTTPResponse) {
        let response = try await stack.send(Request(.get, url: url))
        return (try await response.body.collect(), response.head)
    }

    // fetchPhoto() with your own errors, which reach the caller unchanged
    enum PhotoError: Error, Equatable {
        case invalidServerResponse
        case unsupportedImage
    }

    struct Photo: Sendable {
        let png: Data

        init(_ data: Data) throws {
            guard data.starts(with: [0x89, 0x50, 0x4E, 0x47]) else { throw PhotoError.unsupportedImage }
            png = data
        }
    }

    func photo(_ url: URL) async throws -> Photo {
        let response = try await stack.send(Request(.get, url: url))
        guard response.status == .ok else { throw PhotoError.invalidServerResponse }
        return try Photo(try await response.body.collect())
    }

    // photo(_:) as an endpoint
    static func photoEndpoint(_ path: PathTemplate) -> Endpoint<Photo> {
        Endpoint(.get, path, decoding: ResponseDecoding(accept: "image/png") { data, _, _ in try Photo(data) })
    }

    // upload(for:from:), for which only 201 is a success
    func upload(_ data: Data, to server: URL) async throws -> HTTPResponse.Status {
        var request = try Request(.post, url: server.appending(path: "notes"), body: .data(data))
        request.headers[.contentType] = "application/json"
        request.options.validateStatus = .use(.statuses([201]))
        return try await stack.validateStatus().withResponse(to: request) { $0.status }
    }

    // upload(for:fromFile:)
    func upload(fromFile file: URL, to server: URL) async throws -> Data {
        let request = try Request(.put, url: server.appending(path: "upload"), body: .file(file))
        return try await stack.validateStatus().send(request).body.collect()
    }

    // download(from:): the file is written to its final place, so the app need not move or delete a file
    func download(from url: URL, to file: URL) async throws -> HTTPResponse.Status {
        try await stack.download(Request(.get, url: url), to: file).status
    }

    // A delegate's progress for a single task, here for an upload
    func upload(
        fromFile file: URL, to server: URL, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> String {
        let client = APIClient(stack.server(server))
        return try await client.upload(Endpoint<String>.put("/upload", body: .file(file)), progress: progress)
    }

    // Two requests side by side; cancelling the task cancels both
    func pair(_ first: URL, _ second: URL) -> Task<(Data, Data), any Error> {
        Task {
            async let one = data(from: first).0
            async let two = data(from: second).0
            return try await (one, two)
        }
    }

    // bytes(from:): a model on the main actor reads each JSON line of a stream when the line arrives
    struct Favorite: Decodable, Sendable {
        var photoIdentifier: String
        var favoriteCount: Int
    }

    @MainActor final class FavoritesModel {
        private(set) var counts: [String: Int] = [:]
        private let stack: HTTPStack

        init(_ stack: HTTPStack) { self.stack = stack }

        func follow(_ url: URL) async throws {
            let response = try await stack.send(Request(.get, url: url))
            let decoder = JSONDecoder()
            for try await line in response.body.lines {
                let update = try decoder.decode(Favorite.self, from: Data(line.utf8))
                counts[update.photoIdentifier] = update.favoriteCount
            }
        }
    }

    // A delegate for a single task: each step of one exchange
    struct Steps: EventSink {
        let step: @Sendable (ExchangeEvent.Kind) -> Void

        func record(_ event: ExchangeEvent) { step(event.kind) }
    }

    func observed(_ url: URL, step: @escaping @Sendable (ExchangeEvent.Kind) -> Void) async throws {
        var request = try Request(.get, url: url)
        request.options.eventSink = Steps(step: step)
        _ = try await stack.send(request).body.collect()
    }

    // A task's metrics: where the time went
    func profile(_ url: URL) async throws -> (profile: String, exchanges: Int) {
        let response = try await stack.profile().send(Request(.get, url: url))
        _ = try await response.body.collect()
        return (response.metadata.profile.map { "\($0)" } ?? "", response.metadata.timings?.exchanges.count ?? 0)
    }

    // A delegate's redirects for a single task: the second request follows no redirect, and the first request lists the redirects
    func redirected(_ url: URL) async throws -> (status: HTTPResponse.Status, hops: Int) {
        var request = try Request(.get, url: url)
        let hops = try await stack.withResponse(to: request) { $0.metadata.redirects.count }
        request.options.redirect = .off
        return (try await stack.withResponse(to: request) { $0.status }, hops)
    }

    // A delegate that decides about each redirect of a task
    func redirected(
        _ url: URL, marking name: HTTPField.Name, atMost limit: Int
    ) async throws -> (status: HTTPResponse.Status, hops: Int) {
        var request = try Request(.get, url: url)
        request.options.redirect = .use(
            .standard.deciding { hop in
                guard hop.history.count < limit else { return .stop }
                var next = hop.next
                next.headers[name] = "redirected"
                return .follow(next)
            })
        return try await stack.withResponse(to: request) { ($0.status, $0.metadata.redirects.count) }
    }
}
