public import ErrandCore

/// Reports each step of a call to an event sink as an ``/ErrandCore/ExchangeEvent``. The events are in order, one at a time, from
/// `callStart` to `callEnd`.
///
/// ```swift
/// let stack = transport.retry().events(to: sink).number()
/// // The descriptions of the events:
/// // callStart
/// // start of exchange 1
/// // connectionAcquired of exchange 1, new connection 1
/// // requestHeadSent of exchange 1
/// // …
/// // responseHead of exchange 1, status 200
/// // end of exchange 1
/// // callEnd
/// ```
///
/// **Place:** outside `retry`, `redirect` and the limits, because these layers and the transport report to the request's sink. The layer
/// is inside `number`, so that the events have the request's number. If the request already has a sink, that sink still gets its events.
///
/// The last event, `callEnd`, is reported when the last exchange ends on the wire. The last exchange may end after the response was
/// returned, and may end before any code reads the body. In a typed call, `callEnd` is reported after the value was decoded. If the
/// decoding fails, `callEnd` has the error. A body that is neither read nor abandoned keeps its exchange open.
///
/// **Per request:** set `request.options.events` to `.off` or `.use(sink)`.
public struct EventsMiddleware: HTTPMiddleware {
    private let sink: @Sendable (Request) -> (any EventSink)?

    /// Creates the middleware.
    ///
    /// - Parameter sink: a closure that returns the sink for a call. If the closure returns `nil`, nothing is reported.
    public init(_ sink: @escaping @Sendable (Request) -> (any EventSink)?) { self.sink = sink }

    public var place: MiddlewarePlace { .events }
    public var appliesToPreparedRequests: Bool { false }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.number, because: "the events would not have the number of the call"),
            .outside(.retry, because: "each attempt would be a separate call"),
            .outside(.redirect, because: "each hop would be a separate call"),
        ]
    }

    public var label: String { "events" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let own: (any EventSink)? =
            switch request.options.events {
            case .inherited: sink(request)
            case .off: nil
            case .use(let sink): sink
            }
        guard let own else { return try await next.send(request) }
        let log = CallEventLog(of: request, to: own)
        var observed = request
        observed.options.eventSink = log
        return try await next.send(observed, observedBy: log)
    }
}

private enum EventsKey: CrossOriginOptionKey {
    static var defaultValue: OptionOverride<any EventSink> { .inherited }
    static func identity(of value: OptionOverride<any EventSink>) -> OptionIdentity { .ignored }
    static var requiredMiddleware: MiddlewarePlace { .events }
}

extension RequestOptions {
    /// Replaces the stack's sink for the call of this request. `.off`: no events. Default: `.inherited`, the stack's sink.
    public var events: OptionOverride<any EventSink> {
        get { self[EventsKey.self] }
        set { self[EventsKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Reports every call to `sink`. See ``EventsMiddleware``.
    ///
    /// ```swift
    /// let stack = transport.retry().events(to: sink).number()
    /// ```
    public func events(to sink: some EventSink) -> HTTPStack { wrapped(by: EventsMiddleware { _ in sink }) }

    /// Reports each call to the sink that a closure returns for the call. If the closure returns `nil`, nothing is reported.
    /// See ``EventsMiddleware``.
    public func events(_ sink: @escaping @Sendable (Request) -> (any EventSink)?) -> HTTPStack { wrapped(by: EventsMiddleware(sink)) }
}
