import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

/// A sender whose exchanges the test ends.
final class ScriptedSender: HTTPSender {
    private struct State {
        var requests: [Request] = []
        var waiting: [Int: CheckedContinuation<Response, any Error>] = [:]
        var cancelled: Set<Int> = []
    }

    private let state = Mutex(State())

    /// What has come, in order.
    var requests: [Request] { state.withLock(\.requests) }
    /// Those whose work was cancelled before its response.
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
    func respond(_ index: Int = 0, with result: Result<Response, any Error>) async -> Bool {
        await eventually { state.withLock { $0.waiting[index] != nil || $0.cancelled.contains(index) } }
        let waiter = state.withLock { $0.waiting.removeValue(forKey: index) }
        waiter?.resume(with: result)
        return waiter != nil
    }

    @discardableResult
    func respond(_ index: Int = 0, status: HTTPResponse.Status = .ok, text: String) async -> Bool {
        await eventually { self.requests.count > index }
        guard requests.count > index else { return false }
        return await respond(
            index, with: .success(Response(head: HTTPResponse(status: status), data: Data(text.utf8), request: requests[index])))
    }

    /// Responds with a body that the test writes.
    @discardableResult
    func respond(_ index: Int = 0, body: RecordingBodySource, trailers: HTTPFields? = nil) async -> Bool {
        await eventually { self.requests.count > index }
        guard requests.count > index else { return false }
        return await respond(index, with: .success(body.response(to: requests[index])))
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
