#if Telemetry
internal import ErrandCore
internal import Synchronization

/// The part of a body that was read: the number of bytes, and the first bytes.
final class BodyRecord: Sendable {
    private let onEnd: @Sendable (BodyPrefix, ExchangeLifetime.Outcome) -> Void
    private let state: Mutex<(read: BodyPrefix, isOver: Bool)>

    /// - Parameter onEnd: the closure that is called once, when the body was read to its end, failed, or was abandoned.
    init(limitBytes: Int, onEnd: @escaping @Sendable (BodyPrefix, ExchangeLifetime.Outcome) -> Void = { _, _ in }) {
        self.onEnd = onEnd
        state = Mutex((BodyPrefix(limitBytes: limitBytes), false))
    }

    var soFar: BodyPrefix { state.withLock(\.read) }

    func record(_ event: BodyEvent) {
        switch event {
        case .opened: break
        case .chunk(let chunk): add(chunk)
        case .end(let end, _): self.end(end)
        }
    }

    private func add(_ chunk: Data) {
        state.withLock { state in
            if !state.isOver { state.read.append(chunk) }
        }
    }

    private func end(_ end: ExchangeLifetime.Outcome) {
        let last: BodyPrefix? = state.withLock { state in
            defer { state.isOver = true }
            return state.isOver ? nil : state.read
        }
        if let last { onEnd(last, end) }
    }
}
#endif
