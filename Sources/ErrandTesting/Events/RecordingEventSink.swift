public import ErrandCore
internal import Synchronization

/// Records the events of calls and exchanges for a test.
///
/// ```swift
/// let sink = RecordingEventSink()
/// _ = try await stub.retry().events(to: sink).send(request)
/// #expect(sink.kinds.count { $0 == .retryDecision } == 2)
/// ```
///
/// The sink keeps all events until the sink is released.
public final class RecordingEventSink: EventSink, CustomStringConvertible {
    private struct Waiter {
        let kind: ExchangeEvent.Kind
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var events: [ExchangeEvent] = []
        var waiters: [QueueTicket: Waiter] = [:]
    }

    private let state = Mutex(State())

    /// Creates a sink without events.
    public init() {}

    /// All events so far, oldest first.
    public var events: [ExchangeEvent] { state.withLock(\.events) }

    /// The kinds of ``events``.
    public var kinds: [ExchangeEvent.Kind] { events.map(\.kind) }

    /// The number of events: `event sink, events: 5`.
    public var description: String { "event sink, events: \(events.count)" }

    /// Records an event.
    public func record(_ event: ExchangeEvent) {
        let met = state.withLock { state in
            state.events.append(event)
            let met = state.waiters.filter { $0.value.kind == event.kind }
            for ticket in met.keys { state.waiters[ticket] = nil }
            return met.values.map(\.continuation)
        }
        for continuation in met { continuation.resume() }
    }

    /// Returns as soon as an event of `kind` was recorded. If an event of `kind` was recorded earlier, returns immediately. The wait has no
    /// timeout.
    ///
    /// - Throws: `CancellationError`.
    public func wait(for kind: ExchangeEvent.Kind) async throws {
        try await waitInQueue { ticket, continuation in
            state.withLock { state -> Result<Void, any Error>? in
                if state.events.contains(where: { $0.kind == kind }) { return .success(()) }
                state.waiters[ticket] = Waiter(kind: kind, continuation: continuation)
                return nil
            }
        } leave: { [self] ticket in
            state.withLock { $0.waiters.removeValue(forKey: ticket)?.continuation }
        }
    }
}
