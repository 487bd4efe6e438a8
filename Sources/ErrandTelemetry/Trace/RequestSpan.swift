#if Telemetry
internal import ErrandCore
internal import Tracing

/// The span of a request: its attributes and its end.
final class RequestSpan: CallObserver {
    private let span: any Tracing.Span
    /// The request without the fields that the tracer added.
    private let request: Request
    private let options: TraceOptions
    /// Whether the span represents one attempt. If false, the span represents the whole call.
    private let isAttempt: Bool
    private let isKnownMethod: Bool

    init(of request: Request, by tracer: some Tracer, _ options: TraceOptions, isAttempt: Bool) {
        (self.request, self.options, self.isAttempt) = (request, options, isAttempt)
        isKnownMethod = options.knownMethods.contains(request.method)
        let name = Conventions.spanName(of: request, isKnownMethod: isKnownMethod)
        span = tracer.startSpan(name, ofKind: isAttempt ? .client : .internal)
        if span.isRecording { span.updateAttributes(addRequest) }
    }

    var context: ServiceContext { span.context }

    /// Sends a request, and ends the span with the exchange.
    ///
    /// - Parameter traced: the request, with the span's context if the context must be sent.
    func send(_ traced: Request, to next: some HTTPSender) async throws -> Response {
        try await ServiceContext.withValue(span.context) { try await next.send(traced, observedBy: self) }
    }

    func mark() -> DefaultTracerClock.Timestamp { DefaultTracerClock.now }

    func end(_ call: CallOutcome, at end: DefaultTracerClock.Timestamp) {
        defer { span.end(at: end) }
        guard span.isRecording else { return }
        if let response = call.response { span.updateAttributes { add(response, call, to: &$0) } }
        if let failure = call.failure, !call.isCancelled {
            record(failure)
        } else if call.response != nil, call.refusal != nil {
            span.setStatus(SpanStatus(code: .error))
        }
    }

    /// Records a failure. For a `RequestFailure`, the description is recorded too, even if the type of the failure belongs to the app. The
    /// description of a `ServiceError` shows up to 200 characters of the back end's message. For any other error, only the type is
    /// recorded, because the error's text may contain secrets.
    private func record(_ error: any Error) {
        span.updateAttributes { $0.set("error.type", value: .string(Conventions.errorType(of: error))) }
        span.setStatus(SpanStatus(code: .error, message: (error as? any RequestFailure)?.description))
    }

    // MARK: - Attributes

    private func addRequest(to attributes: inout SpanAttributes) {
        attributes.reserveCapacity(12)
        attributes.set("http.request.method", value: .string(Conventions.method(request.method, isKnown: isKnownMethod)))
        if !isKnownMethod { attributes.set("http.request.method_original", value: .string(request.method.rawValue)) }
        if let template = request.options.urlTemplate { attributes.set("url.template", value: .string(template)) }
        attributes.set("errand.request.id", value: .string(request.id.description))
        if let number = request.options.requestNumber { attributes.set("errand.request.number", value: .int64(Int64(number))) }
        for (name, value) in Conventions.tags(of: request) { attributes.set(name, value: .string(value)) }
        guard isAttempt else { return }
        if let server = Conventions.server(of: request) {
            attributes.set("server.address", value: .string(Conventions.address(of: server)))
            attributes.set("server.port", value: .int64(Int64(server.effectivePort)))
        }
        if request.head.authority != nil {
            attributes.set("url.full", value: .string(request.redactedURL))
        }
        let resendCount = request.options.resendCount
        if resendCount > 0 { attributes.set("http.request.resend_count", value: .int64(Int64(resendCount))) }
        addFields(
            options.requestHeaders, of: request.completedFields, as: "http.request.header.", request.options.sensitivity, to: &attributes)
    }

    private func add(_ response: Response, _ call: CallOutcome, to attributes: inout SpanAttributes) {
        let metadata = response.metadata
        attributes.set("http.response.status_code", value: .int64(Int64(response.head.status.code)))
        if call.refusal != nil { attributes.set("error.type", value: .string("\(response.head.status.code)")) }
        // An inner layer may have assigned the number.
        if let number = metadata.requestNumber { attributes.set("errand.request.number", value: .int64(Int64(number))) }
        guard isAttempt else { return }
        if let version = metadata.httpVersion { attributes.set("network.protocol.version", value: .string(version.number)) }
        if !options.responseHeaders.isEmpty {
            var sensitivity = request.options.sensitivity
            sensitivity.formUnion(response.request.options.sensitivity)
            addFields(options.responseHeaders, of: response.headers, as: "http.response.header.", sensitivity, to: &attributes)
        }
        guard options.recordsBodySizes, call.exchange?.isComplete == true else { return }
        if let count = request.body.length ?? call.sizes.requestBytes { attributes.set("http.request.body.size", value: .int64(count)) }
        if let count = call.sizes.responseBytes { attributes.set("http.response.body.size", value: .int64(count)) }
    }

    private func addFields(
        _ names: [HTTPField.Name], of fields: @autoclosure () -> HTTPFields, as prefix: String, _ sensitivity: Sensitivity,
        to attributes: inout SpanAttributes
    ) {
        guard !names.isEmpty else { return }
        let fields = fields()
        for name in names {
            let found = fields[fields: name]
            guard !found.isEmpty, !found.contains(where: { sensitivity.isSensitive($0) }) else { continue }
            attributes.set(prefix + name.canonicalName, value: .stringArray(found.map { sensitivity.shownValue(of: $0) }))
        }
    }
}
#endif
