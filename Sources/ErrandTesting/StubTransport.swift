public import ErrandCore
internal import Synchronization

/// A transport without a network: it answers by stubs, and keeps what it was asked.
///
/// ```swift
/// let stub = StubTransport(Stub(.get, "/users/{id}").answers(.json(User(id: 7))))
/// let client = APIClient(stub.server("https://api.example"))
/// …
/// #expect(stub.requests.map(\.path) == ["/users/7"])
/// ```
///
/// Stubs are tried in order, and the first that matches answers. A request that nothing matches fails with ``UnmatchedRequest``,
/// which names the nearest stub and what differs. Everything belongs to this value: tests run side by side.
public final class StubTransport: HTTPTransport, CustomStringConvertible {
    private struct State {
        var stubs: [Stub]
        var uses: [Int]
        var requests: [RecordedRequest] = []
        var openBodies = 0
        var isShutDown = false

        func matches(_ request: RecordedRequest, stub index: Int) -> Bool {
            let stub = stubs[index]
            let isUsedUp = stub.script.isEmpty || (stub.script.count > 1 && uses[index] >= stub.script.count)
            return !isUsedUp && stub.criteria.allSatisfy { $0.matches(request) }
        }
    }

    private let state: Mutex<State>

    public init(_ stubs: Stub...) { state = Mutex(State(stubs: stubs, uses: stubs.map { _ in 0 })) }

    /// Adds a stub behind the others.
    public func add(_ stub: Stub) {
        state.withLock { state in
            state.stubs.append(stub)
            state.uses.append(0)
        }
    }

    public var capabilities: Capabilities { [.streamingUpload, .streamingDownload] }
    public var description: String { "StubTransport" }

    /// What was asked, in order, whether or not a stub matched.
    public var requests: [RecordedRequest] { state.withLock(\.requests) }

    /// Streamed bodies that were neither read to their end nor abandoned: zero when a test is done.
    public var openBodyCount: Int { state.withLock(\.openBodies) }

    public func send(_ request: Request) async throws -> Response {
        try Task.checkCancellation()
        let recorded = RecordedRequest(request: request, body: try await Self.bytes(of: request.body))
        let answer = try state.withLock { state in
            guard !state.isShutDown else { throw TransportError(.shutDown, phase: .request, request: request, wasSent: .no) }
            state.requests.append(recorded)
            guard let index = state.stubs.indices.first(where: { state.matches(recorded, stub: $0) }) else {
                throw UnmatchedRequest(recorded, stubs: state.stubs, uses: state.uses)
            }
            defer { state.uses[index] += 1 }
            let script = state.stubs[index].script
            return script.count == 1 ? script[0] : script[state.uses[index]]
        }
        let (head, content) = try await answer.make(recorded)
        switch content {
        case .data(let data): return Response(head: head, data: data, request: request)
        case .chunks(let chunks, let failure):
            let lifetime = ExchangeLifetime()
            state.withLock { $0.openBodies += 1 }
            let source = StubBodySource(chunks, failure: failure) { [self] end in
                state.withLock { $0.openBodies -= 1 }
                lifetime.end(end)
            }
            return Response(head: head, body: ResponseBody(source, request: request), request: request, exchange: lifetime)
        }
    }

    private static func bytes(of body: RequestBody) async throws -> Data {
        if let bytes = body.bytes { return bytes }
        let source = try await body.open()
        defer { source.abandon() }
        var all = Data()
        while let chunk = try await source.next() {
            all.append(chunk)
            guard all.count <= 16 * 1024 * 1024 else { throw TransportError(.bodyTooLarge, phase: .send, request: nil, wasSent: .maybe) }
        }
        return all
    }

    public func shutdown() async throws { state.withLock { $0.isShutDown = true } }
}

/// No stub matched a request.
public struct UnmatchedRequest: RequestFailure {
    public let request: Request?
    public var attempts: [AttemptRecord] = []
    /// The stub that matched most, and what of it did not match; nil where there are no stubs.
    public let nearest: String?

    public var phase: ExchangePhase { .request }
    public var wasSent: WasSent { .no }

    init(_ recorded: RecordedRequest, stubs: [Stub], uses: [Int]) {
        request = recorded.request
        let scored = zip(stubs, uses).map { stub, used in
            let missed = stub.criteria.filter { !$0.matches(recorded) }.map(\.name)
            return (stub: stub, missed: missed, used: used)
        }
        nearest = scored.min { ($0.missed.count, $1.stub.criteria.count) < ($1.missed.count, $0.stub.criteria.count) }
            .map { nearest in
                if nearest.missed.isEmpty {
                    let why = nearest.stub.script.isEmpty ? "it has no answer" : "its \(nearest.used) answers are used up"
                    return "'\(nearest.stub)' matches, but \(why)"
                }
                return "'\(nearest.stub)' differs in \(nearest.missed.joined(separator: ", "))"
            }
    }

    public var description: String {
        "\(request.map { "\($0): " } ?? "")no stub matches; " + (nearest.map { "the nearest, \($0)" } ?? "there are none")
    }
}

extension UnmatchedRequest: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["failure": description]) }
}

/// Chunks that come when they are read.
private final class StubBodySource: BodySource {
    private struct State {
        var rest: ArraySlice<Data>
        var failure: (any Error)?
        var isOver = false
    }

    private let state: Mutex<State>
    private let onEnd: @Sendable (ExchangeLifetime.End) -> Void

    init(_ chunks: [Data], failure: (any Error)?, onEnd: @escaping @Sendable (ExchangeLifetime.End) -> Void) {
        state = Mutex(State(rest: chunks.filter { !$0.isEmpty }[...], failure: failure))
        self.onEnd = onEnd
    }

    func next() async throws -> Data? {
        if Task.isCancelled {
            end(.failed(CancellationError()))
            throw CancellationError()
        }
        let (chunk, failure) = state.withLock { state in (state.rest.popFirst(), state.failure) }
        if let chunk { return chunk }
        if let failure {
            end(.failed(failure))
            throw failure
        }
        end(.complete)
        return nil
    }

    func abandon() { end(.abandoned) }

    private func end(_ end: ExchangeLifetime.End) {
        let isFirst = state.withLock { state in
            defer {
                state.isOver = true
                state.rest = []
            }
            return !state.isOver
        }
        if isFirst { onEnd(end) }
    }
}
