import Errand
import Synchronization
import TestSupport
import Testing

/// A sender whose exchanges the test answers.
final class Desk: HTTPSender {
    private struct State {
        var requests: [Request] = []
        var waiting: [Int: CheckedContinuation<Response, any Error>] = [:]
        var cancelled: Set<Int> = []
    }

    private let state = Mutex(State())

    /// What has come, in order.
    var requests: [Request] { state.withLock(\.requests) }
    /// Those whose work was cancelled before it was answered.
    var cancelledCount: Int { state.withLock(\.cancelled.count) }

    func send(_ request: Request) async throws -> Response {
        let index = state.withLock { state in
            state.requests.append(request)
            return state.requests.count - 1
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = state.withLock { state in
                    if !state.cancelled.contains(index) { state.waiting[index] = continuation }
                    return state.cancelled.contains(index)
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.cancelled.insert(index)
                return state.waiting.removeValue(forKey: index)
            }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// Ends the exchange with this number, from 0, once it has begun; false where it was cancelled before.
    @discardableResult
    func answer(_ index: Int = 0, with result: Result<Response, any Error>) async -> Bool {
        await eventually { state.withLock { $0.waiting[index] != nil || $0.cancelled.contains(index) } }
        let waiter = state.withLock { $0.waiting.removeValue(forKey: index) }
        waiter?.resume(with: result)
        return waiter != nil
    }

    @discardableResult
    func answer(_ index: Int = 0, status: HTTPResponse.Status = .ok, text: String) async -> Bool {
        await eventually { self.requests.count > index }
        guard requests.count > index else { return false }
        return await answer(
            index, with: .success(Response(head: HTTPResponse(status: status), data: Data(text.utf8), request: requests[index])))
    }

    /// Answers with a body that the test writes.
    @discardableResult
    func answer(_ index: Int = 0, body: HandBody, trailers: HTTPFields? = nil) async -> Bool {
        await eventually { self.requests.count > index }
        guard requests.count > index else { return false }
        return await answer(index, with: .success(body.response(to: requests[index])))
    }
}

/// A body that the test writes, and that knows how it is read.
final class HandBody: BodySource {
    private struct State {
        var pieces: [Data] = []
        var end: Result<Data?, any Error>?
        var reader: CheckedContinuation<Data?, any Error>?
        var asked = 0
        var cancelled = 0
        var abandoned = 0
    }

    private let state = Mutex(State())
    private let sentTrailers: HTTPFields?
    /// Whether a read ends when the body is abandoned: otherwise by cancellation alone.
    private let endsReads: Bool
    let lifetime = ExchangeLifetime()

    init(trailers: HTTPFields? = nil, endsReads: Bool = true) { (sentTrailers, self.endsReads) = (trailers, endsReads) }

    var trailers: HTTPFields? { sentTrailers }
    var asked: Int { state.withLock(\.asked) }
    var cancelled: Int { state.withLock(\.cancelled) }
    var abandoned: Int { state.withLock(\.abandoned) }
    var isBeingRead: Bool { state.withLock { $0.reader != nil } }

    func response(to request: Request) -> Response {
        Response(head: HTTPResponse(status: .ok), body: ResponseBody(self, request: request), request: request, exchange: lifetime)
    }

    func write(_ data: Data) {
        let reader = state.withLock { state in
            if state.reader == nil { state.pieces.append(data) }
            return Self.take(&state)
        }
        reader?.resume(returning: data)
    }

    func write(_ text: String) { write(Data(text.utf8)) }

    func finish(_ error: (any Error)? = nil) {
        let end: Result<Data?, any Error> = error.map { .failure($0) } ?? .success(nil)
        let reader = state.withLock { state in
            state.end = end
            return Self.take(&state)
        }
        lifetime.end(error.map { .failed($0) } ?? .complete)
        reader?.resume(with: end)
    }

    func next() async throws -> Data? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Data?, any Error>? in
                    state.asked += 1
                    if Task.isCancelled || state.abandoned > 0 && endsReads { return .failure(CancellationError()) }
                    if !state.pieces.isEmpty { return .success(state.pieces.removeFirst()) }
                    if let end = state.end { return end }
                    state.reader = continuation
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let reader = state.withLock { state in
                state.cancelled += 1
                return Self.take(&state)
            }
            reader?.resume(throwing: CancellationError())
        }
    }

    func abandon() {
        let reader = state.withLock { state in
            state.abandoned += 1
            return endsReads ? Self.take(&state) : nil
        }
        lifetime.end(.abandoned)
        reader?.resume(throwing: CancellationError())
    }

    private static func take(_ state: inout State) -> CheckedContinuation<Data?, any Error>? {
        defer { state.reader = nil }
        return state.reader
    }
}

extension CoalesceMiddleware {
    /// Returns when so many share an exchange.
    func callers(_ count: Int) async { await eventually { state.callers == count } }

    func isIdle() async { await eventually { state.has(0, callers: 0) } }
}

extension CoalesceMiddleware.State {
    func has(_ inFlight: Int, callers: Int) -> Bool { self.inFlight == inFlight && self.callers == callers }
}
