#if Telemetry
public import ErrandCore

/// What spans tell beside what they always tell, and what goes along with a request.
public struct TraceOptions: Sendable, Hashable {
    /// Where `baggage` (W3C) is sent.
    public enum BaggageScope: Sendable, Hashable {
        /// To whomever a request goes.
        case everywhere
        /// Not past a redirect to another origin. The default.
        case firstOrigin
        case nowhere
    }

    /// Fields of a request that are attributes, as `http.request.header.NAME`. Those that are secret never are.
    public var requestHeaders: [HTTPField.Name]
    /// Fields of a response that are attributes, as `http.response.header.NAME`. Those that are secret never are.
    public var responseHeaders: [HTTPField.Name]
    /// Whether there are `http.request.body.size` and `http.response.body.size`; not by default.
    public var bodySizes: Bool
    public var baggage: BaggageScope
    /// Methods that are named; any other is `_OTHER`. By default RFC 9110's and PATCH.
    public var knownMethods: Set<HTTPRequest.Method>

    /// - Parameter knownMethods: nil stands for RFC 9110's and PATCH.
    public init(
        requestHeaders: [HTTPField.Name] = [], responseHeaders: [HTTPField.Name] = [], bodySizes: Bool = false,
        baggage: BaggageScope = .firstOrigin, knownMethods: Set<HTTPRequest.Method>? = nil
    ) {
        (self.requestHeaders, self.responseHeaders, self.bodySizes) = (requestHeaders, responseHeaders, bodySizes)
        (self.baggage, self.knownMethods) = (baggage, knownMethods ?? Conventions.knownMethods)
    }

    /// None of it.
    public static let standard = TraceOptions()
}

private enum TraceOptionKey: OptionKey {
    static var defaultValue: OptionOverride<TraceOptions> { .inherited }
    static var crossesOrigins: Bool { true }
    static var servedBy: MiddlewarePlace? { .trace }
}

extension RequestOptions {
    /// Other options for this request, or `.off`: then it has no span, and its fields are left alone.
    public var trace: OptionOverride<TraceOptions> {
        get { self[TraceOptionKey.self] }
        set { self[TraceOptionKey.self] = newValue }
    }
}
#endif
