import ErrandCore
import ErrandTesting
import HTTPTypes
import Synchronization

import class TestSupport.ScriptedBodySource

@testable import ErrandCache

/// A server that is a closure, and that records its requests.
final class TestOrigin: HTTPSender {
    typealias Respond = @Sendable (Request, _ number: Int) async throws -> Response

    private let requests = Mutex<[Request]>([])
    private let respond: Respond

    /// - Parameter respond: returns the response. The number of the first request is 1.
    init(_ respond: @escaping Respond) { self.respond = respond }

    var sent: [Request] { requests.withLock { $0 } }
    var count: Int { requests.withLock(\.count) }

    func send(_ request: Request) async throws -> Response {
        let number = requests.withLock { requests in
            requests.append(request)
            return requests.count
        }
        return try await respond(request, number)
    }
}

/// A stack over an origin, whose cache has a clock of the test.
struct CachedOrigin {
    let origin: TestOrigin
    /// The time by which responses age. The limits for slow stores have another clock.
    let time = ManualClock()
    let store: any CacheStore
    let events = RecordingEventSink()
    let stack: HTTPStack
    let work: CacheWork

    init(
        in store: any CacheStore = MemoryCacheStore(), policy: CachePolicy = .standard, decodes: Bool = false,
        clock: any Clock<Duration> = ManualClock(), _ respond: @escaping TestOrigin.Respond
    ) {
        (origin, self.store) = (TestOrigin(respond), store)
        func middleware(_ store: some CacheStore, _ time: ManualClock) -> CacheMiddleware {
            CacheMiddleware(in: store, policy: policy, transportDecodes: decodes, clock: clock, instant: { time.instant })
        }
        (stack, work) = (origin.wrapped(by: middleware(store, time)), store.work)
    }

    /// Whether the cache has no work in progress.
    var isIdle: Bool { work.revalidations.count == 0 && work.writes.count == 0 }

    /// Sends a request. Its events are recorded.
    func send(_ request: Request, _ mode: OptionOverride<CachePolicy.Mode> = .inherited) async throws -> Response {
        var request = request
        request.options.cache = mode
        request.options.eventSink = events
        return try await stack.send(request)
    }

    /// Sends a request and reads the response.
    func get(_ request: Request, _ mode: OptionOverride<CachePolicy.Mode> = .inherited) async throws -> (String, CacheStatus?) {
        let response = try await send(request, mode)
        return (String(decoding: try await response.body.collect(), as: UTF8.self), response.metadata.cacheStatus)
    }
}

extension ManualClock {
    /// The instant of the cache at the time of the clock, which begins at ``beginning``.
    var instant: CacheInstant {
        let elapsed = now.sinceStart
        return CacheInstant(sinceEpoch: .seconds(beginning.secondsSinceEpoch) + elapsed, uptime: elapsed, run: 1)
    }
}

extension RecordingEventSink {
    /// The decisions of the cache, in order.
    var decisions: [String] { events.compactMap { $0.kind == .cacheDecision ? $0.decision?.description : nil } }
}

/// Returns a response with a stream, in one chunk or several.
func reply(to request: Request, _ lines: String..., status: Int = 200, body: [String] = ["hello"]) -> Response {
    reply(to: request, lines, status: status, source: ScriptedBodySource(body))
}

func reply(to request: Request, _ lines: [String], status: Int = 200, source: some BodySource) -> Response {
    let head = response(lines, status: status)
    let length = head.headerFields[.contentLength].flatMap { Int64($0) }
    return Response(
        head: head, body: ResponseBody(source, expectedLength: length, request: request), request: request,
        exchange: ExchangeLifetime(outcome: .complete))
}
