public import ErrandCore

/// Passes each event to a closure.
public struct ClosureEventSink: EventSink {
    private let handle: @Sendable (ExchangeEvent) -> Void

    public init(_ handle: @escaping @Sendable (ExchangeEvent) -> Void) { self.handle = handle }

    public func record(_ event: ExchangeEvent) { handle(event) }
}
