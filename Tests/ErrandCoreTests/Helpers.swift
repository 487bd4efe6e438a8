import Errand
import ErrandTesting
import Foundation
import Synchronization

/// Told once; whoever waits, now or later, goes on.
final class Signal: Sendable {
    private let state = Mutex((isFired: false, waiters: [CheckedContinuation<Void, Never>]()))

    func fire() {
        let waiters = state.withLock { state in
            state.isFired = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isFired = state.withLock { state in
                if !state.isFired { state.waiters.append(continuation) }
                return state.isFired
            }
            if isFired { continuation.resume() }
        }
    }
}

/// Returns, by throwing, when the task is cancelled.
func untilCancelled() async throws -> Never {
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    for await _ in stream {}
    continuation.finish()
    throw CancellationError()
}

/// Something that counts or collects, from any task.
final class Recorder<Element: Sendable>: Sendable {
    private let state = Mutex([Element]())
    var all: [Element] { state.withLock { $0 } }
    func record(_ element: Element) { state.withLock { $0.append(element) } }
}

extension MiddlewarePlace {
    /// What the library's own middleware of this place declares; nothing where there is none.
    var libraryNeighbors: [MiddlewareNeighbor] { Self.library.first { $0.place == self }?.neighbors ?? [] }

    private static let library = StubTransport()
        .metrics().trace().concurrencyLimit(1).rateLimit().circuitBreaker().hedge().coalesce().redirect().retry()
        .fallback(data: Data(), statuses: [503]).validateStatus().timeout(.seconds(1)).profile().events { _ in nil }.traceCall().number()
        .server("https://a.example").layers
}

struct SomeError: Error, Equatable {
    var secret = ""
}

/// Chunks, one after the other, and then an end, a failure or a stall that only cancellation ends. Counts its abandonments.
final class ScriptedBodySource: BodySource {
    enum Ending: Sendable {
        case end
        case failure(any Error)
        case stall
    }

    private let state: Mutex<(rest: [Data], abandonCount: Int)>
    private let ending: Ending
    private let sentTrailers: HTTPFields?
    /// The ending was reached.
    let reachedEnding = Signal()

    init(_ chunks: [String] = [], then ending: Ending = .end, trailers: HTTPFields? = nil) {
        state = Mutex((chunks.map { Data($0.utf8) }, 0))
        (self.ending, sentTrailers) = (ending, trailers)
    }

    init(chunks: [[UInt8]], then ending: Ending = .end) {
        state = Mutex((chunks.filter { !$0.isEmpty }.map { Data($0) }, 0))
        (self.ending, sentTrailers) = (ending, nil)
    }

    var abandonCount: Int { state.withLock(\.abandonCount) }
    var unreadCount: Int { state.withLock(\.rest.count) }
    var trailers: HTTPFields? { sentTrailers }

    func next() async throws -> Data? {
        if let chunk = state.withLock({ $0.rest.isEmpty ? nil : $0.rest.removeFirst() }) { return chunk }
        reachedEnding.fire()
        switch ending {
        case .end: return nil
        case .failure(let error): throw error
        case .stall: try await untilCancelled()
        }
    }

    func abandon() { state.withLock { $0.abandonCount += 1 } }
}

/// A transport that gives one body, and counts.
final class ScriptedTransport: HTTPTransport {
    let capabilities: Capabilities
    private let make: @Sendable (Request) async throws -> Response
    private let counts = Mutex((requests: 0, shutdowns: 0))

    init(capabilities: Capabilities = [], _ make: @escaping @Sendable (Request) async throws -> Response) {
        (self.capabilities, self.make) = (capabilities, make)
    }

    convenience init(body source: ScriptedBodySource) {
        self.init { Response(head: HTTPResponse(status: .ok), body: ResponseBody(source), request: $0, exchange: ExchangeLifetime()) }
    }

    var requestCount: Int { counts.withLock(\.requests) }
    var shutdownCount: Int { counts.withLock(\.shutdowns) }

    func send(_ request: Request) async throws -> Response {
        counts.withLock { $0.requests += 1 }
        return try await make(request)
    }

    func shutdown() async throws { counts.withLock { $0.shutdowns += 1 } }
}

/// The chunks of a body, as text.
func chunks(of source: any BodySource) async throws -> [String] {
    var all: [String] = []
    while let chunk = try await source.next() { all.append(String(decoding: chunk, as: UTF8.self)) }
    return all
}

/// A count that several threads raise.
final class Count: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .sequentiallyConsistent) }

    /// Returns the count after it.
    @discardableResult func add(_ more: Int) -> Int { count.add(more, ordering: .sequentiallyConsistent).newValue }
}

/// A file that goes when this value does.
final class TemporaryFile: Sendable {
    let path: String

    /// With these bytes, and made longer by a hole up to `lengthBytes`.
    init(_ text: String = "", lengthBytes: UInt64? = nil) throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("errand-test-\(UUID().uuidString)").path
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        if let lengthBytes { try truncate(to: lengthBytes) }
    }

    func truncate(to lengthBytes: UInt64) throws {
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try handle.truncate(atOffset: lengthBytes)
        try handle.close()
    }

    /// How many of this process's descriptors are open on it; nil where the system does not tell.
    var openDescriptors: Int? {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") else { return nil }
        return names.count { (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// What `dump` prints.
func dumped(_ value: Any) -> String {
    var text = ""
    dump(value, to: &text)
    return text
}

extension Request {
    /// A request that any transport takes.
    static func sample(_ path: String = "/") -> Request {
        Request(head: HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: path))
    }
}
