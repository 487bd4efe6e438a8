#if Telemetry
public import ErrandCore

/// The optional attributes of spans, and the scope of `baggage`.
public struct TraceOptions: Sendable, Hashable {
    /// Where `baggage` ([W3C](https://www.w3.org/TR/baggage/)) is sent.
    public enum BaggageScope: Sendable, Hashable {
        /// To every server.
        case everywhere
        /// To the first origin, but not after a redirect to another one. The default.
        case firstOrigin
        /// To no server.
        case nowhere
    }

    /// The request fields that are attributes, as `http.request.header.NAME`; none by default. Secret fields never are.
    public var requestHeaders: [HTTPField.Name]
    /// The response fields that are attributes, as `http.response.header.NAME`; none by default. Secret fields never are.
    public var responseHeaders: [HTTPField.Name]
    /// Whether `http.request.body.size` and `http.response.body.size` are attributes; false by default.
    public var bodySizes: Bool
    /// Where `baggage` is sent.
    public var baggage: BaggageScope
    /// The methods that are named; any other is `_OTHER`. By default, those of RFC 9110 and PATCH.
    public var knownMethods: Set<HTTPRequest.Method>

    /// Creates options. For each parameter, see the property of the same name.
    ///
    /// - Parameter knownMethods: `nil`, the default, means the methods of RFC 9110 and PATCH.
    public init(
        requestHeaders: [HTTPField.Name] = [], responseHeaders: [HTTPField.Name] = [], bodySizes: Bool = false,
        baggage: BaggageScope = .firstOrigin, knownMethods: Set<HTTPRequest.Method>? = nil
    ) {
        (self.requestHeaders, self.responseHeaders, self.bodySizes) = (requestHeaders, responseHeaders, bodySizes)
        (self.baggage, self.knownMethods) = (baggage, knownMethods ?? Conventions.knownMethods)
    }

    /// No optional attributes.
    public static let standard = TraceOptions()
}

private enum TraceOptionKey: OptionKey {
    static var defaultValue: OptionOverride<TraceOptions> { .inherited }
    static var crossesOrigins: Bool { true }
    static var servedBy: MiddlewarePlace? { .trace }
}

extension RequestOptions {
    /// Other options for this request, or `.off`: the request then has no span, and its fields stay unchanged.
    public var trace: OptionOverride<TraceOptions> {
        get { self[TraceOptionKey.self] }
        set { self[TraceOptionKey.self] = newValue }
    }
}
#endif
