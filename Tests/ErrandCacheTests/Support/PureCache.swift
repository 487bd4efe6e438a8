import ErrandCore
import ErrandFormats
import HTTPTypes

import struct TestSupport.TestError

@testable import ErrandCache

/// A cache that performs the decisions of the engine with bodies in memory, and a server that is a closure. A revalidation in the
/// background ends before the call returns.
struct PureCache {
    /// What the server sends.
    struct Reply {
        var head: HTTPResponse
        var body: [UInt8] = []
        /// Whether the connection is lost within the body.
        var isCut = false
    }

    /// What the caller gets.
    struct Outcome {
        var head: HTTPResponse
        var body: [UInt8]
        var status: CacheStatus?
        /// The requests that reached the server.
        var sent: [Request]
        var bodyFailed = false

        var text: String { String(decoding: body, as: UTF8.self) }
        /// Whether no request was sent.
        var isHit: Bool { sent.isEmpty }
    }

    struct Stored {
        var entry: CacheEntry
        var body: [UInt8]
    }

    var engine: CacheEngine
    var now = instant()
    /// The time that each exchange takes.
    var delay = Duration.zero
    private(set) var stored: [CacheKey: [Stored]] = [:]
    private var nextID: Int64 = 0
    private let server: (Request) -> Reply?

    /// - Parameter server: returns the response to a request; nil if the connection is lost.
    init(_ policy: CachePolicy = .standard, server: @escaping (Request) -> Reply?) {
        engine = CacheEngine(policy, digest: testDigest)
        self.server = server
    }

    var entryCount: Int { stored.values.reduce(0) { $0 + $1.count } }
    var entries: [CacheEntry] { stored.values.flatMap { $0.map(\.entry) } }

    mutating func advance(_ seconds: Double) { advance(.seconds(seconds)) }

    private mutating func advance(_ time: Duration) {
        now = CacheInstant(sinceEpoch: now.sinceEpoch + time, uptime: now.uptime + time, run: now.run)
    }

    mutating func send(_ request: Request, mode: CachePolicy.Mode = .standard) throws -> Outcome {
        guard
            let asked = CacheRequest(
                request, mode: mode, scope: engine.policy.scope, bodyDigest: Array((request.headers[.custom("Body")] ?? "").utf8))
        else { throw TestError() }
        var outcome = Outcome(head: HTTPResponse(status: .ok), body: [], status: nil, sent: [])
        switch engine.decide(asked, among: entries(asked), at: now) {
        case .serve(let serving): serve(serving, asked, &outcome)
        case .serveAndRevalidate(let serving, let forward):
            serve(serving, asked, &outcome)
            var background = Outcome(head: HTTPResponse(status: .ok), body: [], status: nil, sent: [])
            try? exchange(asked, forward, &background)
        case .send(let forward): try exchange(asked, forward, &outcome)
        case .unavailable(let reason):
            (outcome.head, outcome.status) = (HTTPResponse(status: .gatewayTimeout), CacheStatus(.unavailable(reason)))
        }
        return outcome
    }

    private func entries(_ request: CacheRequest) -> [CacheEntry] { request.key.flatMap { stored[$0] }?.map(\.entry) ?? [] }

    private func body(_ entry: CacheEntry, of request: CacheRequest) -> [UInt8] {
        request.key.flatMap { stored[$0] }?.first { $0.entry.id == entry.id }?.body ?? []
    }

    private func serve(_ serving: CacheServing, _ request: CacheRequest, _ outcome: inout Outcome) {
        let stored = body(serving.entry, of: request)
        (outcome.head, outcome.status) = (serving.head, serving.status)
        switch serving.body {
        case .none: outcome.body = []
        case .whole: outcome.body = stored
        case .part(let offsets): outcome.body = Array(stored[Int(offsets.lowerBound)..<Int(offsets.upperBound)])
        }
    }

    private mutating func exchange(_ request: CacheRequest, _ forward: CacheForward, _ outcome: inout Outcome, attempts: Int = 2) throws {
        var sent = request.request
        forward.apply(to: &sent)
        outcome.sent.append(sent)
        let sentAt = now
        advance(delay)
        guard let reply = server(sent) else {
            guard let serving = engine.fallback(for: request, after: forward, at: now) else { throw TestError() }
            return serve(serving, request, &outcome)
        }
        let reception = engine.receive(reply.head, to: request, after: forward, among: entries(request), sentAt: sentAt, at: now)
        outcome.status = reception.status
        // The bytes are read first: an entry may be removed although it is served.
        switch reception.outcome {
        case .pass(let write):
            (outcome.head, outcome.body, outcome.bodyFailed) = (reply.head, reply.body, reply.isCut)
            finish(write, reply, reception, request)
        case .serve(let serving):
            serve(serving, request, &outcome)
            perform(reception, request)
        case .complete(let completion):
            outcome.head = completion.head
            outcome.body = bytes(completion.beginning, request) + reply.body
            outcome.bodyFailed = reply.isCut
            finish(completion.write, reply, reception, request)
        case .sendAgain(let next):
            perform(reception, request)
            guard attempts > 1 else { throw TestError() }
            try exchange(request, next, &outcome, attempts: attempts - 1)
        }
    }

    private mutating func perform(_ reception: CacheReception, _ request: CacheRequest) {
        for url in reception.invalidated {
            for key in stored.keys where key.url == url { stored[key] = nil }
        }
        guard let key = request.key else { return }
        stored[key]?.removeAll { reception.removals.contains($0.entry.id) }
        for update in reception.updates {
            guard let index = stored[key]?.firstIndex(where: { $0.entry.id == update.id }) else { continue }
            stored[key]?[index].entry = CacheEntry(id: update.id, head: update.head)
        }
    }

    private func bytes(_ piece: CachePiece?, _ request: CacheRequest) -> [UInt8] {
        piece.map { Array(body($0.entry, of: request)[Int($0.offsets.lowerBound)..<Int($0.offsets.upperBound)]) } ?? []
    }

    private mutating func finish(_ write: CacheWrite?, _ reply: Reply, _ reception: CacheReception, _ request: CacheRequest) {
        let (before, after) = (bytes(write?.before, request), bytes(write?.after, request))
        perform(reception, request)
        guard let write, let key = request.key,
            let end = write.finished(receivedBytes: Int64(reply.body.count), isComplete: !reply.isCut)
        else { return }
        stored[key]?.removeAll { write.replaces.contains($0.entry.id) }
        nextID += 1
        let body = before + reply.body + (end.includesAfter ? after : [])
        stored[key, default: []].append(Stored(entry: CacheEntry(id: .init(nextID), head: end.head), body: body))
    }
}
