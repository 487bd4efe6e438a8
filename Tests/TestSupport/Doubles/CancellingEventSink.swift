public import ErrandCore

/// Cancels a task at an event. The event waits until the task is known.
public final class CancellingEventSink: EventSink {
    public let hasEnded = Watched(false)
    private let kind: ExchangeEvent.Kind
    private let cancel = Watched<(@Sendable () -> Void)?>(nil)

    public init(at kind: ExchangeEvent.Kind) { self.kind = kind }

    /// Cancels `task` at the event. Call this function once.
    public func cancels<Value: Sendable>(_ task: Task<Value, any Error>) { cancel.change { $0 = { task.cancel() } } }

    /// Returns when the task is known.
    public func isReady() async throws { try await cancel.wait("the task") { $0 != nil } }

    public func record(_ event: ExchangeEvent) {
        if event.kind == kind, let cancel = try? cancel.waitBlocking("the task", until: { $0 != nil }) { cancel() }
        if event.kind == .end { hasEnded.change { $0 = true } }
    }
}
