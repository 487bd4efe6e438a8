package import ErrandCore
package import ErrandTesting
internal import Synchronization
internal import Testing

/// Parks each request until the test responds, or until the task of the request is cancelled.
package final class ParkedSender: HTTPSender {
    private struct State {
        var requests: [Request] = []
        var waiting: [Int: CheckedContinuation<Response, any Error>] = [:]
        var cancelled: Set<Int> = []
    }

    private let state = Mutex(State())

    package init() {}

    /// All requests, in the order in which they came.
    package var requests: [Request] { state.withLock(\.requests) }
    /// The number of requests that wait for a response.
    package var inFlight: Int { state.withLock(\.waiting.count) }
    /// The number of requests that were cancelled before their response.
    package var cancelledCount: Int { state.withLock(\.cancelled.count) }

    package func send(_ request: Request) async throws -> Response {
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

    /// Responds to the request with this number, from 0, once the request has come. Returns false if the request was cancelled before.
    @discardableResult
    package func respond(_ index: Int = 0, with result: Result<Response, any Error>) async -> Bool {
        await eventually { state.withLock { $0.waiting[index] != nil || $0.cancelled.contains(index) } }
        let waiter = state.withLock { $0.waiting.removeValue(forKey: index) }
        waiter?.resume(with: result)
        return waiter != nil
    }

    @discardableResult
    package func respond(_ index: Int = 0, status: HTTPResponse.Status = .ok, text: String) async -> Bool {
        await eventually { self.requests.count > index }
        guard requests.count > index else { return false }
        return await respond(
            index, with: .success(Response(head: HTTPResponse(status: status), data: Data(text.utf8), request: requests[index])))
    }

    /// Responds with a body that the test writes.
    @discardableResult
    package func respond(_ index: Int = 0, body: RecordingBodySource, trailers: HTTPFields? = nil) async -> Bool {
        await eventually { self.requests.count > index }
        guard requests.count > index else { return false }
        return await respond(index, with: .success(body.response(to: requests[index])))
    }

    /// Responds with the status 200 to the oldest request that waits, once there is such a request.
    package func respondToOldest() async {
        await eventually { inFlight > 0 }
        if let index = state.withLock({ $0.waiting.keys.min() }) { await respond(index, text: "") }
    }
}
