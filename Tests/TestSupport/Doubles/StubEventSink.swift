public import ErrandCore

/// A sink that keeps nothing.
public struct StubEventSink: EventSink {
    public init() {}

    public func record(_ event: ExchangeEvent) {}
}
