#if Telemetry
public import ErrandCore

/// The optional attributes of spans, and the fields that are sent with a request.
public struct TraceOptions: Sendable, Hashable {
    /// The servers to which the `baggage` field (W3C Baggage) is sent.
    public enum BaggageScope: Sendable, Hashable {
        /// Baggage is sent to every server.
        case everywhere
        /// Baggage is sent only to the first origin, and not after a redirect to another origin. The default.
        case firstOrigin
        /// Baggage is sent to no server.
        case nowhere
    }

    /// The request header fields to record, as `http.request.header.NAME`; none by default. Fields with secrets are never recorded.
    public var requestHeaders: [HTTPField.Name]
    /// The response header fields to record, as `http.response.header.NAME`; none by default. Fields with secrets are never recorded.
    public var responseHeaders: [HTTPField.Name]
    /// Whether to record `http.request.body.size` and `http.response.body.size`: false by default.
    public var recordsBodySizes: Bool
    /// Where baggage is sent: ``BaggageScope/firstOrigin`` by default.
    public var baggage: BaggageScope
    /// The methods that are recorded by name; any other method is `_OTHER`. By default, the methods of RFC 9110, and PATCH.
    public var knownMethods: Set<HTTPRequest.Method>

    /// Creates options.
    ///
    /// - Parameters:
    ///   - requestHeaders: the request header fields to record. Default: none.
    ///   - responseHeaders: the response header fields to record. Default: none.
    ///   - recordsBodySizes: whether to record the sizes of bodies. Default: `false`.
    ///   - baggage: the servers to which baggage is sent. Default: the first origin.
    ///   - knownMethods: the methods that are recorded by name; `nil`, the default: the methods of RFC 9110, and PATCH.
    public init(
        requestHeaders: [HTTPField.Name] = [], responseHeaders: [HTTPField.Name] = [], recordsBodySizes: Bool = false,
        baggage: BaggageScope = .firstOrigin, knownMethods: Set<HTTPRequest.Method>? = nil
    ) {
        (self.requestHeaders, self.responseHeaders, self.recordsBodySizes) = (requestHeaders, responseHeaders, recordsBodySizes)
        (self.baggage, self.knownMethods) = (baggage, knownMethods ?? Conventions.knownMethods)
    }

    /// The standard options: no optional attributes, and baggage for the first origin only.
    public static let standard = TraceOptions()
}

private enum TraceOptionKey: CrossOriginOptionKey {
    static var defaultValue: OptionOverride<TraceOptions> { .inherited }
    static var requiredMiddleware: MiddlewarePlace { .trace }
}

extension RequestOptions {
    /// Replaces the stack's trace options for this request. `.off`: the request has no span, and its header fields are not
    /// changed. Default: `.inherited`, the stack's options.
    public var trace: OptionOverride<TraceOptions> {
        get { self[TraceOptionKey.self] }
        set { self[TraceOptionKey.self] = newValue }
    }
}
#endif
