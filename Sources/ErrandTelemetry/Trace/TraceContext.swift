#if Telemetry
internal import ErrandCore
internal import Tracing

extension Request {
    /// Adds the context to the header fields, in the tracer's format.
    mutating func inject(_ context: ServiceContext, by tracer: some Tracer, baggage scope: TraceOptions.BaggageScope) {
        var injected: [(name: HTTPField.Name, value: String)] = []
        tracer.inject(context, into: &injected, using: FieldInjector())
        if scope == .nowhere || (scope == .firstOrigin && options.hasLeftOrigin) {
            injected.removeAll { $0.name == .baggage }
            if !head.headerFields.isEmpty { head.headerFields[.baggage] = nil }
        }
        // The caller's `tracestate` belongs to another parent span.
        if !head.headerFields.isEmpty, injected.contains(where: { $0.name == .traceparent }) { head.headerFields[.tracestate] = nil }
        for (name, value) in injected { head.headerFields[name] = value }
    }
}

private struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into carrier: inout [(name: HTTPField.Name, value: String)]) {
        let name: HTTPField.Name? =
            switch key {
            case "traceparent": .traceparent  // octets: ASCII
            case "tracestate": .tracestate  // octets: ASCII
            case "baggage": .baggage  // octets: ASCII
            default: HTTPField.Name(key)
            }
        if let name { carrier.append((name, value)) }
    }
}

extension HTTPField.Name {
    fileprivate static let traceparent = known("traceparent")
    fileprivate static let tracestate = known("tracestate")
    fileprivate static let baggage = known("baggage")
}
#endif
