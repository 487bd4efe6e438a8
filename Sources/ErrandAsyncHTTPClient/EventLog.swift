#if AsyncHTTPClient
internal import ErrandCore
internal import Synchronization

/// Tells a sink of the events of one exchange: in order, one at a time, and none after the end.
///
/// Events come from event loops and from whoever cancels, at the same moment. A sink may itself end the exchange; therefore it is
/// never called under a lock.
final class EventLog: Sendable {
    private struct State {
        var waiting: [ExchangeEvent] = []
        var isTelling = false
        var hasEnded = false
    }

    private let sink: any EventSink
    private let request: RequestID
    private let state = Mutex(State())

    init(sink: any EventSink, request: RequestID) { (self.sink, self.request) = (sink, request) }

    func record(_ kind: ExchangeEvent.Kind, bytes: Int64? = nil, failure: (any Error)? = nil) {
        let mustTell = state.withLock { state in
            guard !state.hasEnded else { return false }
            state.hasEnded = kind == .end
            state.waiting.append(ExchangeEvent(kind, request: request, bytes: bytes, failure: failure))
            defer { state.isTelling = true }
            return !state.isTelling
        }
        guard mustTell else { return }
        while let event = next() { sink.record(event) }
    }

    private func next() -> ExchangeEvent? {
        state.withLock { state in
            guard let event = state.waiting.first else {
                state.isTelling = false
                return nil
            }
            state.waiting.removeFirst()
            return event
        }
    }
}
#endif
