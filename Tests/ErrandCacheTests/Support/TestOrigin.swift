import ErrandCore
import ErrandTesting
import HTTPTypes
import Synchronization

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
    let time = TestTime()
    let store: any CacheStore
    let events = RecordingSink()
    let stack: HTTPStack
    let work: CacheWork

    init(
        in store: any CacheStore = MemoryCacheStore(), policy: CachePolicy = .standard, decodes: Bool = false,
        clock: any Clock<Duration> = ManualClock(), _ respond: @escaping TestOrigin.Respond
    ) {
        (origin, self.store) = (TestOrigin(respond), store)
        func middleware(_ store: some CacheStore, _ time: TestTime) -> CacheMiddleware {
            CacheMiddleware(in: store, policy: policy, transportDecodes: decodes, clock: clock, instant: { time.now })
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

/// The time of a test.
final class TestTime: Sendable {
    private let seconds = Mutex(0.0)

    var now: CacheInstant { instant(seconds.withLock { $0 }) }
    func advance(_ by: Double) { seconds.withLock { $0 += by } }
}

final class RecordingSink: EventSink {
    private let events = Mutex<[ExchangeEvent]>([])

    func record(_ event: ExchangeEvent) { events.withLock { $0.append(event) } }

    var all: [ExchangeEvent] { events.withLock { $0 } }

    /// The decisions of the cache, in order.
    var decisions: [String] {
        events.withLock { $0.compactMap { $0.kind == .cacheDecision ? $0.decision?.description : nil } }
    }
}

/// Bytes that arrive when the test wants.
final class TestSource: BodySource {
    private struct State {
        var chunks: [Data]
        var end: Result<Void, any Error>?
        var waiter: CheckedContinuation<Void, any Error>?
        var isAbandoned = false
        var reads = 0
    }

    private let state: Mutex<State>

    /// - Parameters:
    ///   - chunks: the first chunks.
    ///   - end: how the body ends after these chunks; nil: it stays open.
    init(_ chunks: [String], end: Result<Void, any Error>? = .success(())) {
        state = Mutex(State(chunks: chunks.map { Data($0.utf8) }, end: end))
    }

    var isAbandoned: Bool { state.withLock(\.isAbandoned) }
    var reads: Int { state.withLock(\.reads) }
    var isWaiting: Bool { state.withLock { $0.waiter != nil } }

    func add(_ chunk: String) { wake { $0.chunks.append(Data(chunk.utf8)) } }
    func end(_ result: Result<Void, any Error> = .success(())) { wake { $0.end = result } }

    private func wake(_ change: (inout State) -> Void) {
        let waiter = state.withLock { state in
            change(&state)
            return state.waiter.take()
        }
        waiter?.resume()
    }

    func next() async throws -> Data? {
        while true {
            try Task.checkCancellation()
            let result = try state.withLock { state -> Data?? in
                if state.isAbandoned { return .some(nil) }
                if !state.chunks.isEmpty {
                    state.reads += 1
                    return state.chunks.removeFirst()
                }
                switch state.end {
                case .success: return .some(nil)
                case .failure(let error): throw error
                case nil: return nil
                }
            }
            if let result { return result }
            try await waitInQueue { (_, continuation: CheckedContinuation<Void, any Error>) in
                state.withLock { state -> Result<Void, any Error>? in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if !state.chunks.isEmpty || state.end != nil || state.isAbandoned { return .success(()) }
                    state.waiter = continuation
                    return nil
                }
            } leave: { [self] _ in
                state.withLock { $0.waiter.take() }
            }
        }
    }

    func abandon() { wake { $0.isAbandoned = true } }
}

/// Returns a response with a stream, in one chunk or several.
func reply(to request: Request, _ lines: String..., status: Int = 200, body: [String] = ["hello"]) -> Response {
    reply(to: request, lines, status: status, source: TestSource(body))
}

func reply(to request: Request, _ lines: [String], status: Int = 200, source: some BodySource) -> Response {
    let head = response(lines, status: status)
    let length = head.headerFields[.contentLength].flatMap { Int64($0) }
    return Response(
        head: head, body: ResponseBody(source, expectedLength: length, request: request), request: request,
        exchange: ExchangeLifetime(outcome: .complete))
}

/// Waits until a condition holds, for at most 10 s.
func until(_ condition: () throws -> Bool) async throws {
    for _ in 0..<10_000 {
        if try condition() { return }
        try await Task.sleep(for: .milliseconds(1))
    }
    struct NeverHeld: Error {}
    throw NeverHeld()
}
