internal import Synchronization
public import Tracing

/// A tracer that keeps its spans, and propagates contexts in the formats of W3C Trace Context and W3C Baggage.
///
/// Identifiers are counted, so that they are the same in every run: the first span is `…0001`, and a trace has the number of its root span.
public final class RecordingTracer: Tracer {
    private struct State {
        var count = 0
        var started: [RecordingSpan] = []
    }

    private let state = Mutex(State())
    /// Whether spans record anything. A span that doesn't is still propagated.
    private let isSampling: Bool

    public init(isSampling: Bool = true) { self.isSampling = isSampling }

    /// All spans, in the order in which they were started.
    public var spans: [RecordingSpan] { state.withLock(\.started) }

    /// The spans that have ended.
    public var ended: [RecordingSpan] { spans.filter { $0.endCount > 0 } }

    public func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind, at instant: @autoclosure () -> Instant,
        function: String, file fileID: String, line: UInt
    ) -> RecordingSpan {
        var context = context()
        let parent = context.trace
        return state.withLock { state in
            state.count += 1
            let id = Self.hex(state.count, digits: 16)
            context.trace = TraceContext(
                trace: parent?.trace ?? Self.hex(state.count, digits: 32), span: id, isSampled: isSampling, state: parent?.state)
            let span = RecordingSpan(operationName, context: context, kind: kind, parent: parent?.span, isRecording: isSampling)
            state.started.append(span)
            return span
        }
    }

    public func forceFlush() {}

    public func inject<Carrier, Inject: Injector>(_ context: ServiceContext, into carrier: inout Carrier, using injector: Inject)
    where Inject.Carrier == Carrier {
        if let trace = context.trace {
            injector.inject("00-\(trace.trace)-\(trace.span)-0\(trace.isSampled ? 1 : 0)", forKey: "traceparent", into: &carrier)
            if let state = trace.state { injector.inject(state, forKey: "tracestate", into: &carrier) }
        }
        if let baggage = context.baggage { injector.inject(baggage, forKey: "baggage", into: &carrier) }
    }

    public func extract<Carrier, Extract: Extractor>(_ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract)
    where Extract.Carrier == Carrier {
        context.trace = extractor.extract(key: "traceparent", from: carrier).flatMap { TraceContext($0) }
        context.trace?.state = extractor.extract(key: "tracestate", from: carrier)
        context.baggage = extractor.extract(key: "baggage", from: carrier)
    }

    private static func hex(_ number: Int, digits: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: digits - text.count) + text
    }
}

/// A span and what was recorded of it so far.
public final class RecordingSpan: Tracing.Span {
    private struct State {
        var name: String
        var status: SpanStatus?
        var attributes = SpanAttributes()
        var endCount = 0
    }

    public let context: ServiceContext
    public let kind: SpanKind
    /// The parent's identifier; `nil` for a root span.
    public let parent: String?
    public let isRecording: Bool
    private let state: Mutex<State>

    init(_ name: String, context: ServiceContext, kind: SpanKind, parent: String?, isRecording: Bool) {
        (self.context, self.kind, self.parent, self.isRecording) = (context, kind, parent, isRecording)
        state = Mutex(State(name: name))
    }

    public var id: String { context.trace?.span ?? "" }
    public var traceID: String { context.trace?.trace ?? "" }
    /// The number of times that the span was ended. Correct code ends it once.
    public var endCount: Int { state.withLock(\.endCount) }
    public var status: SpanStatus? { state.withLock(\.status) }

    /// The attributes as text, by name; lists in brackets.
    public var texts: [String: String] {
        var texts: [String: String] = [:]
        attributes.forEach { name, value in
            switch value {
            case .string(let text): texts[name] = text
            case .int64(let number): texts[name] = "\(number)"
            case .stringArray(let list): texts[name] = "\(list)"
            default: texts[name] = "\(value)"
            }
        }
        return texts
    }

    public var operationName: String {
        get { state.withLock(\.name) }
        set { state.withLock { $0.name = newValue } }
    }

    public var attributes: SpanAttributes {
        get { state.withLock(\.attributes) }
        set { state.withLock { if $0.endCount == 0 { $0.attributes = newValue } } }
    }

    public func setStatus(_ status: SpanStatus) { state.withLock { if $0.endCount == 0 { $0.status = status } } }
    public func addEvent(_ event: SpanEvent) {}
    public func addLink(_ link: SpanLink) {}
    public func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {}
    public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) { state.withLock { $0.endCount += 1 } }
}

/// The values that W3C Trace Context propagates.
public struct TraceContext: Sendable {
    public let trace: String
    public let span: String
    public let isSampled: Bool
    public var state: String?

    public init(trace: String, span: String, isSampled: Bool = true, state: String? = nil) {
        (self.trace, self.span, self.isSampled, self.state) = (trace, span, isSampled, state)
    }

    /// Parses a `traceparent`; `nil` unless it is a valid one of version 00.
    public init?(_ traceparent: String) {
        let parts = traceparent.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
        guard parts.map(\.count) == [2, 32, 16, 2], parts[0] == "00", !parts[1].allSatisfy({ $0 == "0" }),
            !parts[2].allSatisfy({ $0 == "0" })
        else { return nil }
        self.init(trace: parts[1], span: parts[2], isSampled: parts[3] == "01")
    }
}

private enum TraceContextKey: ServiceContextKey { typealias Value = TraceContext }
private enum BaggageKey: ServiceContextKey { typealias Value = String }

extension ServiceContext {
    public var trace: TraceContext? {
        get { self[TraceContextKey.self] }
        set { self[TraceContextKey.self] = newValue }
    }

    /// The baggage in the syntax of the field: `tenant=a,region=eu`.
    public var baggage: String? {
        get { self[BaggageKey.self] }
        set { self[BaggageKey.self] = newValue }
    }
}
