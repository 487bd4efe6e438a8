internal import ErrandCore
internal import ErrandURLSession
internal import Foundation
internal import Synchronization

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The load of one request: sends the request to a stub, and keeps the events until the session takes them.
///
/// The load owns the task that waits for the stub. ``stop()`` ends the task.
final class StubLoad: Sendable {
    enum Event: Sendable {
        case head(HTTPURLResponse)
        case chunk(Data)
        /// The end of the body, or the error that ends the load.
        case end((any Error)?)
    }

    private struct State {
        var events: [Event] = []
        var task: Task<Void, Never>?
        var isStopped = false
    }

    private let state = Mutex(State())
    private let wake: WakeUp

    /// - Parameter wake: makes the session call ``take()``. The load calls `wake` for the first event after each call of ``take()``.
    init(_ wake: WakeUp) { self.wake = wake }

    func start(_ request: URLRequest, by registration: StubClasses.Registration) {
        let task = Task { await run(request, by: registration) }
        let isStopped = state.withLock { state in
            if !state.isStopped { state.task = task }
            return state.isStopped
        }
        if isStopped { task.cancel() }
    }

    /// Returns the events since the last call.
    func take() -> [Event] {
        state.withLock { state in
            defer { state.events = [] }
            return state.events
        }
    }

    /// Ends the work of the stub. After this call, ``take()`` returns no events.
    func stop() {
        let task = state.withLock { state in
            (state.isStopped, state.events) = (true, [])
            return state.task.take()
        }
        task?.cancel()
        wake.end()
    }

    private func run(_ urlRequest: URLRequest, by registration: StubClasses.Registration) async {
        var undelivered = Data()
        var failure: (any Error)?
        do {
            let response = try await registration.sender.send(Request(urlRequest))
            guard let url = urlRequest.url, let head = HTTPURLResponse(response, to: url) else { throw URLError(.badServerResponse) }
            post(.head(head))
            for try await chunk in response.body {
                if registration.deliversPieces { post(.chunk(chunk)) } else { undelivered.append(chunk) }
            }
        } catch {
            failure = Self.reported(error, url: urlRequest.url)
        }
        if !undelivered.isEmpty { post(.chunk(undelivered)) }
        post(.end(failure))
    }

    /// Returns the error that `URLSession` would report. Errors of the app stay unchanged.
    private static func reported(_ error: any Error, url: URL?) -> any Error {
        switch error {
        case is CancellationError: URLError(.cancelled)
        case let failure as any RequestFailure: URLError(failure, url: url)
        default: error
        }
    }

    private func post(_ event: Event) {
        let isFirst = state.withLock { state in
            if state.isStopped { return false }
            state.events.append(event)
            return state.events.count == 1
        }
        if isFirst { wake.up() }
    }
}
