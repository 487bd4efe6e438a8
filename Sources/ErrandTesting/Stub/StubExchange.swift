internal import ErrandCore
internal import Synchronization

/// One request to a stub: reports the request's events and its end.
final class StubExchange: Sendable {
    private struct State {
        var sentBytes: Int64 = 0
        var receivedBytes: Int64 = 0
        var isSent = false
        var isPassedOn = false
        var isOver = false
    }

    let request: Request
    let lifetime = ExchangeLifetime()
    private let events: ExchangeEventLog?
    private let state = Mutex(State())

    init(_ request: Request) {
        self.request = request
        events = request.options.eventSink.map { ExchangeEventLog($0, request: request.id) }
    }

    var sentBytes: Int64 { state.withLock(\.sentBytes) }

    func report(_ kind: ExchangeEvent.Kind, bytes: Int64? = nil, head: HTTPResponse? = nil, failure: (any Error)? = nil) {
        guard let events, !state.withLock(\.isPassedOn) || kind == .end else { return }
        events.record(kind, bytes: bytes, response: head, failure: failure)
    }

    func send(_ count: Int) {
        let sent = state.withLock { state in
            state.sentBytes += Int64(count)
            return state.sentBytes
        }
        report(.requestBytesSent, bytes: sent)
    }

    func receive(_ count: Int) {
        guard count > 0 else { return }
        let received = state.withLock { state in
            state.receivedBytes += Int64(count)
            return state.receivedBytes
        }
        report(.responseBytesReceived, bytes: received)
    }

    /// - Parameter declared: the declared length of the body; `nil` if the length is known to be correct.
    func requestIsSent(declared: Int64?) {
        let isSent = state.withLock { state in
            defer { state.isSent = true }
            return !state.isSent && (declared == nil || declared == state.sentBytes)
        }
        if isSent { report(.requestSent) }
    }

    /// Stops the reports of this exchange, because another sender reports the remaining events.
    func isPassedOn() {
        state.withLock { $0.isPassedOn = true }
        end(.abandoned)
    }

    func end(_ end: ExchangeLifetime.Outcome) {
        let (isFirst, sizes) = state.withLock { state in
            defer { state.isOver = true }
            return (
                !state.isOver,
                ExchangeLifetime.BodySizes(requestBytes: state.sentBytes, responseBytes: state.receivedBytes)
            )
        }
        guard isFirst else { return }
        switch end {
        case .complete: report(.end)
        case .failed(let error): report(.end, failure: error)
        case .abandoned: report(.end, failure: CancellationError())
        }
        lifetime.end(end, sizes: sizes)
    }
}
