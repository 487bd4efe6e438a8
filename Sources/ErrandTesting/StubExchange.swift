internal import ErrandCore
internal import Synchronization

/// One request to a stub: what its sink is told, and its end.
final class StubExchange: Sendable {
    private struct State {
        var sentBytes: Int64 = 0
        var isSent = false
        var isPassedOn = false
        var isOver = false
    }

    let request: Request
    let lifetime = ExchangeLifetime()
    private let state = Mutex(State())

    init(_ request: Request) { self.request = request }

    var sentBytes: Int64 { state.withLock(\.sentBytes) }

    func tell(_ kind: ExchangeEvent.Kind, bytes: Int64? = nil, head: HTTPResponse? = nil, failure: (any Error)? = nil) {
        guard let sink = request.options.eventSink, !state.withLock(\.isPassedOn) else { return }
        sink.record(ExchangeEvent(kind, request: request.id, bytes: bytes, response: head, failure: failure))
    }

    func sent(_ count: Int) {
        let sent = state.withLock { state in
            state.sentBytes += Int64(count)
            return state.sentBytes
        }
        tell(.requestBytesSent, bytes: sent)
    }

    /// - Parameter declared: how long the body should have been; nil where that is known to be right.
    func requestIsSent(declared: Int64?) {
        let isSent = state.withLock { state in
            defer { state.isSent = true }
            return !state.isSent && (declared == nil || declared == state.sentBytes)
        }
        if isSent { tell(.requestSent) }
    }

    /// Another sender tells the rest.
    func isPassedOn() {
        state.withLock { $0.isPassedOn = true }
        end(.abandoned)
    }

    func end(_ end: ExchangeLifetime.End) {
        let isFirst = state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
        guard isFirst else { return }
        switch end {
        case .complete: tell(.end)
        case .failed(let error): tell(.end, failure: error)
        case .abandoned: tell(.end, failure: CancellationError())
        }
        lifetime.end(end)
    }
}
