public import ErrandCore

/// A sink that ignores its events.
public struct StubEventSink: EventSink {
    public init() {}

    public func record(_ event: ExchangeEvent) {}
}
