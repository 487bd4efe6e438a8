public import Tracing

/// A tracer whose spans discard everything that is recorded.
public struct SilentTracer: Tracer {
    public struct Span: Tracing.Span {
        public let context: ServiceContext
        public var operationName: String {
            get { "" }
            nonmutating set {}
        }
        public var attributes: SpanAttributes {
            get { [:] }
            nonmutating set {}
        }
        public var isRecording: Bool { true }
        public func setStatus(_ status: SpanStatus) {}
        public func addEvent(_ event: SpanEvent) {}
        public func addLink(_ link: SpanLink) {}
        public func recordError<Instant: TracerInstant>(
            _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
        ) {}
        public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {}
    }

    public init() {}

    public func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind, at instant: @autoclosure () -> Instant,
        function: String, file fileID: String, line: UInt
    ) -> Span { Span(context: context()) }

    public func forceFlush() {}

    public func inject<Carrier, Inject: Injector>(_ context: ServiceContext, into carrier: inout Carrier, using injector: Inject)
    where Inject.Carrier == Carrier {
        injector.inject("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", forKey: "traceparent", into: &carrier)
    }

    public func extract<Carrier, Extract: Extractor>(_ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract)
    where Extract.Carrier == Carrier {}
}
