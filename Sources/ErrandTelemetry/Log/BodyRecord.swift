#if Telemetry
internal import ErrandCore
internal import Synchronization

/// The part of a body that was read: the number of bytes, and the first bytes.
final class BodyRecord: Sendable {
    struct Read {
        var front = Data()
        var count = 0
    }

    private let limitBytes: Int
    private let onEnd: @Sendable (Read, ExchangeLifetime.Outcome) -> Void
    private let state = Mutex((read: Read(), isOver: false))

    /// - Parameter onEnd: called once, when the body was read to its end, failed, or was abandoned.
    init(limitBytes: Int, onEnd: @escaping @Sendable (Read, ExchangeLifetime.Outcome) -> Void = { _, _ in }) {
        (self.limitBytes, self.onEnd) = (limitBytes, onEnd)
    }

    var soFar: Read { state.withLock(\.read) }

    func record(_ event: BodyEvent) {
        switch event {
        case .opened: break
        case .chunk(let chunk): add(chunk)
        case .end(let end, _): self.end(end)
        }
    }

    private func add(_ chunk: Data) {
        state.withLock { state in
            guard !state.isOver else { return }
            let wanted = limitBytes - state.read.front.count
            if wanted > 0 { state.read.front.append(contentsOf: chunk.prefix(wanted)) }
            state.read.count += chunk.count
        }
    }

    private func end(_ end: ExchangeLifetime.Outcome) {
        let last: Read? = state.withLock { state in
            defer { state.isOver = true }
            return state.isOver ? nil : state.read
        }
        if let last { onEnd(last, end) }
    }
}
#endif
